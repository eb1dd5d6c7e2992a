"""How often a client may ask: a token bucket each, in bounded memory however many clients there are."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from cachetools import LRUCache
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.problems import problem

EXEMPT = frozenset({"/healthz", "/readyz", "/metrics"})
MOST_CLIENTS = 100_000
_NETWORK_OF_ONE_CLIENT = 64  # bits of an IPv6 address: a household gets that many addresses and more


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether a request may go on, and how much is left. retry: seconds until one may; full: until all may again."""

    is_allowed: bool
    remaining: int
    retry: float
    full: float


class RateLimit:
    """Buckets of `burst` tokens that fill at `rate` a second.

    A bucket is kept as the moment at which it will be full again (the generic cell rate algorithm), so that one that
    is full needs no memory. Beyond `most_clients`, those that asked longest ago are forgotten, which favours them.
    """

    def __init__(
        self,
        rate: float,
        burst: int,
        most_clients: int = MOST_CLIENTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.burst = burst
        self._seconds_each = 1 / rate
        self._seconds_all = burst / rate
        self._clock = clock
        self._full_at: LRUCache[str, float] = LRUCache(most_clients)

    def take(self, client: str) -> Allowance:
        """Take a token from a client's bucket, if it has one."""
        now = self._clock()
        full_at = max(self._full_at.get(client, now), now) + self._seconds_each
        over = full_at - now - self._seconds_all
        # A little over is what adding up fractions of seconds makes.
        if over > self._seconds_each * 1e-6:
            return Allowance(False, 0, over, full_at - now - self._seconds_each)
        self._full_at[client] = full_at
        return Allowance(True, math.floor(-over / self._seconds_each + 1e-6), 0.0, full_at - now)

    def __len__(self) -> int:
        return len(self._full_at)


class LimitRates:
    """Refuses requests of clients that ask too often; health and metrics are never refused."""

    def __init__(self, app: ASGIApp, limit: RateLimit) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if scope["type"] != "http" or client is None or scope["path"] in EXEMPT:
            await self._app(scope, receive, send)
            return
        allowance = self._limit.take(network_of(client[0]))
        left = {
            "ratelimit-limit": str(self._limit.burst),
            "ratelimit-remaining": str(allowance.remaining),
            "ratelimit-reset": str(math.ceil(allowance.full)),
        }
        if not allowance.is_allowed:
            seconds = math.ceil(allowance.retry)
            detail = f"too many requests from your address: ask again in {seconds} s, and not more often than that"
            response = problem(scope, "rate-limited", detail, left | {"retry-after": str(seconds)})
            await response(scope, receive, send)
            return
        headers = [(name.encode(), value.encode()) for name, value in left.items()]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *headers]}
            await send(message)

        await self._app(scope, receive, send_with_headers)


@lru_cache(maxsize=4096)
def network_of(host: str) -> str:
    """What counts as one client: an IPv4 address, or the /64 of an IPv6 address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host[:64]
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _NETWORK_OF_ONE_CLIENT), strict=False))

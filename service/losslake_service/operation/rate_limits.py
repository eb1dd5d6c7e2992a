"""Rate limits: a token bucket per client, in bounded memory."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.operation.clients import client_of
from losslake_service.problems import problem

EXEMPT = frozenset({"/healthz", "/readyz", "/metrics"})
MAX_CLIENTS = 100_000


@dataclass(frozen=True, slots=True)
class Allowance:
    """The state of a bucket after a request. retry: seconds until the next token; full: until the bucket is full."""

    is_allowed: bool
    remaining: int
    retry: float
    full: float


class RateLimit:
    """Buckets of `burst` tokens that refill at `rate` per second.

    A bucket is stored as the time when it will be full again (generic cell rate algorithm). Beyond `max_clients`, the
    least recently active clients are dropped, which gives them a full bucket.
    """

    def __init__(
        self, rate: float, burst: int, max_clients: int = MAX_CLIENTS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.burst = burst
        self._seconds_per_token = 1 / rate
        self._seconds_per_burst = burst / rate
        self._clock = clock
        self._full_at: LRUCache[str, float] = LRUCache(max_clients)

    def acquire(self, client: str) -> Allowance:
        """Take a token from a client's bucket, if there is one."""
        now = self._clock()
        full_at = max(self._full_at.get(client, now), now) + self._seconds_per_token
        excess = full_at - now - self._seconds_per_burst
        # Tolerate rounding errors.
        if excess > self._seconds_per_token * 1e-6:
            return Allowance(False, 0, excess, full_at - now - self._seconds_per_token)
        self._full_at[client] = full_at
        return Allowance(True, math.floor(-excess / self._seconds_per_token + 1e-6), 0.0, full_at - now)

    def __len__(self) -> int:
        return len(self._full_at)


class LimitRates:
    """A middleware that refuses requests above the rate limit; health checks and metrics are exempt."""

    def __init__(self, app: ASGIApp, limit: RateLimit) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request with rate limit headers, or refuse it with 429."""
        client = client_of(scope) if scope["type"] == "http" and scope["path"] not in EXEMPT else None
        if client is None:
            await self._app(scope, receive, send)
            return
        allowance = self._limit.acquire(client)
        limit_headers = {
            "ratelimit-limit": str(self._limit.burst),
            "ratelimit-remaining": str(allowance.remaining),
            "ratelimit-reset": str(math.ceil(allowance.full)),
        }
        if not allowance.is_allowed:
            seconds = math.ceil(allowance.retry)
            detail = f"too many requests from your address: try again in {seconds} s, and send requests less often"
            response = problem(scope, "rate-limited", detail, limit_headers | {"retry-after": str(seconds)})
            await response(scope, receive, send)
            return
        headers = [(name.encode(), value.encode()) for name, value in limit_headers.items()]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *headers]}
            await send(message)

        await self._app(scope, receive, send_with_headers)

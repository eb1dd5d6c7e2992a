"""The rate limit: allowances of requests and of bytes for each client."""

from __future__ import annotations

import math

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.operation.clients import client_of
from losslake_service.problems import problem
from losslake_service.shares.allowances import Allowance, Balance

EXEMPT = frozenset({"/healthz", "/readyz", "/metrics"})


class LimitRates:
    """A middleware that refuses requests above the rate limit; health checks and metrics are exempt.

    requests: that a client may send. n_bytes: of bodies that it may get, counted as they are sent; None: any.
    """

    def __init__(self, app: ASGIApp, requests: Allowance | None, n_bytes: Allowance | None) -> None:
        self._app = app
        self._requests = requests
        self._bytes = n_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request with rate limit headers, or refuse it with 429."""
        client = client_of(scope) if scope["type"] == "http" and scope["path"] not in EXEMPT else None
        if client is None:
            await self._app(scope, receive, send)
            return
        headers: dict[str, str] = {}
        if self._requests is not None:
            balance = self._requests.take(client)
            headers = _headers(self._requests, balance)
            if not balance.is_allowed:
                detail = "too many requests from your address: try again in {} s, and send requests less often"
                await _refuse(scope, receive, send, balance, detail, headers)
                return
        if self._bytes is not None:
            balance = self._bytes.take(client, 0)
            if not balance.is_allowed:
                detail = f"your address got {self._bytes.amount / 1e6:,g} MB in a minute: try again in {{}} s"
                await _refuse(scope, receive, send, balance, detail, headers)
                return
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *encoded]}
            elif self._bytes is not None and (body := message.get("body")):
                self._bytes.charge(client, len(body))
            await send(message)

        await self._app(scope, receive, send_and_count)


def _headers(requests: Allowance, balance: Balance) -> dict[str, str]:
    return {
        "ratelimit-limit": str(round(requests.amount)),
        "ratelimit-remaining": str(math.floor(balance.remaining + 1e-6)),
        "ratelimit-reset": str(math.ceil(balance.full)),
    }


async def _refuse(
    scope: Scope, receive: Receive, send: Send, balance: Balance, detail: str, headers: dict[str, str]
) -> None:
    seconds = max(1, math.ceil(balance.retry))
    response = problem(scope, "rate-limited", detail.format(seconds), headers | {"retry-after": str(seconds)})
    await response(scope, receive, send)

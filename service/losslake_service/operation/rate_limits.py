"""The rate limit: an allowance of requests for each client."""

from __future__ import annotations

import math

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.operation.clients import client_of
from losslake_service.problems import problem
from losslake_service.shares.allowances import Allowance

EXEMPT = frozenset({"/healthz", "/readyz", "/metrics"})


class LimitRates:
    """A middleware that refuses requests above the rate limit; health checks and metrics are exempt."""

    def __init__(self, app: ASGIApp, requests: Allowance) -> None:
        self._app = app
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request with rate limit headers, or refuse it with 429."""
        client = client_of(scope) if scope["type"] == "http" and scope["path"] not in EXEMPT else None
        if client is None:
            await self._app(scope, receive, send)
            return
        balance = self._requests.take(client)
        limit_headers = {
            "ratelimit-limit": str(round(self._requests.amount)),
            "ratelimit-remaining": str(math.floor(balance.remaining + 1e-6)),
            "ratelimit-reset": str(math.ceil(balance.full)),
        }
        if not balance.is_allowed:
            seconds = math.ceil(balance.retry)
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

"""A route that is only read: GET, and HEAD like it, both answered by the handler that its endpoint carries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

Handler = Callable[[Request], Awaitable[Response]]
METHODS = ("GET", "HEAD")


class ReadingRoute(APIRoute):
    """Which paths it is for, its own `matches` says."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """HEAD is answered like GET, without being a path of its own in OpenAPI."""
        if scope["method"] in METHODS:
            await self.app(scope, receive, send)
        else:
            raise HTTPException(405, headers={"Allow": ", ".join(METHODS)})

    def get_route_handler(self) -> Handler:  # type: ignore[override]
        """The handler that the endpoint carries."""
        handler: Handler = self.endpoint.handler  # type: ignore[attr-defined]
        return handler

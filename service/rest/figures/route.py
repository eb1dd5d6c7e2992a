"""The route of a kind of figure: /v1/figures/scaling with one of the endings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from service.figures.figure_formats import MEDIA_TYPES

METHODS = ("GET", "HEAD")
ENDING = "losslake.figure"


class FigureRoute(APIRoute):
    """Takes the endings that figures have, and no others."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Compare the path with each ending."""
        start = self.path.removesuffix("{ending}")
        path: str = scope.get("path", "")
        ending = path.removeprefix(start)
        if scope["type"] != "http" or not path.startswith(start) or ending not in MEDIA_TYPES:
            return Match.NONE, {}
        child: dict[str, Any] = {"endpoint": self.endpoint, "path_params": {}, ENDING: ending, "route": self}
        return (Match.FULL if scope["method"] in METHODS else Match.PARTIAL), child

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """HEAD is answered like GET, without being a path of its own in OpenAPI."""
        if scope["method"] in METHODS:
            await self.app(scope, receive, send)
        else:
            raise HTTPException(405, headers={"Allow": ", ".join(METHODS)})

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """The handler that the endpoint carries."""
        found: Callable[[Request], Awaitable[Response]] = self.endpoint.handler  # type: ignore[attr-defined]
        return found

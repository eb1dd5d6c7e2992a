"""A route for files, found and answered with little work, since a download asks for hundreds of them."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

METHODS = ("GET", "HEAD")


class FileRoute(APIRoute):
    """`/below/{release}/{place:path}`, told by the beginning of the path; HEAD is answered like GET."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Compare the path, which is faster than the expressions that routes are made of."""
        path: str = scope.get("path", "")
        below = self.path[: self.path.index("{")]
        if scope["type"] != "http" or not path.startswith(below):
            return Match.NONE, {}
        release, slash, place = path[len(below) :].partition("/")
        if not release or not slash:
            return Match.NONE, {}
        child: dict[str, Any] = {
            "endpoint": self.endpoint,
            "path_params": {"release": release, "place": place},
            "route": self,
        }
        return (Match.FULL if scope["method"] in METHODS else Match.PARTIAL), child

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the endpoint without looking for dependencies, which it has none of."""
        if scope["method"] not in METHODS:
            raise HTTPException(405, headers={"Allow": ", ".join(METHODS)})
        request = Request(scope, receive, send)
        response: Response = await self.endpoint(request, **scope["path_params"])
        await response(scope, receive, send)

"""An application for processes of expensive answers, with paths that take their time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route


class NoReleases:
    """Releases of which nothing is asked."""

    number = 1

    @property
    def notices(self) -> NoReleases:
        return self

    def refresh(self, *_: Any) -> NoReleases:
        return self

    view = refresh
    cursor = refresh
    execute = refresh


def make(greeting: str) -> tuple[Starlette, Any]:
    async def get_greeting(request: Request) -> Response:
        return PlainTextResponse(f"{greeting} {request.url} {os.getpid()}", headers={"etag": '"1"'})

    async def get_nothing(_: Request) -> Response:
        return await asyncio.Future()

    async def end(_: Request) -> Response:
        os._exit(3)

    async def fail(_: Request) -> Response:
        raise ValueError("as tested")

    async def get_half(_: Request) -> Response:
        async def body() -> AsyncIterator[str]:
            yield "the beginning"
            raise ValueError("as tested")

        return StreamingResponse(body())

    async def get_much(_: Request) -> Response:
        return PlainTextResponse("0123456789" * 100_000, headers={"etag": '"2"'})

    paths = {
        "/": get_greeting,
        "/endless": get_nothing,
        "/end": end,
        "/fail": fail,
        "/much": get_much,
        "/half": get_half,
    }
    return Starlette(routes=[Route(path, endpoint) for path, endpoint in paths.items()]), NoReleases()

"""The tools at `/mcp`: streamable HTTP, without sessions, each message answered by one JSON document."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from losslake.questions.release.releases import Releases
from losslake_service.assistants.calls import Tools
from losslake_service.expensive.answers import Answers
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.settings import Settings

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

PATH = "/mcp"
# Of a message: the SDK reads it in the event loop, where others wait meanwhile.
MOST_BYTES = 32_768


def add_assistants(
    router: APIRouter, settings: Settings, releases: Releases, answers: Answers, sql: SqlStatements | None
) -> None:
    """Add the route. Only POST: a GET would open a stream of messages from the server, which has none."""
    endpoint = _Endpoint(Tools(releases, sql, answers), settings.public_url)
    router.routes.append(Route(PATH, endpoint, methods=["POST"], include_in_schema=False))


class _Endpoint:
    """The ASGI application of the path."""

    def __init__(self, tools: Tools, public_url: str | None) -> None:
        self._tools, self._public_url = tools, public_url
        self._server: Server[Any] | None = None
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a message by a transport of its own, which ends with it."""
        scope["state"]["route"] = PATH  # for metrics, since no route of FastAPI's leads here
        if self._server is None:
            self._server = await run_in_threadpool(self._make_server)
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        # One begins to be read at a time, and others are answered in between.
        async with self._turn:
            await asyncio.sleep(0)

        manager = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=MOST_BYTES
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    def _make_server(self) -> Server[Any]:
        # Imported here, since it takes a second and tens of megabytes, and not every service is asked for it.
        from losslake_service.assistants.server import make_server

        server = make_server(self._tools, self._public_url)
        # As in `application`: what was imported stays.
        gc.freeze()
        return server

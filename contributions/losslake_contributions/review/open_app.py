"""An application of the read service within this one: started when it is asked for, ended after its last request."""

from __future__ import annotations

import asyncio
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from losslake.lake.lake import Lake
from losslake_service.app import create_app
from losslake_service.settings import ServerSettings, Settings


class OpenApp:
    """An application in a task of its own, which starts it, waits, and ends it. Made within an event loop."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self._n_requests = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._may_end = asyncio.Event()
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        """Start and end the application in one task, as its cancel scopes need."""
        limiter = current_default_thread_limiter()
        n_threads = limiter.total_tokens
        try:
            async with self.app.router.lifespan_context(self.app):
                # It has set the number for a process of its own.
                limiter.total_tokens = n_threads
                self._started.set_result(None)
                await self._may_end.wait()
        except Exception as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def started(self) -> None:
        """Wait until the application has started. Raises what its start raised."""
        await asyncio.shield(self._started)

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        self._n_requests += 1
        self._is_idle.clear()
        try:
            await self.app(scope, receive, send)
        finally:
            self._n_requests -= 1
            if not self._n_requests:
                self._is_idle.set()

    async def close(self) -> None:
        """End the application after its last request."""
        await self._is_idle.wait()
        self._may_end.set()
        await self._task


def application_over(lake: Lake, outer: ServerSettings, **changes: Any) -> FastAPI:
    """Return the read service's application over a lake, without a log, limits of rates and pages of other origins.

    outer: the settings of the contribution service, whose host, port and names of hosts it shares. changes: of others.
    Most drafts are looked at and never asked by SQL, whose workers take a second of processor time to start.
    """
    shared = {name: getattr(outer, name) for name in ServerSettings.model_fields}
    inner = {"lake": str(lake), "log_format": "off", "rate_limit": 0.0, "cors_origins": (), "answer_cache_mb": 4}
    return create_app(lake, Settings.model_construct(**{**shared, **inner, **changes}), starts_sql_at_once=False)

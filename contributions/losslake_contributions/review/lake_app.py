"""The read service's application over a lake, within this service: over the lake itself, and over drafts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from losslake.lake.lake import Lake
from losslake.questions.release.releases import Releases
from losslake_service.app import create_app
from losslake_service.settings import ServerSettings, Settings


class LakeApp:
    """An application that the first request starts, and that ends after the last one. make: returns it."""

    def __init__(self, make: Callable[[], FastAPI]) -> None:
        self._make = make
        self._n_requests = 0
        self._is_idle, self._may_end = asyncio.Event(), asyncio.Event()
        self._is_idle.set()
        self._started: asyncio.Future[FastAPI] | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises what the start raised; the next request starts it again."""
        self._n_requests += 1
        self._is_idle.clear()
        try:
            app = await self._opened()
            await app(scope, receive, send)
        finally:
            self._n_requests -= 1
            if not self._n_requests:
                self._is_idle.set()

    async def releases(self) -> Releases:
        """Return its open releases."""
        releases: Releases = (await self._opened()).state.releases
        return releases

    async def close(self) -> None:
        """End the application after its last request, if it was started."""
        await self._is_idle.wait()
        self._may_end.set()
        if self._running is not None:
            await self._running

    async def _opened(self) -> FastAPI:
        if self._started is None:
            self._started = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._started))
        started = self._started
        try:
            # A client that leaves doesn't end it for the others.
            return await asyncio.shield(started)
        except Exception:
            if self._started is started:
                self._started = None
            raise

    async def _run(self, started: asyncio.Future[FastAPI]) -> None:
        """Start and end the application in one task, as its cancel scopes need."""
        try:
            app = await asyncio.to_thread(self._make)
            limiter = current_default_thread_limiter()
            n_threads = limiter.total_tokens
            async with app.router.lifespan_context(app):
                # It has set the number for a process of its own.
                limiter.total_tokens = n_threads
                started.set_result(app)
                await self._may_end.wait()
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)


def application_over(lake: Lake, outer: ServerSettings, **changes: Any) -> FastAPI:
    """Return the read service's application over a lake, without a log, limits of rates and pages of other origins.

    outer: the settings of the contribution service, whose host, port and names of hosts it shares. changes: of others.
    Most drafts are looked at and never asked by SQL, whose workers take a second of processor time to start.
    """
    shared = {name: getattr(outer, name) for name in ServerSettings.model_fields}
    inner = {"lake": str(lake), "log_format": "off", "rate_limit": 0.0, "cors_origins": (), "answer_cache_mb": 4}
    return create_app(lake, Settings.model_construct(**{**shared, **inner, **changes}), starts_sql_at_once=False)

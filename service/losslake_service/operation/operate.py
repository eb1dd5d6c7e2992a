"""Puts everything of this folder around the application, in the right order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI, Response
from starlette.middleware import Middleware
from starlette.middleware.errors import ServerErrorMiddleware
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from losslake.lake.store.folder import FolderStore
from losslake.questions.releases import Releases
from losslake_service.operation.browser_headers import BrowserHeaders
from losslake_service.operation.compression import Compress
from losslake_service.operation.logs import RequestLines, log_format
from losslake_service.operation.metrics import Metrics
from losslake_service.operation.observing import ObserveRequests
from losslake_service.operation.rate_limits import LimitRates, RateLimit
from losslake_service.operation.request_limits import LimitRequests
from losslake_service.settings import Settings

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS_BETWEEN_LOOKS_AT_GAUGES = 1.0
# More would only take memory, and each other's time: what runs in threads computes, and waits only for a store.
_THREADS = 2 * (os.cpu_count() or 1)
_THREADS_THAT_WAIT = 4 * _THREADS


def operate(
    app: FastAPI,
    settings: Settings,
    releases: Releases,
    metrics: Metrics | None = None,
    *,
    inner: Sequence[Middleware] = (),
    lines: RequestLines | None = None,
) -> None:
    """Have the application operated by these settings; to be called once, before it starts.

    Adds /metrics, and keeps `releases` up to date while the application runs.

    Args:
        metrics: where the application itself counts; in `app.state.metrics` afterwards.
        inner: what is between compression and the application: a cache of finished answers. It sees requests that were
            admitted, with the application's own entity tags, and answers that are not coded yet.
        lines: where the lines of requests go; default: to standard error, as the settings say.
    """
    app.state.metrics = metrics = metrics or Metrics()

    @app.get("/metrics", include_in_schema=False)
    def get_metrics() -> Response:
        metrics.refresh(releases)
        return Response(metrics.text(), media_type=_METRICS_TYPE)

    if lines is None:
        lines = RequestLines(log_format(settings) if settings.log_level in ("debug", "info") else "off")
    # Innermost, although Starlette has one outermost: so the answers to faults of ours go through all others too.
    faults = Middleware(ServerErrorMiddleware, handler=app.exception_handlers.get(Exception))
    for middleware in reversed([*_middlewares(settings, metrics, lines), *inner, faults]):
        app.add_middleware(middleware.cls, *middleware.args, **middleware.kwargs)
    app.include_router(APIRouter(lifespan=_while_running(metrics, releases)))


def _middlewares(settings: Settings, metrics: Metrics, lines: RequestLines) -> Iterator[Middleware]:
    """Yield what requests go through, outermost first; what is switched off isn't there, and costs nothing."""
    if settings.trusted_proxies:
        yield Middleware(ProxyHeadersMiddleware, [*settings.trusted_proxies])
    yield Middleware(ObserveRequests, metrics, lines)
    # Before the limits: a page must be able to read that it asked too often.
    yield Middleware(BrowserHeaders, settings.cors_origins)
    if settings.rate_limit:
        yield Middleware(LimitRates, RateLimit(settings.rate_limit, settings.rate_burst))
    yield Middleware(LimitRequests, settings.request_head_bytes, settings.request_body_bytes, settings.request_seconds)
    if settings.compression:
        yield Middleware(Compress, settings.compression_least_bytes)


def _while_running(metrics: Metrics, releases: Releases) -> Any:
    """Start what the application needs with it, and stop it with it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        is_near = isinstance(releases.lake.store, FolderStore)
        current_default_thread_limiter().total_tokens = _THREADS if is_near else _THREADS_THAT_WAIT
        await asyncio.to_thread(releases.start)
        refreshing = asyncio.create_task(_keep_refreshing(metrics, releases))
        try:
            yield
        finally:
            refreshing.cancel()
            with suppress(asyncio.CancelledError):
                await refreshing
            await asyncio.to_thread(releases.stop)

    return lifespan


async def _keep_refreshing(metrics: Metrics, releases: Releases) -> None:
    """Gauges are seen by the other worker processes, whichever of them is asked."""
    while True:
        metrics.refresh(releases)
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS_AT_GAUGES)

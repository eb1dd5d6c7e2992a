"""Middleware, metrics and background tasks of an application."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Response
from starlette.middleware import Middleware
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import Scope
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from losslake.questions.release.releases import Releases
from losslake_service.operation.browser_headers import BrowserHeaders
from losslake_service.operation.compression import Compress
from losslake_service.operation.hosts import AllowedHosts
from losslake_service.operation.logs import RequestLog, log_format
from losslake_service.operation.metrics import Metrics, ServerMetrics
from losslake_service.operation.observing import ObserveRequests
from losslake_service.operation.rate_limits import LimitRates
from losslake_service.operation.request_limits import LimitRequests, no_stream
from losslake_service.operation.slow_readers import EndSlowReaders
from losslake_service.settings import ServerSettings
from losslake_service.shares.allowances import MINUTE, Allowance

# More threads would only use memory: work in threads is CPU-bound, or waits for the store of a remote lake.
_THREADS = 2 * (os.cpu_count() or 1)


def operate(
    app: FastAPI,
    settings: ServerSettings,
    metrics: ServerMetrics,
    refresh: Callable[[], None],
    *,
    inner: Sequence[Middleware] = (),
    lines: RequestLog | None = None,
    is_streamed: Callable[[Scope], bool] = no_stream,
) -> None:
    """Add the middleware and /metrics to an application; call this once, before it starts.

    Args:
        refresh: updates the gauges; called for each request of /metrics.
        inner: middleware between compression and the application, such as a response cache: it sees admitted requests,
            the application's entity tags, and uncompressed responses.
        lines: the request log; default: on standard error, according to the settings.
        is_streamed: returns True for requests whose body the application receives, and limits, itself.
    """
    # A thread of its own, as all shared ones may be busy.
    thread = ThreadPoolExecutor(1, "metrics")

    @app.get("/metrics", include_in_schema=False)
    async def get_metrics() -> Response:
        refresh()
        text = await asyncio.get_running_loop().run_in_executor(thread, metrics.text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    if lines is None:
        lines = RequestLog(log_format(settings) if settings.log_level in ("debug", "info") else "off")
    # Innermost, besides Starlette's own outermost one, so that error responses pass through all other middleware.
    error_handler = Middleware(ServerErrorMiddleware, handler=app.exception_handlers.get(Exception))
    for middleware in reversed([*_middlewares(settings, metrics, lines, is_streamed), *inner, error_handler]):
        app.add_middleware(middleware.cls, *middleware.args, **middleware.kwargs)


def _middlewares(
    settings: ServerSettings, metrics: ServerMetrics, lines: RequestLog, is_streamed: Callable[[Scope], bool]
) -> Iterator[Middleware]:
    """Yield the enabled middleware, outermost first."""
    if settings.trusted_proxies:
        yield Middleware(ProxyHeadersMiddleware, [*settings.trusted_proxies])
    yield Middleware(ObserveRequests, metrics, lines)
    if settings.min_read_kb:
        yield Middleware(EndSlowReaders, settings.min_read_kb * 1000)
    # Outside the limits, so that pages of other origins can read a 429.
    yield Middleware(BrowserHeaders, settings.origins)
    burst, megabytes = settings.rate_burst, settings.rate_megabytes
    requests = Allowance(burst, burst / settings.rate_limit) if settings.rate_limit else None
    n_bytes = Allowance(megabytes * 1_000_000, MINUTE) if megabytes else None
    if requests is not None or n_bytes is not None:
        yield Middleware(LimitRates, requests, n_bytes)
    yield Middleware(AllowedHosts, settings.hosts, settings.port)
    limits = settings.request_head_bytes, settings.request_body_bytes, settings.request_seconds
    yield Middleware(LimitRequests, *limits, is_streamed)
    if settings.compression:
        yield Middleware(Compress, settings.compression_least_bytes)


@asynccontextmanager
async def operation(metrics: Metrics, releases: Releases) -> AsyncIterator[None]:
    """Keep releases and gauges up to date while the application runs."""
    is_local = releases.lake.store.local_folder is not None
    current_default_thread_limiter().total_tokens = _THREADS if is_local else 4 * _THREADS
    await asyncio.to_thread(releases.start)
    refresh_task = asyncio.create_task(_refresh_gauges(metrics, releases))
    try:
        yield
    finally:
        refresh_task.cancel()
        with suppress(asyncio.CancelledError):
            await refresh_task
        await asyncio.to_thread(releases.stop)


async def _refresh_gauges(metrics: Metrics, releases: Releases) -> None:
    """Update the gauges every second, as any worker process may report them."""
    while True:
        metrics.refresh(releases)
        await asyncio.sleep(1.0)

"""The application of `losslake serve --live`: the dashboard, beside the pages of a lake if there is one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from pydantic import Field

from losslake import __version__
from losslake.lake.lake import Lake
from losslake_contributions.dashboard.index import RunIndex
from losslake_contributions.dashboard.page import PATH, add_dashboard
from losslake_service.app import create_app as create_lake_app
from losslake_service.operation.metrics import ServerMetrics
from losslake_service.operation.operate import operate
from losslake_service.problems import add_problem_handlers
from losslake_service.routes.readiness import readiness
from losslake_service.routes.reading import add_undocumented_route
from losslake_service.settings import Settings
from losslake_service.web.problem_page import problem_page
from losslake_service.web.static_files import PREFIX, static_file


class DashboardSettings(Settings):
    """The settings of the service, and what the dashboard shows."""

    live: Annotated[str, Field(min_length=1)]
    """The folder of the runs."""
    allow_viewers: bool = False
    """Show them to everyone who can connect, also from other machines."""


def create_app(lake: Lake | None, settings: DashboardSettings) -> FastAPI:
    """Return the application. lake: None for the runs alone."""
    index = RunIndex(Path(settings.live))
    app = create_lake_app(lake, settings) if lake is not None else _bare_app(settings)
    add_dashboard(app.router, index, app.state.releases if lake is not None else None)
    running = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(of: FastAPI) -> AsyncIterator[None]:
        index.start()
        try:
            async with running(of):
                yield
        finally:
            index.close()

    app.router.lifespan_context = lifespan
    return app


def _bare_app(settings: DashboardSettings) -> FastAPI:
    app = FastAPI(
        title="LossLake", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    add_problem_handlers(app, problem_page)

    async def home(_: Request) -> Response:
        return RedirectResponse(PATH)

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok")

    add_undocumented_route(app.router, "/", home)
    add_undocumented_route(app.router, "/healthz", health)
    app.include_router(readiness({"folder": Path(settings.live).stat}))
    add_undocumented_route(app.router, f"{PREFIX}{{digest}}/{{name:path}}", static_file)
    metrics = ServerMetrics()
    operate(app, settings, metrics, metrics.refresh_server)
    return app

"""The service as an ASGI application."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI
from starlette.middleware import Middleware

from losslake.figures.renderer import Renderer
from losslake.lake.lake import Lake
from losslake.questions.questions import questions
from losslake.questions.releases import Releases, open_releases
from losslake_service.files.file_list_path import FILES
from losslake_service.files.paths import add_bulk_download
from losslake_service.operation.metrics import Metrics
from losslake_service.operation.operate import operate
from losslake_service.problems import answer_with_problems
from losslake_service.routes.answer_cache import AnswerCache
from losslake_service.routes.figures.paths import add_figures
from losslake_service.routes.openapi import describe
from losslake_service.routes.papers.paths import add_papers
from losslake_service.routes.readiness import newest_release_is_readable, readiness
from losslake_service.routes.route import add_question
from losslake_service.routes.sandboxing import KeptSandbox
from losslake_service.routes.sql_paths import sql_paths
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.settings import Settings
from losslake_service.version import VERSION
from losslake_service.web.paths import pages
from losslake_service.web.reference import Interface

BYTES_IN_A_MEGABYTE = 1024 * 1024
_DESCRIPTION = """Training-curve measurements, and what they say about batch sizes.

Every answer is of one release, and says of which. It comes as JSON, CSV, Arrow IPC stream or Parquet: by the header
Accept, by format=csv, or by the ending of the path, /v1/scaling.csv. In JSON, floats round-trip, and where a value can
be NaN or infinite it is the string NaN, Infinity or -Infinity; in CSV it is NaN, inf or -inf. With release=N an answer
never changes, byte for byte. Errors are problem documents (RFC 9457) whose type is stable."""


def create_app(lake: Lake, settings: Settings | None = None) -> FastAPI:
    """The application that answers questions about a lake; without settings by the defaults, and without log lines."""
    settings = settings or Settings.model_construct(log_format="off")
    releases = Releases(lake, settings.seconds_between_looks, settings.releases_open)
    sandbox = KeptSandbox(settings, releases) if settings.sql_enabled else None
    app = FastAPI(
        title="LossLake",
        description=_DESCRIPTION,
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=sandbox.while_running if sandbox is not None else None,
    )
    app.state.releases = releases
    add_bulk_download(app, lake, settings)
    asked = tuple(questions())
    for question in asked:
        add_question(app.router, open_releases, question)
    renderer = Renderer()
    add_figures(app, releases, asked, renderer)
    add_papers(app, releases, renderer)
    app.include_router(pages)
    answer_with_problems(app)
    sql_check = {"sql": sandbox.check} if sandbox is not None else {}
    app.include_router(readiness({"release": newest_release_is_readable(releases), **sql_check}))
    metrics = operate(app, settings, releases, inner=partial(_answer_cache, settings, releases))
    app.state.sql = None
    if sandbox is not None:
        app.state.sql = SqlStatements(sandbox.sandbox, metrics)
        app.include_router(sql_paths(app.state.sql, releases))
    app.openapi = partial(describe, app, (*asked, FILES))  # type: ignore[method-assign]
    app.state.interface = Interface(app.openapi)
    return app


def _answer_cache(settings: Settings, releases: Releases, metrics: Metrics) -> list[Middleware]:
    most_bytes = settings.answer_cache_mb * BYTES_IN_A_MEGABYTE
    return [Middleware(AnswerCache, releases, most_bytes, metrics.answer_cache)] if most_bytes else []

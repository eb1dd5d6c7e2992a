"""The service as an ASGI application."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware

from losslake import __version__
from losslake.figures.papers import listing as papers
from losslake.lake.lake import Lake
from losslake.questions.questions import QUESTIONS
from losslake.questions.releases import Releases
from losslake_service.operation.metrics import Metrics
from losslake_service.operation.operate import operate
from losslake_service.problems import ProblemDocument, answer_with_problems
from losslake_service.routes.answer_cache import AnswerCache
from losslake_service.routes.figures import add_figures
from losslake_service.routes.files import add_files, file_schemas
from losslake_service.routes.openapi import describe, model_schemas
from losslake_service.routes.questions import add_question, question_schemas
from losslake_service.routes.readiness import newest_release_is_readable, readiness
from losslake_service.routes.sql import SqlRows, SqlStatement, add_sql
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.settings import Settings
from losslake_service.web.bare_page import folder_page, problem_page
from losslake_service.web.paths import pages
from losslake_service.web.reference import Interface

BYTES_IN_A_MEGABYTE = 1024 * 1024
_DESCRIPTION = """Training-curve measurements, and what they say about batch sizes.

Every answer is of one release, and says of which. It comes as JSON, CSV, Arrow IPC stream or Parquet: by the header
Accept, by format=csv, or by the ending of the path, /v1/scaling.csv. In JSON, floats round-trip, and where a value can
be NaN or infinite it is the string NaN, Infinity or -Infinity; in CSV it is NaN, inf or -inf. With release=N an answer
never changes, byte for byte. Errors are problem documents (RFC 9457) whose type is stable."""


def create_app(lake: Lake, settings: Settings | None = None) -> FastAPI:
    """Return the application that answers questions about a lake; without settings by the defaults, and unlogged."""
    settings = settings or Settings.model_construct(log_format="off")
    releases = Releases(lake, settings.seconds_between_looks, settings.releases_open)
    metrics = Metrics()
    app = FastAPI(
        title="LossLake",
        description=_DESCRIPTION,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.releases = releases
    answer_with_problems(app, problem_page)
    add_files(app, lake, settings, folder_page)
    questions = (*QUESTIONS, papers.QUESTION)
    for question in questions:
        add_question(app.router, releases, question)
    add_figures(app.router, releases, questions)
    app.include_router(pages)
    app.state.sql = sql = SqlStatements(settings, releases, metrics) if settings.sql_enabled else None
    most_bytes = settings.answer_cache_mb * BYTES_IN_A_MEGABYTE
    cache = [Middleware(AnswerCache, releases, most_bytes, metrics.answer_cache)] if most_bytes else []
    sql_check = {"sql": sql.check} if sql is not None else {}
    app.include_router(readiness({"release": newest_release_is_readable(releases), **sql_check}))
    operate(app, settings, releases, metrics, inner=cache)
    schemas = model_schemas(ProblemDocument) | file_schemas() | question_schemas(questions)
    if sql is not None:
        add_sql(app.router, sql, releases)
        app.include_router(APIRouter(lifespan=sql.while_running))
        schemas |= model_schemas(SqlStatement, SqlRows)
    app.openapi = partial(describe, app, schemas)  # type: ignore[method-assign]
    app.state.interface = Interface(app.openapi)
    return app

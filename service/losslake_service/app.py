"""The ASGI application of the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial

import pyarrow as pa
from fastapi import FastAPI
from starlette.middleware import Middleware

from losslake import __version__
from losslake.figures.papers import listing as papers
from losslake.figures.renderer import Renderer
from losslake.lake.lake import SECONDS_TO_ANSWER, Lake
from losslake.lake.location import Location
from losslake.questions.questions import QUESTIONS
from losslake.questions.release.releases import Releases
from losslake_service.assistants.calls import ANSWER_PATH, Tools, answer_expensive
from losslake_service.assistants.over_http import add_assistants
from losslake_service.expensive.answers import Answers
from losslake_service.files.release_files import ReleaseFilesCache
from losslake_service.operation.logs import configure_logging
from losslake_service.operation.metrics import Metrics
from losslake_service.operation.operate import operate, operation
from losslake_service.problems import ProblemDocument, add_problem_handlers
from losslake_service.routes.answer_cache import AnswerCache
from losslake_service.routes.figures import add_figures
from losslake_service.routes.files import add_files, file_schemas
from losslake_service.routes.openapi import Document, describe, model_schemas
from losslake_service.routes.questions import add_question, question_schemas
from losslake_service.routes.readiness import readiness, release_check
from losslake_service.routes.sql import SqlRows, SqlStatement, add_sql
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.settings import Settings
from losslake_service.web.bare_page import folder_page
from losslake_service.web.embed import add_embeds
from losslake_service.web.page import PageSources
from losslake_service.web.paths import add_pages
from losslake_service.web.problem_page import problem_page
from losslake_service.web.reference import Interface

BYTES_PER_MEGABYTE = 1024 * 1024
_DESCRIPTION = """Training-curve measurements, and analyses of how the batch size affects training.

Every answer comes from one release and names it. The format is JSON, CSV, Arrow IPC stream or Parquet, selected by the
header Accept, by format=csv, or by the suffix of the path, /v1/scaling.csv. In JSON, floats round-trip, and NaN and
infinities are the strings NaN, Infinity and -Infinity; in CSV they are NaN, inf and -inf. With release=N an answer
never changes, byte for byte. Errors are problem documents (RFC 9457) with stable types."""


def create_app(
    lake: Lake, settings: Settings | None = None, *, starts_sql_at_once: bool = True, is_inner: bool = False
) -> FastAPI:
    """Return the application for a lake; without settings it uses the defaults and writes no log.

    starts_sql_at_once: whether the workers for SQL start with the application, or with the first statement. is_inner:
    it answers what another one forwards, whatever that costs, and has no middleware.
    """
    settings = settings or Settings.model_construct(log_format="off")
    releases = Releases(lake, settings.seconds_between_looks, settings.releases_open)
    metrics = Metrics()
    sql = None
    if settings.sql_enabled:
        sql = SqlStatements(settings, releases, metrics, starts_at_once=starts_sql_at_once)
    renderer = Renderer()
    answers = Answers(settings, metrics, None if is_inner else answering_app, lake.location, settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            running.push_async_callback(asyncio.to_thread, renderer.close)
            running.push_async_callback(asyncio.to_thread, answers.close)
            await running.enter_async_context(operation(metrics, releases))
            if sql is not None:
                await running.enter_async_context(sql.lifespan())
            yield

    app = FastAPI(
        title="LossLake",
        description=_DESCRIPTION,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    # For those who hold the application: nothing here reads it.
    app.state.releases = releases
    add_problem_handlers(app, problem_page)
    bulk, address, questions = ReleaseFilesCache(lake), settings.public_url, (*QUESTIONS, papers.QUESTION)
    add_files(app.router, bulk, settings, folder_page)
    for question in questions:
        add_question(app.router, releases, answers, question)
    if sql is not None:
        add_sql(app.router, sql, releases)
    add_figures(app.router, releases, renderer, answers, address, questions)

    def schemas() -> dict[str, Document]:
        models = (ProblemDocument, SqlStatement, SqlRows) if sql is not None else (ProblemDocument,)
        return model_schemas(*models) | file_schemas() | question_schemas(questions)

    app.openapi = partial(describe, app, schemas)  # type: ignore[method-assign]
    add_pages(app.router, PageSources(releases, bulk, Interface(app.openapi), address, sql, answers, settings.notice))
    add_embeds(app.router, releases, answers, address, questions)
    add_assistants(app.router, settings, releases, answers, sql)
    if is_inner:
        app.router.add_route(ANSWER_PATH, partial(answer_expensive, Tools(releases, None)))
        return app
    max_bytes = settings.answer_cache_mb * BYTES_PER_MEGABYTE
    cache = [Middleware(AnswerCache, releases, max_bytes, metrics.answer_cache)] if max_bytes else []
    sql_check = {"sql": sql.check} if sql is not None else {}
    app.include_router(readiness({"release": release_check(releases), **sql_check}))
    operate(app, settings, metrics, partial(metrics.refresh, releases), inner=cache)
    return app


def answering_app(location: Location, settings: Settings) -> tuple[FastAPI, Releases]:
    """Return the application of a process that answers expensive questions, and its releases."""
    configure_logging(settings)
    pa.set_cpu_count(1)
    lake = replace(Lake.open(location), seconds_to_read=SECONDS_TO_ANSWER)
    app = create_app(lake, settings, starts_sql_at_once=False, is_inner=True)
    return app, app.state.releases

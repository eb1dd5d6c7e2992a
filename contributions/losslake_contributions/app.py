"""The ASGI application of the contribution service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from sqlalchemy import text

from losslake import __version__
from losslake.lake.lake import Lake
from losslake_contributions.intake.cleaning import clean_contributions
from losslake_contributions.intake.divergence import notify_diverged
from losslake_contributions.intake.metrics import ContributionMetrics
from losslake_contributions.intake.piece_routes import add_live
from losslake_contributions.intake.routes import add_contributions, add_segments, is_segment
from losslake_contributions.intake.silence import end_silent_runs
from losslake_contributions.intake.transfers import Uploads
from losslake_contributions.live.page import add_live_pages
from losslake_contributions.live.watching import Watching
from losslake_contributions.notifications.delivery import Deliverer
from losslake_contributions.notifications.routes import add_notifications
from losslake_contributions.people.link_routes import add_links
from losslake_contributions.people.links import Links
from losslake_contributions.people.quotas import HourlyQuotas
from losslake_contributions.people.requests import contribution_problem, in_thread, no_space_problem
from losslake_contributions.people.sign_ins import SignIns
from losslake_contributions.people.signing_key import SigningKey
from losslake_contributions.protocol.contributions import Finish, RunFacts
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.notifications import EmailRequest, WebhookRequest
from losslake_contributions.protocol.pieces import LivePieces
from losslake_contributions.protocol.submissions import ReturnRequest, SplitRequest, SubmissionRequest
from losslake_contributions.review import pages
from losslake_contributions.review.draft_pages import Drafts, draft_folder
from losslake_contributions.review.email_page import add_email_page
from losslake_contributions.review.lake_app import LakeApp, application_over
from losslake_contributions.review.review import Reviews
from losslake_contributions.review.review_document import PendingReview, Review
from losslake_contributions.review.routes import add_reviews, add_submissions
from losslake_contributions.review.sign_in_pages import add_providers, add_sign_in, add_tokens
from losslake_contributions.review.site import problem_page
from losslake_contributions.review.submissions import queue
from losslake_contributions.settings import Settings
from losslake_contributions.store.database import Database
from losslake_service.operation.operate import operate
from losslake_service.problems import ProblemDocument, add_problem_handlers
from losslake_service.routes.openapi import describe, model_schemas
from losslake_service.routes.readiness import readiness
from losslake_service.shares.allowances import HOUR, Allowance
from losslake_service.web.static_files import PREFIX as STATIC
from losslake_service.web.static_files import static_file

# For questions about drafts; what waits for the database has threads of its own.
_THREADS = 4
_SECONDS_BETWEEN_GAUGES = 5.0
_SECONDS_BETWEEN_LOOKS = 5.0  # for runs that fell silent or diverged
_DESCRIPTION = """Takes runs of anyone with a token, for review and the next release of a lake. Every request may be
repeated: what is acknowledged is durable, and stored once. Errors are problem documents (RFC 9457) with stable
types."""
_DOCUMENTS = (
    ProblemDocument, RunFacts, Finish, LivePieces, SubmissionRequest, ReturnRequest, SplitRequest, Review,
    PendingReview, WebhookRequest, EmailRequest,
)  # fmt: skip
_log = logging.getLogger(__name__)


def create_app(lake: Lake, settings: Settings | None = None) -> FastAPI:
    """Return the application for a lake; without settings it uses the defaults and writes no log."""
    settings = settings or Settings.model_construct(log_format="off")
    database, metrics = Database.create(lake), ContributionMetrics()
    seconds = Allowance(settings.review_seconds_per_hour, HOUR) if settings.review_seconds_per_hour else None
    reviews = Reviews(database, seconds)
    links = Links(settings.public_url, database, SigningKey.of(lake, settings.signing_key_file))
    drafts, watching = Drafts(partial(draft_folder, reviews), settings, links), Watching(database)
    lake_app = LakeApp(partial(application_over, lake, settings, sql_enabled=False, releases_open=1))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = _THREADS
        tasks = [
            asyncio.create_task(_repeat(work, seconds))
            for work, seconds in _background(database, metrics, reviews, settings)
        ]
        tasks.append(asyncio.create_task(Deliverer(database, settings, links.key, metrics.count_notification).run()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks)
            await watching.close()
            await drafts.close()
            await lake_app.close()
            await asyncio.to_thread(reviews.close)

    app = FastAPI(
        title="LossLake contributions",
        description=_DESCRIPTION,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    add_problem_handlers(app, problem_page)
    app.add_exception_handler(ContributionError, contribution_problem)
    app.add_exception_handler(OSError, no_space_problem)
    hourly = HourlyQuotas(settings)
    add_contributions(app.router, database, hourly, links)
    add_segments(app.router, database, hourly, Uploads(settings), metrics)
    add_live(app.router, database, hourly, metrics, settings)
    add_submissions(app.router, database, hourly, reviews, links)
    add_reviews(app.router, database, reviews, links)
    _add_addresses(app, database, links, settings)
    _add_pages(app, settings, database, reviews, links)
    add_live_pages(app.router, links, watching, lake_app)
    _add_health(app, database)
    app.openapi = partial(describe, app, partial(model_schemas, *_DOCUMENTS))  # type: ignore[method-assign]
    # Every other path is one of the draft that the visitor has opened. A Mount would also get what is 405 now.
    app.router.default = drafts
    operate(app, settings, metrics, metrics.refresh_server, is_streamed=is_segment)
    return app


def _add_addresses(app: FastAPI, database: Database, links: Links, settings: Settings) -> None:
    add_links(app.router, database)
    add_notifications(app.router, database, links, settings)
    add_email_page(app.router, database, links)


def _add_pages(app: FastAPI, settings: Settings, database: Database, reviews: Reviews, links: Links) -> None:
    sign_ins = SignIns.of(settings, links.key, database)
    app.state.sign_in_url = sign_ins.url
    pages.add_home(app.router, database, links, sign_ins)
    add_sign_in(app.router, database, links, sign_ins)
    if sign_ins.providers:
        add_providers(app.router, links, sign_ins)
        add_tokens(app.router, database, links, sign_ins)
    pages.add_reviews(app.router, database, reviews, links)
    pages.add_runs(app.router, database)
    app.router.add_api_route(f"{STATIC}{{digest}}/{{name:path}}", static_file, include_in_schema=False)


def _add_health(app: FastAPI, database: Database) -> None:
    app.router.add_api_route("/healthz", _health, include_in_schema=False)
    app.include_router(readiness({"database": partial(_check_database, database)}))


async def _health() -> PlainTextResponse:
    return PlainTextResponse("ok")


def _check_database(database: Database) -> None:
    database.read(lambda session: session.execute(text("SELECT 1")).scalar())


def _background(
    database: Database, metrics: ContributionMetrics, reviews: Reviews, settings: Settings
) -> Iterator[tuple[Callable[[], object], float]]:
    """Yield the periodic work, with the seconds between two runs of each."""
    yield lambda: metrics.set_queue(*queue(database)), _SECONDS_BETWEEN_GAUGES
    yield partial(clean_contributions, database, settings.unfinished_days), settings.cleanup_hours * 3600
    yield reviews.forget_decided, settings.cleanup_hours * 3600
    yield partial(notify_diverged, database), _SECONDS_BETWEEN_LOOKS
    if settings.silent_minutes:
        silent = timedelta(minutes=settings.silent_minutes)
        yield partial(end_silent_runs, database, silent), _SECONDS_BETWEEN_LOOKS


async def _repeat(work: Callable[[], object], seconds: float) -> None:
    """Run work in a thread periodically. An error is logged, and the work is run again."""
    while True:
        try:
            await in_thread(work, kind="background")
        except Exception:  # noqa: BLE001 - whatever it is, requests are answered meanwhile
            _log.exception("a task in the background failed")
        await asyncio.sleep(seconds)

"""The service as an ASGI application."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI, Request

from schema.lake import Lake
from service.problems import answer_with_problems
from service.releases import Releases
from service.rest.openapi import describe
from service.rest.questions import questions
from service.rest.route import add_question
from service.version import VERSION
from service.web.paths import pages

_DESCRIPTION = """Training-curve measurements, and what they say about batch sizes.

Every answer is of one release, and says of which. It comes as JSON, CSV, Arrow IPC stream or Parquet: by the header
Accept, by format=csv, or by the ending of the path, /v1/scaling.csv. In JSON, floats round-trip, and where a value can
be NaN or infinite it is the string NaN, Infinity or -Infinity; in CSV it is NaN, inf or -inf. With release=N an answer
never changes, byte for byte. Errors are problem documents (RFC 9457) whose type is stable."""


def create_app(lake: Lake) -> FastAPI:
    """The application that answers questions about a lake."""
    app = FastAPI(
        title="LossLake",
        description=_DESCRIPTION,
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.releases = Releases(lake)
    asked = tuple(questions())
    for question in asked:
        add_question(app.router, open_releases, question)
    app.include_router(pages)
    answer_with_problems(app)
    app.openapi = partial(describe, app, asked)  # type: ignore[method-assign]
    return app


def open_releases(request: Request) -> Releases:
    """The releases that an application answers from."""
    releases: Releases = request.app.state.releases
    return releases

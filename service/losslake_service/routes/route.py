"""The route of a question: reads the query and answers, in as few steps as can be.

FastAPI describes these routes. Its own handling of a request takes three times as long as all of this, and is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.routing import Match
from starlette.types import Scope

from losslake.output.formats import OutputFormat
from losslake.questions.errors import BadParameter
from losslake.questions.lists.filters import METAPARAMETER, filters_of, has_metaparameters
from losslake.questions.lists.paging import Cursor
from losslake.questions.parameters import FormatParameters, PageParameters, ReleaseParameters
from losslake.questions.question import Asked, Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.releases import Releases
from losslake_service.routes.negotiation import ENDINGS, wanted_format
from losslake_service.routes.reading import read_query
from losslake_service.routes.reading_route import METHODS, Handler, ReadingRoute
from losslake_service.routes.respond import response_of
from losslake_service.routes.validity import cache_control, entity_tag, is_named
from losslake_service.version import VERSION

_ENDING = "losslake.ending"


class QuestionRoute(ReadingRoute):
    """A route that also answers under the endings of formats: /v1/scaling.csv."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Compare the path, which is faster than the expressions that routes are made of."""
        path: str = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(self.path):
            return Match.NONE, {}
        ending = path[len(self.path) :]
        if ending and ending not in ENDINGS:
            return Match.NONE, {}
        child: dict[str, Any] = {
            "endpoint": self.endpoint,
            "path_params": {},
            _ENDING: ENDINGS.get(ending),
            "route": self,
        }
        return (Match.FULL if scope["method"] in METHODS else Match.PARTIAL), child


def add_question(router: APIRouter, releases: Callable[[Request], Releases], question: Question) -> None:
    """Have a router answer a question."""

    def endpoint() -> None:
        """Only described by FastAPI, never called."""

    endpoint.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter("parameters", Parameter.KEYWORD_ONLY, annotation=Annotated[question.parameters, Query()])]
    )
    endpoint.handler = _handler(question, releases)  # type: ignore[attr-defined]
    router.add_api_route(
        question.path,
        endpoint,
        methods=["GET"],
        response_class=Response,
        description=question.doc,
        route_class_override=QuestionRoute,
    )


def _handler(question: Question, releases_of: Callable[[Request], Releases]) -> Handler:
    is_filter = _filter_test(question)

    async def handle(request: Request) -> Response:
        query = request.scope["query_string"]
        parameters, filters = read_query(query, question.parameters, is_filter)
        ending: OutputFormat | None = request.scope.get(_ENDING)
        output = wanted_format(ending, parameters.format, request.headers.get("accept"))
        releases = releases_of(request)
        number = release_of(parameters)
        headers = {"vary": "Accept", "cache-control": cache_control(is_pinned=False)}
        view: ReleaseView | None = None
        if question.is_of_release:
            view = await releases.opened(number)
            headers["etag"] = entity_tag(view, VERSION, question.path, query, output.name)
            headers["cache-control"] = cache_control(number is not None)
            if is_named(request.headers, headers["etag"]):
                return Response(status_code=304, headers=headers)
        asked = Asked(releases, view, parameters, filters, output)
        if question.is_quick(parameters) and output.name == "json":
            return _answer(request, question, asked, output, headers)
        return await run_in_threadpool(_answer, request, question, asked, output, headers)

    return handle


def _answer(
    request: Request, question: Question, asked: Asked, output: OutputFormat, headers: dict[str, str]
) -> Response:
    return response_of(request, question.answer(asked), output, headers)


def _filter_test(question: Question) -> Callable[[str], bool]:
    """Whether a parameter of that name filters the rows of the list."""
    if question.listing is None:
        return lambda _: False
    known = filters_of(question.listing)
    if not has_metaparameters(question.listing):
        return known.__contains__
    return lambda name: name in known or (name.startswith(METAPARAMETER) and name != METAPARAMETER)


def release_of(parameters: FormatParameters) -> int | None:
    """The release asked for: by number, or by the cursor of a page; None for the newest."""
    if not isinstance(parameters, ReleaseParameters):
        return None
    cursor = parameters.cursor if isinstance(parameters, PageParameters) else None
    if cursor is None:
        return parameters.release
    release = Cursor.read(cursor).release
    if parameters.release is not None and parameters.release != release:
        raise BadParameter("release", f"the cursor is of release {release}, not of {parameters.release}: leave it out")
    return release

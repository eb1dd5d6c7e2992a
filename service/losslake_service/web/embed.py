"""Charts for other sites: a page with a chart and its source alone, which any page may frame."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from losslake import __version__
from losslake.figures.charts import kinds
from losslake.figures.drawing import Kind
from losslake.figures.papers.listing import check_collection
from losslake.figures.papers.paper import paper
from losslake.figures.requests import answer_to_draw, figure_parameters, specification
from losslake.questions.declaration.parameters import ReleaseParameters
from losslake.questions.declaration.question import Question, with_goal
from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake_service.entity_tags import cache_control, entity_tag, not_modified_response
from losslake_service.expensive.answers import Answers
from losslake_service.files.release_documents import base_url
from losslake_service.operation.browser_headers import EMBED_POLICY
from losslake_service.routes.figures import check_parameters
from losslake_service.routes.questions import release_of
from losslake_service.routes.reading import add_undocumented_route, read_query
from losslake_service.web.bare_page import SITE
from losslake_service.web.caveats import caveats
from losslake_service.web.chart import Chart
from losslake_service.web.paper_figures import PATH
from losslake_service.web.templates import digest, render, with_query

PREFIX = "/embed/"
_DEFAULT_HEIGHT = 420
# Those of FrameParameters that depend on the window, and those that Chart adds.
_NOT_PASSED_ON = {"release", "width", "height", "theme", "scale"}


def add_embeds(
    router: APIRouter, releases: Releases, answers: Answers, public_url: str, questions: Sequence[Question]
) -> None:
    """Add the page of each kind of chart. questions: include those whose answers are drawn."""
    by_path = {question.path: question for question in questions}
    for kind in kinds():
        endpoint = _endpoint(kind, by_path[kind.answer], releases, answers, public_url)
        add_undocumented_route(router, f"{PREFIX}{kind.name}", endpoint, is_cached=True)
    of_papers = _paper_endpoint(releases, answers, public_url)
    add_undocumented_route(router, f"{PREFIX}papers/{{name}}/{{number}}", of_papers, is_cached=True)


def _endpoint(
    kind: Kind, question: Question, releases: Releases, answers: Answers, public_url: str
) -> Callable[[Request], Awaitable[Response]]:
    model = figure_parameters(kind, question)

    async def get_embedded(request: Request) -> Response:
        query: bytes = request.scope["query_string"]
        parameters: Any = read_query(query, model)
        check_parameters(parameters, "svg")
        number = release_of(parameters)
        view = await releases.view_async(number)
        address = base_url(request, public_url)

        def page() -> str:
            drawn = kind.with_defaults(with_goal(view, parameters))
            answer = answer_to_draw(kind, question, view, drawn)
            described = orjson.loads(specification(kind, view, answer, drawn, ""))["description"]
            chart = _chart(kind, parameters, query, view.number, described, address)
            title = parameters.title or described.partition(". ")[0].removesuffix(".")
            return render("embed.html", site=SITE, chart=chart, title=title, caveats=caveats(answer.facts))

        return await _framed(request, answers, view, number is not None, address, page)

    return get_embedded


def _paper_endpoint(releases: Releases, answers: Answers, public_url: str) -> Callable[[Request], Awaitable[Response]]:
    async def get_embedded_figure(request: Request) -> Response:
        """Return the page of a figure of a paper: its picture, and its source."""
        name, number = request.path_params["name"], request.path_params["number"]
        parameters = read_query(request.scope["query_string"], ReleaseParameters)
        number_of_release = release_of(parameters)
        view = await releases.view_async(number_of_release)
        described = paper(name)
        check_collection(view, described)
        figure = described.figure(number)
        picture = with_query(f"/v1/papers/{name}/figures/{number}.svg", [("release", view.number)])
        source = f"{with_query(PATH, [('release', number_of_release)])}#{name}-{number}"
        address = base_url(request, public_url)
        content = {"paper": described, "figure": figure, "number": number, "picture": picture, "source": source}

        def page() -> str:
            return render("embed_figure.html", site=SITE, address=address, release=view.number, **content)

        return await _framed(request, answers, view, number_of_release is not None, address, page)

    return get_embedded_figure


async def _framed(
    request: Request, answers: Answers, view: ReleaseView, is_pinned: bool, address: str, page: Callable[[], str]
) -> Response:
    """Return a page that any other may frame, or that it hasn't changed."""
    by = f"{__version__} {digest()} {address}"
    headers = {
        "cache-control": cache_control(is_pinned),
        "etag": entity_tag(view, by, request.scope["path"], request.scope["query_string"], "html"),
        "content-security-policy": EMBED_POLICY.decode(),
    }
    not_modified = not_modified_response(request.headers, headers, exists=False)
    if not_modified is not None:
        return not_modified
    return await answers.respond(request, view.number, lambda: HTMLResponse(page(), headers=headers))


def _chart(kind: Kind, parameters: Any, query: bytes, release: int, description: str, address: str) -> Chart:
    pairs = [pair for pair in parse_qsl(query.decode("ascii", "replace")) if pair[0] not in _NOT_PASSED_ON]
    option_names = {"title", *(kind.parameters.model_fields if kind.parameters else ())}
    return Chart(
        kind=kind.name,
        query=[pair for pair in pairs if pair[0] not in option_names],
        options=[pair for pair in pairs if pair[0] in option_names],
        release=release,
        title=description,
        address=address,
        name=kind.name,
        height=parameters.height if "height" in parameters.model_fields_set else _DEFAULT_HEIGHT,
    )

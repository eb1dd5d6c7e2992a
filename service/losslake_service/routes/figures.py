"""The routes of figures, such as /v1/figures/scaling.svg and /v1/papers/{paper}/figures/{figure}.svg.

Annotations are evaluated here when a function is defined, since each kind of figure has a model of its own.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any, Literal

import pyarrow as pa
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.convertors import StringConvertor, register_url_convertor

from losslake import __version__
from losslake.figures.charts import kinds
from losslake.figures.drawing import Kind
from losslake.figures.figure import IMAGES, MEDIA_TYPES, Finished
from losslake.figures.links import Links
from losslake.figures.papers.drawn import drawn_figure, rows_answer, rows_path, specification_bytes
from losslake.figures.papers.listing import check_collection
from losslake.figures.papers.paper import Paper, paper
from losslake.figures.renderer import Renderer
from losslake.figures.requests import ThemeParameters, answer_to_draw, figure_parameters, query_url, specification
from losslake.output.answer import Answer
from losslake.output.formats import FORMATS
from losslake.output.rows import unit
from losslake.questions.declaration.cost import Expensive
from losslake.questions.declaration.parameters import Natural, ReleaseParameters
from losslake.questions.declaration.question import Question, with_goal
from losslake.questions.release.errors import BadParameter, UnknownName, near_names
from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake_service.entity_tags import cache_control, entity_tag, not_modified_response
from losslake_service.expensive.answers import Answers
from losslake_service.problems import ParameterProblem
from losslake_service.routes.openapi import describe_responses, release_headers
from losslake_service.routes.questions import release_of
from losslake_service.routes.reading import Endpoint, add_read_route, add_undocumented_route
from losslake_service.routes.respond import response_of

_PREFIX = "/v1/figures/"
_DOC = """{doc} The format is SVG, PNG, PDF, the Vega-Lite specification, or CSV with the drawn rows, those of
`{answer}`. The caption names the release and the query."""
_PAPERS_DOC = """A figure of a paper, redrawn from a release that has the paper's data. The format is SVG, PNG, PDF, the
Vega-Lite specification, or CSV with the drawn numbers. `/v1/papers` lists the figures. The figure and its caption name
missing data; a release without the paper's collection gives a problem of type `unknown-collection`."""
_ENDING_DOC = "Format of the figure."
_MAX_PIXELS = 12_000_000


class _FigureEndingConvertor(StringConvertor):
    """The suffix of a figure in a path, such as svg or vl.json."""

    regex = "|".join(map(re.escape, MEDIA_TYPES))


register_url_convertor("figure", _FigureEndingConvertor())


@dataclass(frozen=True)
class _Drawing:
    """The renderer of figures, and the answers that are drawn."""

    renderer: Renderer
    answers: Answers

    async def respond(
        self,
        request: Request,
        view: ReleaseView,
        ending: str,
        scale: float,
        headers: dict[str, str],
        rows: Callable[[], Answer],
        specify: Callable[[], bytes],
    ) -> Response:
        """Return the response with a figure; raise FiguresBusy, RenderingFailed and QuestionProblem.

        scale: pixels per px of a PNG. rows: returns the drawn rows. specify: returns the specification as JSON.
        """
        unmodified = not_modified_response(request.headers, headers, exists=False)
        if unmodified is not None:
            return unmodified
        if ending == "csv":
            return await self.answers.respond(
                request, view.number, lambda: response_of(request, rows(), FORMATS["csv"], headers)
            )
        try:
            body = await self.answers.here(request, specify)
        except Expensive as expensive:
            path = f"{request.scope['path'].removesuffix(ending)}vl.json"
            specified = await self.answers.forward(request, view.number, expensive, path, in_memory=True)
            if specified.status_code != 200:
                return specified
            body = bytes(specified.body)
        if ending in IMAGES:
            body = await self.renderer.render(body, IMAGES[ending], scale)
        if ending == "svg":
            headers["content-security-policy"] = "default-src 'none'; style-src 'unsafe-inline'"
        answer = Answer({"release": view.number}, pa.schema([]), iter(()))
        return await run_in_threadpool(response_of, request, answer, Finished(ending, body), headers)


def add_figures(
    router: APIRouter,
    releases: Releases,
    renderer: Renderer,
    answers: Answers,
    address: str,
    questions: Sequence[Question],
) -> None:
    """Add the routes of figures.

    address: the service's public URL, for links and captions. questions: include those whose answers are drawn.
    """
    by_path = {question.path: question for question in questions}
    drawing = _Drawing(renderer, answers)
    for kind in kinds():
        add_read_route(
            router,
            f"{_PREFIX}{kind.name}.{{ending:figure}}",
            _figure_endpoint(kind, by_path[kind.answer], releases, drawing, address),
            operation_id=f"getFigure{kind.name.title().replace('-', '')}",
            summary=f"figure of {kind.name}",
            description=_DOC.format(doc=kind.doc, answer=kind.answer),
            responses=_responses(),
            is_cached=True,
        )
    add_undocumented_route(router, f"{_PREFIX}{{name:path}}", _no_figure)
    add_read_route(
        router,
        "/v1/papers/{paper}/figures/{figure}.{ending}",
        _paper_endpoint(releases, drawing, address),
        operation_id="getPaperFigure",
        summary="figure of a paper",
        description=_PAPERS_DOC,
        responses=_responses(),
        is_cached=True,
    )


def _responses() -> dict[int | str, Any]:
    content = {media_type.partition(";")[0]: {"schema": _schema(name)} for name, media_type in MEDIA_TYPES.items()}
    partial = "The requested range."
    return describe_responses("The figure.", content, release_headers(), cached="figure", partial=partial)


def _schema(ending: str) -> dict[str, Any]:
    if ending == "vl.json":
        return {"type": "object", "description": "A Vega-Lite specification, with its data."}
    return {"type": "string"} | ({} if ending in ("csv", "svg") else {"format": "binary"})


async def _no_figure(request: Request) -> Response:
    name = request.path_params["name"]
    names = [f"{kind.name}.{ending}" for kind in kinds() for ending in MEDIA_TYPES]
    raise UnknownName("figure", name, near_names(name, names), "the service")


def _figure_endpoint(kind: Kind, question: Question, releases: Releases, drawing: _Drawing, address: str) -> Endpoint:
    model = figure_parameters(kind, question)

    async def draw_figure(
        request: Request,
        ending: Annotated[
            Literal["vl.json", "svg", "png", "pdf", "csv"], Path(description=_ENDING_DOC, examples=["svg"])
        ],
        parameters: Annotated[model, Query()],  # type: ignore[valid-type]
    ) -> Response:
        values: Any = parameters  # mypy knows no class that is made at run time
        check_parameters(values, ending)
        number = release_of(values)
        view = await releases.view_async(number)
        drawn = kind.with_defaults(with_goal(view, values))
        url = address + query_url(kind, request.scope["query_string"], view.number)

        def rows() -> Answer:
            return answer_to_draw(kind, question, view, drawn)

        def specify() -> bytes:
            return specification(kind, view, rows(), drawn, url, Links(address, number))

        headers = _headers(request, view, number, ending, address)
        return await drawing.respond(request, view, ending, values.scale, headers, rows, specify)

    return draw_figure


def check_parameters(parameters: Any, ending: str) -> None:
    """Raise ParameterProblem and BadParameter for what no figure of that ending takes."""
    if parameters.format is not None:
        raise ParameterProblem("unknown-parameter", "format", "the path suffix gives the format of a figure: use .svg")
    if ending == "png" and parameters.width * parameters.height * parameters.scale**2 > _MAX_PIXELS:
        raise BadParameter("scale", f"the figure would have more than {_MAX_PIXELS:,} pixels: give a smaller scale")


class PaperFigureParameters(ThemeParameters, ReleaseParameters):
    """The data of a paper's figure."""

    trials: Annotated[Natural | None, Field(ge=1, examples=[50], json_schema_extra=unit("trials"))] = None
    """Number of trials per study, the first by trial_id; default: as in the paper."""
    scale: Annotated[
        float, Field(ge=0.5, le=3, allow_inf_nan=False, examples=[2], json_schema_extra=unit("pixels per px"))
    ] = 2
    """For PNG only: pixels per px."""


def _paper_endpoint(releases: Releases, drawing: _Drawing, address: str) -> Endpoint:
    async def draw_paper_figure(
        request: Request,
        paper: Annotated[str, Path(description="Name of the paper.", examples=["shallue2018"])],
        figure: Annotated[str, Path(description="Number of the figure in the paper.", examples=["9a"])],
        ending: Annotated[str, Path(description=_ENDING_DOC, examples=["svg"])],
        parameters: Annotated[PaperFigureParameters, Query()],
    ) -> Response:
        # A figure number has no dot, but a suffix may have one.
        number, _, ending = f"{figure}.{ending}".partition(".")
        named = _paper_with(paper, number, ending)
        view = await releases.view_async(parameters.release)
        check_collection(view, named)

        def rows() -> Answer:
            return rows_answer(drawn_figure(view, named, number, parameters.trials))

        def specify() -> bytes:
            drawn = drawn_figure(view, named, number, parameters.trials)
            return specification_bytes(drawn, address + rows_path(drawn), parameters.theme)

        headers = _headers(request, view, parameters.release, ending, address)
        return await drawing.respond(request, view, ending, parameters.scale, headers, rows, specify)

    return draw_paper_figure


def _paper_with(name: str, number: str, ending: str) -> Paper:
    """Return the paper; raise UnknownName if the figure or the suffix is unknown."""
    named = paper(name)
    named.figure(number)
    if ending not in MEDIA_TYPES:
        near = near_names(f"{number}.{ending}", [f"{number}.{each}" for each in MEDIA_TYPES])
        raise UnknownName("figure", f"{number}.{ending}", near, f"paper {named.name}")
    return named


def _headers(request: Request, view: ReleaseView, release: int | None, ending: str, address: str) -> dict[str, str]:
    """Return the headers of a figure. release: as requested.

    A PDF's bytes are not determined by its specification, so its ETag is the checksum of the PDF itself.
    """
    headers = {"cache-control": cache_control(release is not None)}
    if ending != "pdf":
        by = f"{__version__} {address} {_renderer_version()}"
        headers["etag"] = entity_tag(view, by, request.scope["path"], request.scope["query_string"], ending)
    return headers


@cache
def _renderer_version() -> str:
    """Return the version of the renderer, which affects the bytes of a figure."""
    return version("vl-convert-python")

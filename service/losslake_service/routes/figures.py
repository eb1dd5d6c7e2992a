"""The routes of figures: /v1/figures/{kind}.{vl.json,svg,png,pdf,csv}, and /v1/papers/{paper}/figures/{figure}.svg."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, quote, urlencode

import orjson
import pyarrow as pa
from fastapi import APIRouter, FastAPI, Path, Query, Request
from fastapi.responses import Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model
from starlette.concurrency import run_in_threadpool
from starlette.convertors import StringConvertor, register_url_convertor

from losslake import __version__
from losslake.figures.charts import kinds
from losslake.figures.drawing import Drawing, Kind
from losslake.figures.figure import IMAGES, MEDIA_TYPES, Finished
from losslake.figures.links import Links
from losslake.figures.papers.drawn import drawn_figure, rows_answer, rows_path, specification_bytes
from losslake.figures.papers.listing import check_collection
from losslake.figures.papers.paper import Paper, paper
from losslake.figures.renderer import Renderer
from losslake.figures.theme import Theme, in_theme
from losslake.output.answer import Answer
from losslake.output.formats import FORMATS
from losslake.output.rows import unit
from losslake.questions.errors import BadParameter, UnknownName, near_names
from losslake.questions.parameters import Natural, ReleaseParameters
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.releases import Releases
from losslake_service.files.conditions import cache_control, entity_tag, not_modified_response
from losslake_service.problems import ParameterProblem
from losslake_service.routes.openapi import answered, release_headers
from losslake_service.routes.questions import release_of
from losslake_service.routes.reading import Endpoint, add_read_route
from losslake_service.routes.respond import response_of

_PREFIX = "/v1/figures/"
_PAPERS = "/v1/papers/{paper}/figures/{figure}.{ending}"
_DOC = """{doc} As SVG, PNG or PDF, as the Vega-Lite specification that they are rendered from, or as the rows that it
draws, which are those of `{answer}`. The caption says which release and which query they are of."""
_PAPERS_DOC = """A figure of a paper, drawn again from a release that has the paper's data: as SVG, PNG or PDF, as the
Vega-Lite specification that they are rendered from, or as the numbers that it draws. `/v1/papers` lists the figures.
What the release lacks is said in the figure and in its caption; a release without anything of the paper's collection
is a problem of type `unknown-collection`."""
_ENDING_DOC = "What the figure comes as."
_SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_MOST_PIXELS = 12_000_000
_PX = unit("px")
_NOT_IN_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class _FigureEndingConvertor(StringConvertor):
    """The ending of a figure in a path, such as svg or vl.json."""

    regex = "|".join(map(re.escape, MEDIA_TYPES))


register_url_convertor("figure", _FigureEndingConvertor())


def add_figures(router: APIRouter, releases: Releases, questions: Sequence[Question]) -> None:
    """Have a router answer with figures, and end the process that renders them with the application.

    questions: the answers that are drawn are among these.
    """
    renderer = Renderer()
    by_path = {question.path: question for question in questions}
    for kind in kinds():
        add_read_route(
            router,
            f"{_PREFIX}{kind.name}.{{ending:figure}}",
            _figure_endpoint(kind, by_path[kind.answer], releases, renderer),
            operation_id=f"getFigure{kind.name.title().replace('-', '')}",
            summary=f"figure of {kind.name}",
            description=_DOC.format(doc=kind.doc, answer=kind.answer),
            responses=_responses(),
        )
    router.add_api_route(f"{_PREFIX}{{name:path}}", _no_figure, methods=["GET", "HEAD"], include_in_schema=False)
    add_read_route(
        router,
        _PAPERS,
        _paper_endpoint(releases, renderer),
        operation_id="getPaperFigure",
        summary="figure of a paper",
        description=_PAPERS_DOC,
        responses=_responses(),
    )
    router.include_router(APIRouter(lifespan=_closing(renderer)))


def _closing(renderer: Renderer) -> Any:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(renderer.close)

    return lifespan


def _responses() -> dict[int | str, Any]:
    content = {media_type.partition(";")[0]: {"schema": _schema(name)} for name, media_type in MEDIA_TYPES.items()}
    partial = "The range that was asked for."
    return answered("The figure.", content, release_headers(), known="figure", partial=partial)


def _schema(ending: str) -> dict[str, Any]:
    if ending == "vl.json":
        return {"type": "object", "description": "A Vega-Lite specification, with its data."}
    return {"type": "string"} | ({} if ending in ("csv", "svg") else {"format": "binary"})


def _no_figure(name: str) -> None:
    names = [f"{kind.name}.{ending}" for kind in kinds() for ending in MEDIA_TYPES]
    raise UnknownName("figure", name, near_names(name, names), "the service")


def _in_a_line(title: str | None) -> str | None:
    """A heading as SVG can hold it."""
    if title is not None and _NOT_IN_XML.search(title):
        raise ValueError("give a line of text without control characters")
    return title


class ThemeParameters(BaseModel):
    """What a figure is drawn on."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    theme: Annotated[Theme, Field(examples=["dark"])] = "light"
    """The ground: light is white, dark is nearly black, with lighter colours."""


class FrameParameters(ThemeParameters):
    """How large a figure is, and its heading."""

    title: Annotated[
        str | None,
        Field(max_length=200, examples=["Momentum extends perfect scaling"]),
        AfterValidator(_in_a_line),
    ] = None
    """The figure's heading; default: what it shows, in words. Of several plots it is the first line of the caption."""
    width: Annotated[Natural, Field(ge=240, le=1600, examples=[480], json_schema_extra=_PX)] = 480
    """The figure's width, axes and caption included."""
    height: Annotated[Natural, Field(ge=200, le=1200, examples=[400], json_schema_extra=_PX)] = 400
    """About the figure's height, heading and caption included; a long caption or legend makes it higher."""
    scale: Annotated[
        float, Field(ge=0.5, le=4, allow_inf_nan=False, examples=[2], json_schema_extra=unit("pixels per px"))
    ] = 2
    """Of a PNG only: how many pixels are drawn for each px of width and height."""


def _figure_endpoint(kind: Kind, question: Question, releases: Releases, renderer: Renderer) -> Endpoint:
    own = (kind.parameters,) if kind.parameters is not None else ()
    bases: Any = (FrameParameters, *own, question.parameters)
    shape = create_model(f"{question.parameters.__name__}OfFigure", __base__=bases)

    async def draw_figure(
        request: Request,
        ending: Annotated[
            Literal["vl.json", "svg", "png", "pdf", "csv"], Path(description=_ENDING_DOC, examples=["svg"])
        ],
        parameters: Any,
    ) -> Response:
        _check(parameters, ending)
        number = release_of(parameters)
        view = await releases.opened(number)
        drawn = kind.with_defaults(parameters)
        address = _address(request)
        url = address + _query_url(kind, request.scope["query_string"], view.number)

        def rows() -> Answer:
            return _answer(kind, question, view, drawn)

        def specify() -> bytes:
            return _specification(kind, view, rows(), drawn, url, Links(address, number))

        headers = _headers(request, view, number, ending)
        return await _respond(request, renderer, view, ending, parameters.scale, headers, rows, specify)

    draw_figure.__annotations__["parameters"] = Annotated[shape, Query()]
    return draw_figure


def _check(parameters: Any, ending: str) -> None:
    if parameters.format is not None:
        raise ParameterProblem("unknown-parameter", "format", "a figure comes as the ending of its path says: .svg")
    if ending == "png" and parameters.width * parameters.height * parameters.scale**2 > _MOST_PIXELS:
        raise BadParameter("scale", f"the figure would have more than {_MOST_PIXELS:,} pixels: give a smaller scale")


def _answer(kind: Kind, question: Question, view: ReleaseView, parameters: Any) -> Answer:
    """The answer that is drawn, its rows in memory; raises BadParameter where they are too many to be seen."""
    answer = question.answer(view, parameters)
    batches: list[pa.RecordBatch] = []
    for batch in answer.batches:
        batches.append(batch)
        if sum(each.num_rows for each in batches) > kind.most_rows:
            name = next(name for name in ("metric", "workload") if isinstance(getattr(parameters, name, None), list))
            advice = f"more than {kind.most_rows:,} rows can't be told apart in a figure: ask for fewer {name}s"
            raise BadParameter(name, advice)
    return Answer(answer.facts, answer.schema, iter(batches))


def _specification(kind: Kind, view: ReleaseView, answer: Answer, parameters: Any, url: str, links: Links) -> bytes:
    """The Vega-Lite specification as JSON. Numbers are finite: charts leave out all others."""
    drawing = Drawing(
        rows=answer.table(),
        facts=answer.facts,
        view=view,
        parameters=parameters,
        query=url,
        width=parameters.width,
        height=parameters.height,
        title=parameters.title,
        links=links,
    )
    return orjson.dumps(in_theme(kind.specification(drawing), parameters.theme))


def _query_url(kind: Kind, query: bytes, release: int) -> str:
    """The path of the rows that are drawn, pinned to the release."""
    given = parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True)
    of_figure = {"release", *FrameParameters.model_fields, *(kind.parameters.model_fields if kind.parameters else ())}
    kept = [pair for pair in given if pair[0] not in of_figure]
    named = {name for name, _ in kept}
    is_plain = not named & set(kind.unless)
    added = [(name, str(value)) for name, value in kind.defaults.items() if is_plain and name not in named]
    return f"{kind.answer}?{urlencode([*kept, *added, ('release', release)], safe='/', quote_via=quote)}"


class PaperFigureParameters(ThemeParameters, ReleaseParameters):
    """From which data a figure of a paper is drawn."""

    trials: Annotated[Natural | None, Field(ge=1, examples=[50], json_schema_extra=unit("trials"))] = None
    """Of each study take the first so many trials by trial_id; default: as many as the paper takes of it."""
    scale: Annotated[
        float, Field(ge=0.5, le=3, allow_inf_nan=False, examples=[2], json_schema_extra=unit("pixels per px"))
    ] = 2
    """Of a PNG only: how many pixels are drawn for each px."""


def _paper_endpoint(releases: Releases, renderer: Renderer) -> Endpoint:
    async def draw_paper_figure(
        request: Request,
        paper: Annotated[str, Path(description="Name of the paper.", examples=["shallue2018"])],
        figure: Annotated[str, Path(description="Number of the figure in the paper.", examples=["9a"])],
        ending: Annotated[str, Path(description=_ENDING_DOC, examples=["svg"])],
        parameters: Annotated[PaperFigureParameters, Query()],
    ) -> Response:
        # The number of a figure has no dot, an ending may have one.
        number, _, ending = f"{figure}.{ending}".partition(".")
        named = _paper_with(paper, number, ending)
        view = await releases.opened(parameters.release)
        check_collection(view, named)

        def rows() -> Answer:
            return rows_answer(drawn_figure(view, named, number, parameters.trials))

        def specify() -> bytes:
            drawn = drawn_figure(view, named, number, parameters.trials)
            return specification_bytes(drawn, _address(request) + rows_path(drawn), parameters.theme)

        headers = _headers(request, view, parameters.release, ending)
        return await _respond(request, renderer, view, ending, parameters.scale, headers, rows, specify)

    return draw_paper_figure


def _paper_with(name: str, number: str, ending: str) -> Paper:
    """The paper; raises UnknownName unless it has the figure, and figures the ending."""
    named = paper(name)
    named.figure(number)
    if ending not in MEDIA_TYPES:
        near = near_names(f"{number}.{ending}", [f"{number}.{known}" for known in MEDIA_TYPES])
        raise UnknownName("figure", f"{number}.{ending}", near, f"paper {named.name}")
    return named


def _address(request: Request) -> str:
    address: str = request.app.state.public_url or ""
    return address


def _headers(request: Request, view: ReleaseView, release: int | None, ending: str) -> dict[str, str]:
    """The headers of a figure. release: as it was asked for.

    The bytes of a PDF are not a function of its specification: it is known by its own checksum.
    """
    headers = {"cache-control": cache_control(release is not None)}
    if ending != "pdf":
        by = f"{__version__} {_address(request)} {_drawn_by()}"
        headers["etag"] = entity_tag(view, by, request.scope["path"], request.scope["query_string"], ending)
    return headers


async def _respond(
    request: Request,
    renderer: Renderer,
    view: ReleaseView,
    ending: str,
    scale: float,
    headers: dict[str, str],
    rows: Callable[[], Answer],
    specify: Callable[[], bytes],
) -> Response:
    """The response with a figure; raises FiguresBusy and RenderingFailed.

    scale: of a PNG, its pixels per px. rows: what is drawn. specify: gives the Vega-Lite specification as JSON.
    """
    known = not_modified_response(request.headers, headers, exists=False)
    if known is not None:
        return known
    if ending == "csv":
        return await run_in_threadpool(lambda: response_of(request, rows(), FORMATS["csv"], headers))
    body = await run_in_threadpool(specify)
    if ending in IMAGES:
        body = await renderer.render(body, IMAGES[ending], scale)
    if ending == "svg":
        headers["content-security-policy"] = _SVG_POLICY
    answer = Answer({"release": view.number}, pa.schema([]), iter(()))
    return await run_in_threadpool(response_of, request, answer, Finished(ending, body), headers)


@cache
def _drawn_by() -> str:
    """Versions of what makes the bytes of a figure."""
    return version("vl-convert-python")

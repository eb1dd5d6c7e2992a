"""Answers a request for a figure: asks the question, draws its answer, has it rendered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import orjson
import pyarrow as pa
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from losslake.figures.drawing import Drawing, Kind
from losslake.figures.links import Links
from losslake.figures.renderer import Renderer
from losslake.figures.theme import in_theme
from losslake.output.answer import Answer
from losslake.output.formats import FORMATS
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import FormatParameters
from losslake.questions.question import Asked, Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.releases import Releases
from losslake_service.problems import ParameterProblem
from losslake_service.routes.figures.finish import drawn_by, finished_figure
from losslake_service.routes.figures.parameters import FrameParameters
from losslake_service.routes.figures.route import ENDING
from losslake_service.routes.reading import read_query
from losslake_service.routes.respond import response_of
from losslake_service.routes.route import release_of
from losslake_service.routes.validity import cache_control, entity_tag, is_named
from losslake_service.version import VERSION

_MOST_PIXELS = 12_000_000
Handler = Callable[[Request], Awaitable[Response]]


def handler(
    app: FastAPI,
    kind: Kind,
    question: Question,
    shape: type[FormatParameters],
    releases: Releases,
    renderer: Renderer,
) -> Handler:
    """What answers requests for a kind of figure. shape: of its parameters."""

    async def handle(request: Request) -> Response:
        query, ending = request.scope["query_string"], request.scope[ENDING]
        parameters: Any = _checked(read_query(query, shape)[0], ending)
        number = release_of(parameters)
        view = await releases.opened(number)
        address: str = app.state.public_url or ""
        by = f"{VERSION} {address} {drawn_by()}"
        headers = {"cache-control": cache_control(number is not None)}
        # The bytes of a PDF are not a function of its specification: it is known by its own checksum.
        if ending != "pdf":
            headers["etag"] = entity_tag(view, by, request.scope["path"], query, ending)
            if is_named(request.headers, headers["etag"]):
                return Response(status_code=304, headers=headers)
        parameters = kind.with_defaults(parameters)
        answer = await run_in_threadpool(_answer, kind, question, releases, view, parameters)
        if ending == "csv":
            return await run_in_threadpool(response_of, request, answer, FORMATS["csv"], headers)
        url = address + _query_url(kind, query, view.number)
        body = await run_in_threadpool(_drawn, kind, view, answer, parameters, url, Links(address, number))
        return await finished_figure(request, renderer, body, ending, parameters.scale, view.number, headers)

    return handle


def _checked(parameters: Any, ending: str) -> Any:
    if parameters.format is not None:
        raise ParameterProblem("unknown-parameter", "format", "a figure comes as the ending of its path says: .svg")
    if ending == "png" and parameters.width * parameters.height * parameters.scale**2 > _MOST_PIXELS:
        raise BadParameter("scale", f"the figure would have more than {_MOST_PIXELS:,} pixels: give a smaller scale")
    return parameters


def _answer(kind: Kind, question: Question, releases: Releases, view: ReleaseView, parameters: Any) -> Answer:
    """The answer that is drawn, its rows in memory; raises BadParameter where they are too many to be seen."""
    answer = question.answer(Asked(releases, view, parameters, {}, FORMATS["json"]))
    batches: list[pa.RecordBatch] = []
    for batch in answer.batches:
        batches.append(batch)
        if sum(each.num_rows for each in batches) > kind.most_rows:
            name = next(name for name in ("metric", "workload") if isinstance(getattr(parameters, name, None), list))
            advice = f"more than {kind.most_rows:,} rows can't be told apart in a figure: ask for fewer {name}s"
            raise BadParameter(name, advice)
    return Answer(answer.facts, answer.schema, iter(batches))


def _drawn(kind: Kind, view: ReleaseView, answer: Answer, parameters: Any, url: str, links: Links) -> bytes:
    """The specification as JSON. Numbers are finite: charts leave out all others."""
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

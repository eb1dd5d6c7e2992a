"""The paths of papers' figures in an application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from losslake.figures.figure import MEDIA_TYPES
from losslake.figures.papers.drawn import drawn_figure, rows_answer, rows_path, specification_bytes
from losslake.figures.papers.listing import check_collection
from losslake.figures.papers.paper import Paper, paper
from losslake.figures.renderer import Renderer
from losslake.output.formats import FORMATS
from losslake.questions.errors import UnknownName, near_names
from losslake.questions.releases import Releases
from losslake_service.routes.figures.finish import drawn_by, finished_figure
from losslake_service.routes.papers.parameters import PaperFigureParameters
from losslake_service.routes.papers.route import PATH, PaperFigureRoute
from losslake_service.routes.reading import read_query
from losslake_service.routes.respond import response_of
from losslake_service.routes.route import release_of
from losslake_service.routes.validity import cache_control, entity_tag, is_named
from losslake_service.version import VERSION

Handler = Callable[[Request], Awaitable[Response]]
_DOC = "A figure of a paper, drawn from a release that has the paper's data."


def add_papers(app: FastAPI, releases: Releases, renderer: Renderer) -> None:
    """Have an application answer with the figures of papers."""

    def endpoint(paper: Any, figure: Any, ending: Any, parameters: Any) -> None:
        """Only described by FastAPI, never called."""

    endpoint.__annotations__ = {
        "paper": Annotated[str, Path(description="Name of the paper.", examples=["shallue2018"])],
        "figure": Annotated[str, Path(description="Number of the figure in the paper.", examples=["9a"])],
        "ending": Annotated[str, Path(description="What the figure comes as.", examples=["svg"])],
        "parameters": Annotated[PaperFigureParameters, Query()],
    }
    endpoint.handler = _handler(app, releases, renderer)  # type: ignore[attr-defined]
    app.router.add_api_route(
        PATH,
        endpoint,
        methods=["GET"],
        response_class=Response,
        description=_DOC,
        route_class_override=PaperFigureRoute,
    )


def _handler(app: FastAPI, releases: Releases, renderer: Renderer) -> Handler:
    async def handle(request: Request) -> Response:
        query, place = request.scope["query_string"], request.path_params
        found, number, ending = paper(place["paper"]), place["figure"], place["ending"]
        _check_ending(found, number, ending)
        parameters, _ = read_query(query, PaperFigureParameters)
        release = release_of(parameters)
        view = await releases.opened(release)
        check_collection(view, found)
        address: str = app.state.public_url or ""
        headers = {"cache-control": cache_control(release is not None)}
        # The bytes of a PDF are not a function of its specification: it is known by its own checksum.
        if ending != "pdf":
            by = f"{VERSION} {address} {drawn_by()}"
            headers["etag"] = entity_tag(view, by, request.scope["path"], query, ending)
            if is_named(request.headers, headers["etag"]):
                return Response(status_code=304, headers=headers)
        drawn = await run_in_threadpool(drawn_figure, view, found, number, parameters.trials)
        if ending == "csv":
            return await run_in_threadpool(response_of, request, rows_answer(drawn), FORMATS["csv"], headers)
        body = await run_in_threadpool(specification_bytes, drawn, address + rows_path(drawn), parameters.theme)
        return await finished_figure(request, renderer, body, ending, parameters.scale, view.number, headers)

    return handle


def _check_ending(found: Paper, number: str, ending: str) -> None:
    """Raise UnknownName unless the paper has the figure, and figures the ending."""
    found.figure(number)
    if ending not in MEDIA_TYPES:
        name = f"{number}.{ending}"
        near = near_names(name, [f"{number}.{known}" for known in MEDIA_TYPES])
        raise UnknownName("figure", name, near, f"paper {found.name}")

"""The paths of figures in an application, and the process that renders them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path, Query
from fastapi.responses import Response

from losslake.figures.drawing import kinds
from losslake.figures.figure import MEDIA_TYPES
from losslake.figures.renderer import Renderer
from losslake.questions.errors import UnknownName, near_names
from losslake.questions.question import Question
from losslake.questions.releases import Releases
from losslake_service.routes.figures.handler import handler
from losslake_service.routes.figures.parameters import figure_parameters
from losslake_service.routes.figures.route import FigureRoute

PREFIX = "/v1/figures/"
Ending = Literal["vl.json", "svg", "png", "pdf", "csv"]
_NAMES = [f"{kind.name}.{ending}" for kind in kinds() for ending in MEDIA_TYPES]


def add_figures(app: FastAPI, releases: Releases, questions: Sequence[Question], renderer: Renderer) -> None:
    """Have an application answer with figures, and end the renderer with it.

    questions: the answers that are drawn are among these.
    """
    by_path = {question.path: question for question in questions}
    for kind in kinds():
        question = by_path[kind.answer]
        parameters: Any = figure_parameters(question.parameters, kind.parameters)

        def endpoint(ending: Any, parameters: Any) -> None:
            """Only described by FastAPI, never called."""

        endpoint.__annotations__ = {
            "ending": Annotated[Ending, Path(description="What the figure comes as.", examples=["svg"])],
            "parameters": Annotated[parameters, Query()],
        }
        endpoint.handler = handler(app, kind, question, parameters, releases, renderer)  # type: ignore[attr-defined]
        app.router.add_api_route(
            f"{PREFIX}{kind.name}.{{ending}}",
            endpoint,
            methods=["GET"],
            response_class=Response,
            description=kind.doc,
            route_class_override=FigureRoute,
        )
    app.add_api_route(PREFIX + "{name:path}", _unknown, methods=["GET", "HEAD"], include_in_schema=False)
    _close_with(app, renderer)


def _unknown(name: str) -> None:
    raise UnknownName("figure", name, near_names(name, _NAMES), "the service")


def _close_with(app: FastAPI, renderer: Renderer) -> None:
    """End the process with the application."""
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(running: FastAPI) -> AsyncIterator[Any]:
        async with inner(running) as state:
            yield state
        await asyncio.to_thread(renderer.close)

    app.router.lifespan_context = lifespan

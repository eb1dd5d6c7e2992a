"""A figure's specification becomes a response: rendered, and with the headers of its ending."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

import pyarrow as pa
from fastapi import Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from losslake.figures.figure import IMAGES, Finished
from losslake.figures.renderer import Renderer
from losslake.output.answer import Answer
from losslake_service.routes.respond import response_of

_SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


async def finished_figure(
    request: Request,
    renderer: Renderer,
    specification: bytes,
    ending: str,
    scale: float,
    release: int,
    headers: dict[str, str],
) -> Response:
    """The response with a figure; raises FiguresBusy and RenderingFailed.

    specification: Vega-Lite as JSON. ending: all but csv. scale: of a PNG, its pixels per px.
    """
    body = await renderer.render(specification, IMAGES[ending], scale) if ending in IMAGES else specification
    if ending == "svg":
        headers["content-security-policy"] = _SVG_POLICY
    told = Answer({"release": release}, pa.schema([]), iter(()))
    return await run_in_threadpool(response_of, request, told, Finished(ending, body), headers)


@cache
def drawn_by() -> str:
    """Versions of what makes the bytes of a figure."""
    return version("vl-convert-python")

"""The process that renders: started when needed, renewed, replaced, and never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import psutil
import pytest

from losslake.figures.renderer import MOST_WAITING, FiguresBusy, Renderer, RenderingFailed
from losslake.figures.rendering import Rendered, rendered

POINT = b'{"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}}'


@pytest.fixture
def renderer() -> Iterator[Renderer]:
    found = Renderer()
    yield found
    found.close()


def render(renderer: Renderer, specification: bytes = POINT) -> bytes:
    return asyncio.run(renderer.render(specification, "svg"))


def test_it_is_started_by_the_first_figure_and_ends_when_closed() -> None:
    before = psutil.Process().children(recursive=True)
    renderer = Renderer()
    assert psutil.Process().children(recursive=True) == before
    assert render(renderer).startswith(b"<svg")
    process = renderer.process_id
    assert process is not None
    renderer.close()
    assert not psutil.pid_exists(process)


def test_one_that_died_is_replaced_without_the_figure_being_lost(renderer: Renderer) -> None:
    # What can't be drawn is no reason to die.
    with pytest.raises(RenderingFailed):
        render(renderer, b'{"mark": 1}')
    assert renderer.process_id is not None
    os.kill(renderer.process_id, signal.SIGKILL)
    assert render(renderer).startswith(b"<svg")


def test_it_is_renewed_after_so_many_figures() -> None:
    renderer = Renderer(figures_per_process=1)
    render(renderer)
    assert renderer.process_id is None


def test_one_that_takes_too_long_is_killed() -> None:
    renderer = Renderer(seconds_each=0.01)
    with pytest.raises(RenderingFailed, match="longer than"):
        render(renderer)
    assert renderer.process_id is None


def test_more_than_can_wait_are_refused(renderer: Renderer) -> None:
    async def many() -> list[object]:
        asked = (renderer.render(POINT, "svg") for _ in range(MOST_WAITING + 2))
        return list(await asyncio.gather(*asked, return_exceptions=True))

    found = asyncio.run(many())
    assert sum(isinstance(each, FiguresBusy) for each in found) == 2
    assert sum(isinstance(each, bytes) for each in found) == MOST_WAITING


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_same_figure_is_the_same_bytes_whatever_was_rendered_before(ending: Rendered) -> None:
    clipped = POINT.replace(b'"point"', b'{"type": "point", "clip": true}')
    first = rendered(clipped, ending)
    rendered(clipped + b" ", "svg")
    assert rendered(clipped + b"  ", ending) == first

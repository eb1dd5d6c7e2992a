"""The rendering process: started on demand, renewed, replaced, and always stopped."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from losslake.figures.renderer import MOST_WAITING, FiguresBusy, Renderer, RenderingFailed
from losslake.figures.rendering import Rendered, render_image

POINT = b'{"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}}'


@pytest.fixture
def renderer() -> Iterator[Renderer]:
    process = Renderer()
    yield process
    process.close()


def render(renderer: Renderer, specification: bytes = POINT) -> bytes:
    return asyncio.run(renderer.render(specification, "svg"))


def test_renderer_starts_with_the_first_figure_and_ends_when_closed() -> None:
    before = psutil.Process().children(recursive=True)
    renderer = Renderer()
    assert psutil.Process().children(recursive=True) == before
    assert render(renderer).startswith(b"<svg")
    process = renderer.process_id
    assert process is not None
    renderer.close()
    assert not psutil.pid_exists(process)


@pytest.mark.slow
def test_dead_renderer_is_replaced_without_losing_the_figure(renderer: Renderer) -> None:
    # What can't be drawn is no reason to die.
    with pytest.raises(RenderingFailed, match="Vega-Lite to SVG conversion failed"):
        render(renderer, b'{"mark": 1}')
    assert renderer.process_id is not None
    os.kill(renderer.process_id, signal.SIGKILL)
    assert render(renderer).startswith(b"<svg")


@pytest.mark.slow
def test_renderer_is_replaced_after_its_maximum_of_figures() -> None:
    renderer = Renderer(figures_per_process=1)
    render(renderer)
    assert renderer.process_id is None


def test_slow_renderer_is_killed() -> None:
    renderer = Renderer(seconds_each=0.01)
    with pytest.raises(RenderingFailed, match="longer than"):
        render(renderer)
    assert renderer.process_id is None


def slow_start(monkeypatch: pytest.MonkeyPatch, folder: Path, seconds: float, figure: str = "time.sleep(3600)") -> Path:
    """Let the process start slowly, write a file, which is returned, and then take forever for a figure, or do that."""
    started = folder / "started"
    (folder / "sitecustomize.py").write_text(f"""
import pathlib, sys, time, types
time.sleep({seconds})
pathlib.Path({str(started)!r}).touch()
stub = sys.modules["losslake.figures.rendering"] = types.ModuleType("stub")
stub.render_image = lambda *_: {figure}
""")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    return started


def test_the_start_of_the_process_does_not_count_as_time_for_a_figure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started = slow_start(monkeypatch, tmp_path, 0.5)
    with pytest.raises(RenderingFailed, match="longer than"):
        render(Renderer(seconds_each=0.01))
    assert started.exists()


def test_a_process_that_does_not_start_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow_start(monkeypatch, tmp_path, 3600)
    renderer = Renderer(seconds_to_start=0.1)
    with pytest.raises(RenderingFailed, match="did not start"):
        render(renderer)
    assert renderer.process_id is None


def test_what_reads_standard_input_takes_no_request_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, renderer: Renderer
) -> None:
    slow_start(monkeypatch, tmp_path, 0, "sys.stdin.buffer.read()")
    assert render(renderer) == b""


def test_full_queue_refuses_figures(renderer: Renderer) -> None:
    async def many() -> list[object]:
        requests = (renderer.render(POINT, "svg") for _ in range(MOST_WAITING + 2))
        return list(await asyncio.gather(*requests, return_exceptions=True))

    results = asyncio.run(many())
    assert sum(isinstance(each, FiguresBusy) for each in results) == 2
    assert sum(isinstance(each, bytes) for each in results) == MOST_WAITING


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_rendering_is_deterministic(ending: Rendered) -> None:
    clipped = POINT.replace(b'"point"', b'{"type": "point", "clip": true}')
    first = render_image(clipped, ending)
    render_image(clipped + b" ", "svg")
    assert render_image(clipped + b"  ", ending) == first

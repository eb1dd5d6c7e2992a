"""The layers that draw lines: as data where they are few, as outlines where they are many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from losslake.figures.channels import COUNT, DECIMAL, Channel, category, quantity, told
from losslake.figures.charts.frame import Frame
from losslake.figures.charts.lines import FACTS, Lines
from losslake.figures.charts.outlines import SIZE, outlines, to_px
from losslake.figures.layers import Layer, Row, layer
from losslake.figures.links import Links
from losslake.figures.panel import Limits, Series

MOST_AS_DATA = 2500
"""Points; a browser takes some 0.1 ms for each."""
FEW = 7
"""Lines that are drawn boldly, each with a name."""
_MOST_POINTED_AT = 400
_TITLES = {
    "trial_id": told("trial_id", "Trial"),
    "batch_size": told("batch_size", "Batch size", COUNT),
    "status": told("status", "Status"),
    "workload": told("workload", "Workload"),
}
_LAST = [told("last", "Last value", DECIMAL), told("until", "at step", COUNT)]
_ITSELF = [told("value", "Value", DECIMAL), told("step", "at step", COUNT)]


def as_data(lines: Lines, frame: Frame, look: dict[str, Channel], is_clipped: bool) -> list[Layer]:
    """Lines by their steps and values; where those are few enough to be pointed at, each says its own."""
    rows, flat = lines.as_rows(), [{"flatten": ["step", "value"]}]
    marks = frame.place | look
    told_of_line = frame.tooltip([*_facts(lines), *_LAST])
    # Each line that is clipped is rendered by itself, which takes ten times as long.
    style = _style(lines) | {"clip": is_clipped}
    found = [layer(rows, "line", marks | {"detail": category("line")} | told_of_line, order=False, **style)]
    if len(lines.facts) <= FEW and len(lines.step) <= _MOST_POINTED_AT:
        told_of_point = frame.tooltip([*_facts(lines), *_ITSELF])
        found.append(layer(rows, "point", frame.place | look | told_of_point, size=60, opacity=0, clip=is_clipped))
    return [replace(each, transforms=flat) for each in found]


def as_outlines(
    lines: Lines, frame: Frame, look: dict[str, Channel], limits: tuple[Limits, Limits], is_log: bool
) -> list[Layer]:
    """Lines as shapes: one mark each, with nothing of its points but where they are on the plot.

    limits: of x and y.
    """
    panel = frame.panel
    rows = outlines(lines, panel, to_px(limits[0], panel.width, is_log), to_px(limits[1], panel.height, is_up=True))
    shape = {name: quantity(field, scale=None, axis=None) for name, field in (("x", "across"), ("y", "down"))}
    shape["shape"] = category("outline", scale=None)
    marks = shape | look | frame.tooltip([*_facts(lines), *_LAST])
    # Shapes have no axes: those are of two marks that nobody sees.
    corners: list[Row] = [{"step": step, "value": value} for step, value in zip(*limits, strict=True)]
    return [
        layer(corners, "point", frame.place, opacity=0, tooltip=None),
        layer(rows, "point", marks, filled=False, size=SIZE, clip=True, **_style(lines)),
    ]


def linked(layers: Sequence[Layer], lines: Lines, series: Sequence[Series], links: Links | None) -> list[Layer]:
    """The layers of lines with links to their trials, computed before points are made of them."""
    if links is None or not lines.facts or "trial_id" not in lines.facts[0]:
        return list(layers)
    if "workload" in lines.facts[0]:
        computed = links.to_trials_of(sorted({facts["workload"] for facts in lines.facts}))
    else:
        computed = links.to_trials(series)
    return [each.linked(computed) if "tooltip" in each.encoding else each for each in layers]


def _facts(lines: Lines) -> list[Channel]:
    """What all lines say of themselves."""
    return [_TITLES[name] for name in FACTS if lines.facts and all(name in facts for facts in lines.facts)]


def _style(lines: Lines) -> dict[str, Any]:
    """Opacity is of the stroke, so that a legend can be plain."""
    few = len(lines.facts) <= FEW
    return {"strokeWidth": 1.6 if few else 1.0, "strokeOpacity": 1 if few else 0.5}

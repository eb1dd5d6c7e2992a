"""Curves: values of a metric against steps, a line for each trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from losslake.figures import theme
from losslake.figures.axes import decade_limits, linear_limits
from losslake.figures.channels import Channel, category
from losslake.figures.charts.frame import Frame, Scale
from losslake.figures.charts.line_layers import MOST_AS_DATA, as_data, as_outlines, linked
from losslake.figures.charts.lines import lines_of
from losslake.figures.layers import Plot, layer, layered, words
from losslake.figures.legend import colour_scale, legend
from losslake.figures.links import Links
from losslake.figures.panel import Panel, Series
from losslake_schema.reached import Floats

_ROOM_FOR_OUTLIERS = 3.0


@dataclass(frozen=True)
class Look:
    """How the lines of a series are drawn. dash: px of line and gap by turns."""

    colour: str
    dash: tuple[int, ...] = theme.DASHES[0]


def curves_chart(
    series: Sequence[Series],
    panel: Panel,
    *,
    y_title: str = "Value",
    is_log: bool = False,
    is_ordered: bool = False,
    looks: Mapping[str, Look] | None = None,
    target: float | None = None,
    links: Links | None = None,
) -> Plot:
    """A line for each trial of each series, coloured by series.

    series: rows with step, value and line, which tells one line from another: its rows follow each other; for tooltips,
    of each line the same, trial_id, batch_size, status and, where lines are of several, workload.
    is_log: steps on a logarithmic axis, where step 0 has no place. is_ordered: the series have an order, such as batch
    sizes, and colours that show it. looks: by label, in place of colours of the palette. target: a line across.
    links: to the trials.
    Values that are not finite interrupt nothing and are not drawn. More than MOST_AS_DATA points are drawn as outlines.
    """
    lines = lines_of(series, is_log)
    steps = _ends(lines.step.astype(np.float64))
    values = [*_ends(within_reason(lines.value)), *([] if target is None else [target])]
    x_limits = panel.x_limits or (decade_limits(steps) if is_log else linear_limits(steps, 0.02))
    y_limits = panel.y_limits or linear_limits(values)
    x = Scale("step", x_limits, "Steps", base=10 if is_log else None)
    y = Scale("value", y_limits, y_title, base=None)
    labels = [one.label for one in series]
    frame = Frame(panel, x, y, labels, is_ordered)
    key = legend(labels, panel)
    look = _looks(
        looks or {},
        labels,
        is_ordered,
        key and key | {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 300},
    )
    if len(lines.step) > MOST_AS_DATA:
        layers = as_outlines(lines, frame, look, (x_limits, y_limits), is_log)
    else:
        is_outside = bool(((lines.value < y_limits[0]) | (lines.value > y_limits[1])).any())
        layers = as_data(lines, frame, look, is_outside or panel.x_limits is not None)
    layers = linked(layers, lines, series, links)
    if target is not None:
        across = {"y": frame.y_of("target")}
        layers.append(layer([{"target": target}], "rule", across, strokeDash=[5, 4], color=theme.FAINT, tooltip=None))
    if not lines.facts:
        layers.append(words("Nothing was measured.", panel))
    return layered([*layers, *frame.labels()], panel)


def within_reason(values: Floats) -> Floats:
    """The values without outliers, which would press all else together: those of trials that diverge."""
    if not len(values):
        return values
    low, high = np.quantile(values, [0.02, 0.98])
    room = _ROOM_FOR_OUTLIERS * (high - low)
    found: Floats = values[(low - room <= values) & (values <= high + room)]
    return found


def _ends(values: Floats) -> list[float]:
    """The least and the greatest, and the least above 0: what limits depend on."""
    above = values[values > 0]
    return [float(each) for own in (above, values) if len(own) for each in (own.min(), own.max())]


def _looks(
    looks: Mapping[str, Look], labels: Sequence[str], is_ordered: bool, key: dict[str, Any] | None
) -> dict[str, Channel]:
    """Colours of series, and dashes where there are looks. key: the legend."""
    if not looks:
        return {"color": category("series", scale=colour_scale(labels, is_ordered), legend=key)}
    own = [looks[label] for label in labels]
    colour = {"domain": list(labels), "range": [look.colour for look in own]}
    dash = {"domain": list(labels), "range": [list(look.dash) for look in own]}
    return {
        "color": category("series", scale=colour, legend=key),
        "strokeDash": category("series", scale=dash, legend=key),
    }

"""Learning rate and momentum of every trial, and what became of it."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import altair as alt

from service.figures import theme
from service.figures.axes import decade_limits
from service.figures.charts.frame import Frame, Scale
from service.figures.layers import Row, layered, rows_chart, words
from service.figures.legend import legend
from service.figures.panel import Limits, Panel, Series, rows_of

_CROSS = "M-0.8,-0.8L0.8,0.8M0.8,-0.8L-0.8,0.8"
_MOST_CONTOURS = 8
_LABEL_ROOM = 0.12


@dataclass(frozen=True)
class Outcome:
    """What became of a trial, and its mark."""

    value: str
    words: str
    colour: str
    shape: str


OUTCOMES = (
    Outcome("infeasible", "Infeasible", theme.NEUTRAL, _CROSS),
    Outcome("incomplete", "Incomplete", theme.COLOURS[4], "square"),
    Outcome("not reached", "Goal not achieved", theme.COLOURS[1], "triangle-up"),
    Outcome("reached", "Goal achieved", theme.COLOURS[0], "circle"),
)
"""Those drawn first are below the others."""


def learning_rate_momentum_chart(
    series: Series, panel: Panel, *, outcomes: Collection[str] | None = None
) -> alt.LayerChart:
    """A mark for each trial at learning rate and 1 - momentum, and lines of equal effective learning rate.

    series: rows with learning_rate, momentum (null: none), outcome (of OUTCOMES) and, for a ring around it, is_best.
    outcomes: those that the legend names, where panels share it; default: those of the rows.
    Source: Shallue et al. 2019, figures 9 and 10.
    """
    rows = [row for row in map(_row, rows_of([series])) if row["rate"] > 0 and row["damping"] > 0]
    x_limits = panel.x_limits or decade_limits(row["rate"] for row in rows)
    y_limits = panel.y_limits or decade_limits(row["damping"] for row in rows)
    x = Scale("rate", x_limits, "Learning rate", base=10)
    y = Scale("damping", y_limits, "1 \u2212 momentum", base=10)
    named = {row["outcome"] for row in rows} if outcomes is None else set(outcomes)
    present = [each for each in OUTCOMES if each.value in named]
    names = [each.words for each in present]
    frame = Frame(replace(panel, legend="none"), x, y, [])
    colour = alt.Scale(domain=names, range=[each.colour for each in present])
    shape = alt.Scale(domain=names, range=[each.shape for each in present])
    key = legend(names, panel)
    marks = {
        **frame.place,
        "color": alt.Color("class:N", scale=colour, legend=key),
        "shape": alt.Shape("class:N", scale=shape, legend=key),
    }
    rows.sort(key=lambda row: names.index(row["class"]))
    points = rows_chart(rows).mark_point(
        size=32, filled=False, strokeWidth=1.4, opacity=1, strokeOpacity=0.9, clip=True
    )
    layers = [
        *_contours(x_limits, y_limits, frame),
        points.encode(**marks, tooltip=_TOOLTIP),
        rows_chart([row for row in rows if row.get("is_best")])
        .mark_point(shape="circle", size=150, filled=False, strokeWidth=1.8, color=theme.INK, opacity=1, clip=True)
        .encode(**frame.place),
    ]
    if not rows:
        layers.append(words("No trial has a learning rate.", panel))
    return layered([*layers, *frame.labels()], panel)


_TOOLTIP = [
    alt.Tooltip("class:N", title="Outcome"),
    alt.Tooltip("learning_rate:Q", title="Learning rate"),
    alt.Tooltip("momentum:Q", title="Momentum"),
    alt.Tooltip("steps:Q", title="Steps to target"),
    alt.Tooltip("trial_id:Q", title="Trial"),
]


def _row(row: Row) -> Row:
    names = {each.value: each.words for each in OUTCOMES}
    damping = 1 - row.get("momentum", 0.0)
    return row | {"rate": row.get("learning_rate", 0.0), "damping": damping, "class": names[row["outcome"]]}


def _contours(x: Limits, y: Limits, frame: Frame) -> list[alt.Chart]:
    """Lines on which learning_rate / (1 - momentum) is a power of ten, each with its value where it leaves the plot."""
    least, most = math.log10(x[0] / y[1]), math.log10(x[1] / y[0])
    first, last = math.ceil(least), math.floor(most)
    stride = max(1, math.ceil((last - first + 1) / _MOST_CONTOURS))
    rows = [
        {"power": power, "text": f"{10.0**power:g}", "rate": at, "damping": at / 10.0**power, "end": end}
        for power in range(first, last + 1, stride)
        for end, at in enumerate((max(x[0], y[0] * 10.0**power), min(x[1], y[1] * 10.0**power)))
    ]
    chart = rows_chart(rows)
    line = chart.mark_line(strokeWidth=1, color=theme.CONTOUR, clip=True).encode(**frame.place, detail="power:N")
    # A label near the left edge would lie on the axis.
    inner = x[0] ** (1 - _LABEL_ROOM) * x[1] ** _LABEL_ROOM
    label = rows_chart([row for row in rows if row["end"] and row["rate"] > inner]).mark_text(
        align="right", baseline="bottom", dx=-3, dy=10, fontSize=9, color=theme.FAINT
    )
    return [line, label.encode(**frame.place, text="text:N")]

"""Map of trials: learning rate, momentum and outcome of every trial; their steps where all have the same momentum."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import pyarrow as pa

from losslake.figures import theme
from losslake.figures.axes import Scale, decade_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, filter_rows, goal_text
from losslake.figures.frame import Frame, legend
from losslake.figures.layers import DECIMAL, TRIAL, Layer, Plot, category, layer, tip
from losslake.figures.outcomes import OUTCOMES
from losslake.figures.panel import ChartRow, Limits, Panel, Series, drawable_rows
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.workload_facts import workload_labels

_MOST_PANELS = 40
_MOST_CONTOURS = 8
_LABEL_ROOM = 0.12
_NEVER = "never"
# The share of the axis below the lane of trials that didn't reach the target.
_LANE = 0.88
_LANE_NOTE = "Above the line: trials that didn't reach the target."
_COLUMNS = ("batch_size", "learning_rate", "momentum", "outcome", "is_best", "steps", "status", "trial_id")
_TOOLTIP = [
    TRIAL,
    tip("class", "Outcome"),
    tip("status", "Status"),
    tip("learning_rate", "Learning rate", DECIMAL),
    tip("momentum", "Momentum"),
    tip("steps", "Steps to target"),
]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the learning rate, momentum and outcome of every trial, a plot for each batch size.

    Where no momentum differs, steps to the target are in its place. All plots have the same axes.
    """
    labels = workload_labels(request.facts["workloads"])
    rows = _with_best(request.rows)
    keys = list(dict.fromkeys(zip(rows["workload"].to_pylist(), rows["batch_size"].to_pylist(), strict=True)))
    if len(keys) > _MOST_PANELS:
        raise BadParameter("workload", f"{len(keys)} studies are too many for a figure: name fewer workloads")
    goal = goal_text(request.facts)
    # All panels have the same limits, which contain all trials.
    rates = [value for value in rows["learning_rate"].to_pylist() if value is not None]
    dampings = [1 - (value or 0.0) for value in rows["momentum"].to_pylist()]
    has_momentum = len({*dampings}) > 1
    chart = learning_rate_momentum_chart if has_momentum else learning_rate_chart
    y_limits = decade_limits(dampings) if has_momentum else _with_lane(rows["steps"].drop_null().to_pylist())
    grid = replace(request.grid(len(keys)), x_limits=decade_limits(rates), y_limits=y_limits)
    ring = "a ring marks the one with the fewest steps."
    contours = "Grey lines: equal learning rate / (1 \u2212 momentum)."
    notes = [f"{goal}, {labels.common}. One mark per trial; {ring}", contours if has_momentum else _LANE_NOTE]
    outcomes = set(rows["outcome"].to_pylist())
    charts = [
        chart(
            Series("", filter_rows(rows, workload=workload, batch_size=size), workload),
            replace(grid, title=f"Batch size {size}", subtitle=labels.short[workload]),
            outcomes=outcomes,
        )
        for workload, size in keys
    ]
    if not charts:
        panel = replace(request.panel(goal, labels.common, (), notes), links=None)
        charts = [chart(Series("", rows), panel)]
    return ChartPanels(charts, notes, shares_legend=True)


KIND = Kind("learning-rate-momentum", "/v1/analysis/metaparameter-map", draw)


def learning_rate_momentum_chart(series: Series, panel: Panel, *, outcomes: Collection[str] | None = None) -> Plot:
    """Return a mark for each trial at learning rate and 1 - momentum, and lines of equal effective learning rate.

    series: rows with learning_rate, momentum (null: none), outcome (of OUTCOMES) and, for a ring around it, is_best;
    for tooltips, steps, status and trial_id.
    outcomes: those in the legend, if panels share it; default: those of the rows.
    Source: Shallue et al. 2019, figures 9 and 10.
    """
    rows = [row for row in _rows(series) if row["damping"] > 0]
    x = Scale.over(rows, "rate", "Learning rate", panel.x_limits, base=10)
    y = Scale.over(rows, "damping", "1 \u2212 momentum", panel.y_limits, base=10)
    frame = Frame(panel, x, y, [])
    return _marks(series, rows, frame, _contours(frame), outcomes)


def learning_rate_chart(series: Series, panel: Panel, *, outcomes: Collection[str] | None = None) -> Plot:
    """Return a mark for each trial at learning rate and steps to the target; above a line, trials without.

    series, outcomes: as for learning_rate_momentum_chart.
    """
    rows = _rows(series)
    limits = panel.y_limits or _with_lane([row["steps"] for row in rows if row["steps"] != _NEVER])
    edge, lane = (limits[0] * (limits[1] / limits[0]) ** share for share in (_LANE, (1 + _LANE) / 2))
    rows = [{**row, "height": lane if row["steps"] == _NEVER else max(row["steps"], 1)} for row in rows]
    x = Scale.over(rows, "rate", "Learning rate", panel.x_limits, base=10)
    frame = Frame(panel, x, Scale("height", limits, "Steps to target", base=10), [])
    line = layer([{"height": edge}], "rule", {"y": frame.y}, color=theme.CONTOUR, tooltip=None)
    return _marks(series, rows, frame, [line], outcomes)


def _with_lane(steps: Sequence[int]) -> Limits:
    """Return limits around steps, with a lane above them for trials without."""
    low, high = decade_limits(max(each, 1) for each in steps)
    return low, low * (high / low) ** (1 / _LANE)


def _rows(series: Series) -> list[ChartRow]:
    """Return the trials that have a learning rate above 0."""
    return [row for row in map(_row, drawable_rows([series], _COLUMNS)) if row["rate"] > 0]


def _marks(
    series: Series, rows: list[ChartRow], frame: Frame, below: Sequence[Layer], outcomes: Collection[str] | None
) -> Plot:
    """Return the plot of a mark for each trial, with layers below them."""
    named = {row["outcome"] for row in rows} if outcomes is None else set(outcomes)
    present = [each for each in OUTCOMES if each.value in named]
    names = [each.words for each in present]
    colour = {"domain": names, "range": [each.colour for each in present]}
    shape = {"domain": names, "range": [each.shape for each in present]}
    key = legend(names, frame.panel)
    marks = {
        **frame.place,
        "color": category("class", scale=colour, legend=key),
        "shape": category("class", scale=shape, legend=key),
        "tooltip": _TOOLTIP,
    }
    rows.sort(key=lambda row: names.index(row["class"]))
    points = layer(
        rows, "point", marks, size=32, filled=False, strokeWidth=1.4, opacity=1, strokeOpacity=0.9, clip=True
    )
    best = [row for row in rows if row.get("is_best")]
    ring: dict[str, Any] = {"shape": "circle", "size": 150, "filled": False, "strokeWidth": 1.8, "color": theme.INK}
    layers = [
        *below,
        # Below the marks, so that the pointer hits the marks.
        layer(best, "point", frame.place, opacity=1, clip=True, **ring),
        points.linked(frame.panel.link_to("trials", [series])),
    ]
    return frame.plot(layers, "" if rows else "No trial has a learning rate.")


def _row(row: ChartRow) -> ChartRow:
    """Return the row with its position and the texts of its tooltip."""
    words = next(each.words for each in OUTCOMES if each.value == row["outcome"])
    shown = {"momentum": "none", "steps": _NEVER} | row
    return shown | {"rate": row.get("learning_rate", 0.0), "damping": 1 - row.get("momentum", 0.0), "class": words}


def _contours(frame: Frame) -> list[Layer]:
    """Return lines at which learning_rate / (1 - momentum) is a power of ten, with a label at their ends."""
    x, y = frame.x_axis.limits, frame.y_axis.limits
    least, most = math.log10(x[0] / y[1]), math.log10(x[1] / y[0])
    first, last = math.ceil(least), math.floor(most)
    stride = max(1, math.ceil((last - first + 1) / _MOST_CONTOURS))
    rows = [
        {"power": power, "text": f"{10.0**power:g}", "rate": at, "damping": at / 10.0**power, "end": end}
        for power in range(first, last + 1, stride)
        for end, at in enumerate((max(x[0], y[0] * 10.0**power), min(x[1], y[1] * 10.0**power)))
    ]
    apart = frame.place | {"detail": category("power")}
    line = layer(rows, "line", apart, strokeWidth=1, color=theme.CONTOUR, clip=True)
    # A label near the left edge would lie on the axis.
    inner = x[0] ** (1 - _LABEL_ROOM) * x[1] ** _LABEL_ROOM
    labelled = [row for row in rows if row["end"] and row["rate"] > inner]
    style: dict[str, Any] = {"align": "right", "baseline": "bottom", "fontSize": 9, "color": theme.FAINT}
    return [line, layer(labelled, "text", frame.place | {"text": category("text")}, dx=-3, dy=10, **style)]


def _with_best(rows: pa.Table) -> pa.Table:
    """Return the rows with is_best: the trial of each study with the fewest steps; ties go to the lower number."""
    best: dict[tuple[str, int], ChartRow] = {}
    drawn = rows.select(["workload", "batch_size", "steps", "trial_id", "outcome"]).to_pylist()
    for row in sorted((row for row in drawn if row["outcome"] == "reached"), key=itemgetter("steps", "trial_id")):
        best.setdefault((row["workload"], row["batch_size"]), row)
    flags = [row is best.get((row["workload"], row["batch_size"])) for row in drawn]
    return rows.append_column("is_best", pa.array(flags, pa.bool_()))

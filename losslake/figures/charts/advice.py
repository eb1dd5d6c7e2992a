"""Advice: time and cost to a target by batch size, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow.compute as pc

from losslake.analysis.measured_levels import stated
from losslake.figures.axes import Scale, log_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, goal_text, legend_labels, summary
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, DECIMAL, Layer, Plot, tip
from losslake.figures.panel import ChartRow, Panel, Series, drawable_rows
from losslake.questions.trials.batch_size_words import listed

_TITLES = {"seconds": "Seconds to target", "cost": "Cost to target"}


def draw(request: ChartRequest) -> ChartPanels:
    """Draw time and cost to a target by batch size, each with its interval."""
    common, series = request.series_by_workload()
    bars = f"bounds that each hold with {stated('advice bound')} probability, up to the edge where one isn't known"
    notes = [f"Points: the median of the best of new trials. Bars: {bars}; points without a bar have none."]
    if extrapolated := listed(request.rows.filter(request.rows["is_extrapolated"])["batch_size"].unique().to_pylist()):
        notes.append(f"Step times are extrapolated at batch size {extrapolated}.")
    shown = [name for name in _TITLES if pc.count(request.rows[name]).as_py()] or ["seconds"]
    if len(shown) == 1:
        title = f"{_TITLES[shown[0]].removesuffix(' to target')} to {goal_text(request.facts)}"
        panels = [request.panel(title, common, legend_labels(series), notes)]
    else:
        grid = replace(request.grid(len(shown)), subtitle=goal_text(request.facts))
        panels = [replace(grid, title=_TITLES[name]) for name in shown]
    charts = [advice_chart(series, panel, name) for name, panel in zip(shown, panels, strict=True)]
    return ChartPanels(charts, notes, shares_legend=True, summary=[*request.facts["advice"], *summary(series, _never)])


KIND = Kind("advice", "/v1/analysis/advice", draw)


def advice_chart(series: Sequence[Series], panel: Panel, name: str) -> Plot:
    """Return medians by batch size with bars from lower to upper.

    series: rows with batch_size, and with `name` (seconds or cost), its _lower and _upper; null where unknown.
    """
    lower, upper = f"{name}_lower", f"{name}_upper"
    rows = [row for row in drawable_rows(series, ("batch_size", name, lower, upper)) if row.get(name, 0) > 0]
    x = Scale.over(rows, "batch_size", panel.batch_title, panel.x_limits)
    ends = [row[field] for row in rows for field in (name, lower, upper) if row.get(field, 0) > 0]
    y = Scale(name, panel.y_limits or log_limits(ends, 10, 0.08), _TITLES[name], base=10)
    frame = Frame(panel, x, y, [one.label for one in series])
    tips = [BATCH_SIZE, tip(name, "Median", DECIMAL), tip(lower, "At least", DECIMAL), tip(upper, "At most", DECIMAL)]
    layers = [_bars(rows, frame, lower, upper), frame.lines(rows, 1.0), frame.points(rows, tips)]
    return frame.plot(layers, "" if rows else "No batch size has a known value.")


def _bars(rows: Sequence[ChartRow], frame: Frame, lower: str, upper: str) -> Layer:
    low, high = frame.y_axis.limits
    drawn = [
        row | {"from": max(row.get(lower, low), low), "to": min(row.get(upper, high), high)}
        for row in rows
        if lower in row or upper in row
    ]
    return frame.bars(drawn, "from", "to", 2.5, 0.5)


def _never(series: Series) -> str:
    """Return in words how many batch sizes have no median."""
    n_without = series.rows["seconds"].null_count
    return f"{n_without} batch sizes without a time" if n_without else ""

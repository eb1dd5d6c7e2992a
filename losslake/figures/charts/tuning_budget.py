"""Tuning budget: the steps that the best of n trials takes, against n."""

from __future__ import annotations

from collections.abc import Sequence

from losslake.figures.axes import Scale, log_limits
from losslake.figures.drawing import Drawing, Drawn, Kind, goal_text, where
from losslake.figures.frame import Frame
from losslake.figures.layers import COUNT, Plot, layer, tip
from losslake.figures.panel import Panel, Row, Series, rows_of

MOST_BANDS = 3
_POPULATION = "launched"
_QUANTILES = ("steps_q05", "steps_q50", "steps_q95")
_TOOLTIP = [
    tip("budget", "Trials", COUNT),
    tip("known_q05", "Steps, 5% quantile"),
    tip("steps_q50", "Steps, median", COUNT),
    tip("known_q95", "Steps, 95% quantile"),
]


def draw(drawing: Drawing) -> Drawn:
    """The steps to a target that the best of n trials takes, by n and batch size.

    A panel for each workload, a series for each batch size; of all trials launched, diverged ones included.
    """
    rows = where(drawing.rows, population=_POPULATION)
    sizes = sorted(set(rows["batch_size"].to_pylist()))
    names = [f"B = {size}" for size in sizes]
    explained = ["Points: median steps of the best of so many trials, of all launched, diverged ones included."]
    if len(sizes) <= MOST_BANDS:
        explained.append("Bands: 5% to 95% quantile.")
    charts = []
    for workload, panel in drawing.panels(f"What a search finds: {goal_text(drawing.facts)}", names, explained).items():
        own = where(rows, workload=workload)
        series = [Series(name, where(own, batch_size=size), workload) for name, size in zip(names, sizes, strict=True)]
        charts.append(tuning_budget_chart(series, panel))
    return Drawn(charts, explained, shares_legend=True)


KIND = Kind("tuning-budget", "/v1/analysis/tuning-budget", draw)


def tuning_budget_chart(series: Sequence[Series], panel: Panel) -> Plot:
    """Return the median of the best of n trials by n, a line for each series, which are in an order: batch sizes.

    series: rows with budget, steps_q50, steps_q05, steps_q95; null where the target is reached less often than that.
    For links to the studies, batch_size. Up to MOST_BANDS series have a band from the 5% to the 95% quantile.
    """
    columns = ("batch_size", "budget", *_QUANTILES)
    rows = [row for row in map(_row, rows_of(series, columns)) if row.get("steps_q50", 0) > 0]
    y_limits = panel.y_limits or log_limits(row[name] for row in rows for name in _QUANTILES if name in row)
    x = Scale.over(rows, "budget", "Tuning budget: trials", panel.x_limits)
    y = Scale("steps_q50", y_limits, "Steps to target")
    frame = Frame(panel, x, y, [one.label for one in series], is_ordered=True)
    has_bands = len(series) <= MOST_BANDS
    banded = [row for row in rows if has_bands and row.get("steps_q05") and row.get("steps_q95")]
    ends = frame.place | frame.colour | {"y": frame.y_of("steps_q05"), "y2": {"field": "steps_q95"}}
    layers = [
        layer(banded, "area", ends, opacity=1, fillOpacity=0.18, clip=True),
        frame.lines(rows),
        frame.points(rows, _TOOLTIP, size=26).linked(panel.to_studies(series)),
    ]
    return frame.plot(layers, "" if rows else "No search reaches the target half of the time.")


def _row(row: Row) -> Row:
    """Return the row with words where a quantile is not known."""
    return row | {f"known_{end}": row.get(f"steps_{end}", "not reached so often") for end in ("q05", "q95")}

"""Tuning budget: the steps to a target of the best of n trials, by n."""

from __future__ import annotations

from collections.abc import Sequence

from losslake.figures.axes import Scale, log_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, filter_rows, goal_text
from losslake.figures.frame import Frame
from losslake.figures.layers import COUNT, Plot, layer, tip
from losslake.figures.panel import ChartRow, Panel, Series, drawable_rows

MOST_BANDS = 3
_QUANTILES = ("steps_q05", "steps_q50", "steps_q95")
_TOOLTIP = [
    tip("budget", "Trials", COUNT),
    tip("known_q05", "Steps, 5% quantile"),
    tip("steps_q50", "Steps, median", COUNT),
    tip("known_q95", "Steps, 95% quantile"),
]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the steps to a target of the best of n trials, by n and batch size.

    A panel for each workload, a series for each batch size; from all launched trials, including diverged ones.
    """
    rows = filter_rows(request.rows, population="launched")
    sizes = sorted(set(rows["batch_size"].to_pylist()))
    names = [f"B = {size}" for size in sizes]
    notes = ["Points: median steps of the best of n trials, from all launched trials, including diverged ones."]
    if len(sizes) <= MOST_BANDS:
        notes.append("Bands: 5% to 95% quantile.")
    charts = []
    for workload, panel in request.panels(f"Steps by tuning budget: {goal_text(request.facts)}", names, notes).items():
        series = [
            Series(name, filter_rows(rows, workload=workload, batch_size=size), workload)
            for name, size in zip(names, sizes, strict=True)
        ]
        charts.append(tuning_budget_chart(series, panel))
    return ChartPanels(charts, notes, shares_legend=True)


KIND = Kind("tuning-budget", "/v1/analysis/tuning-budget", draw)


def tuning_budget_chart(series: Sequence[Series], panel: Panel) -> Plot:
    """Return the median steps of the best of n trials by n, a line for each series, ordered by batch size.

    series: rows with budget, steps_q50, steps_q05, steps_q95; null if the target is reached less often.
    For links to the studies, batch_size. Up to MOST_BANDS series have a band from the 5% to the 95% quantile.
    """
    columns = ("batch_size", "budget", *_QUANTILES)
    rows = [row for row in map(_row, drawable_rows(series, columns)) if row.get("steps_q50", 0) > 0]
    y_limits = panel.y_limits or log_limits(row[name] for row in rows for name in _QUANTILES if name in row)
    x = Scale.over(rows, "budget", "Tuning budget, trials", panel.x_limits)
    y = Scale("steps_q50", y_limits, "Steps to target", base=10)
    frame = Frame(panel, x, y, [one.label for one in series], is_ordered=True)
    has_bands = len(series) <= MOST_BANDS
    banded = [row for row in rows if has_bands and row.get("steps_q05") and row.get("steps_q95")]
    ends = frame.place | frame.colour | {"y": frame.y_of("steps_q05"), "y2": {"field": "steps_q95"}}
    layers = [
        layer(banded, "area", ends, opacity=1, fillOpacity=0.18, clip=True),
        frame.lines(rows),
        frame.points(rows, _TOOLTIP, size=26).linked(panel.link_to("studies", series)),
    ]
    return frame.plot(layers, "" if rows else "No search reaches the target half of the time.")


def _row(row: ChartRow) -> ChartRow:
    """Return the row with a text for each quantile that is not known."""
    return row | {f"known_{end}": row.get(f"steps_{end}", "not reached often enough") for end in ("q05", "q95")}

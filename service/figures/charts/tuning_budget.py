"""Tuning budget: the steps that the best of n trials takes, against n."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from service.figures.axes import log_limits
from service.figures.charts.frame import Frame, Scale
from service.figures.layers import layered, rows_chart, words
from service.figures.legend import colours
from service.figures.panel import Panel, Series, rows_of

MOST_BANDS = 3


def tuning_budget_chart(series: Sequence[Series], panel: Panel) -> alt.LayerChart:
    """The median of the best of n trials by n, a line for each series, which are in an order: batch sizes.

    series: rows with budget, steps_q50, steps_q05, steps_q95; null where the target is reached less often than that.
    Up to MOST_BANDS series have a band from the 5% to the 95% quantile.
    """
    rows = [row for row in rows_of(series) if row.get("steps_q50", 0) > 0]
    ends = [row[name] for row in rows for name in ("steps_q50", "steps_q05", "steps_q95") if row.get(name)]
    x_limits = panel.x_limits or log_limits(row["budget"] for row in rows)
    y_limits = panel.y_limits or log_limits(ends)
    x, y = Scale("budget", x_limits, "Tuning budget: trials"), Scale("steps_q50", y_limits, "Steps to target")
    labels = [one.label for one in series]
    frame = Frame(panel, x, y, labels)
    colour = colours(labels, panel, is_ordered=True)
    banded = [row for row in rows if row.get("steps_q05") and row.get("steps_q95")]
    band = rows_chart(banded if len(labels) <= MOST_BANDS else []).mark_area(opacity=1, fillOpacity=0.18, clip=True)
    layers = [
        band.encode(x=frame.x, y=frame.y_of("steps_q05"), y2="steps_q95:Q", color=colour),
        rows_chart(rows).mark_line(strokeWidth=1.6, clip=True).encode(**frame.place, color=colour),
        rows_chart(rows)
        .mark_point(size=26, filled=True, opacity=1, clip=True)
        .encode(**frame.place, color=colour, tooltip=_TOOLTIP),
    ]
    if not rows:
        layers.append(words("No search reaches the target half of the time.", panel))
    return layered([*layers, *frame.labels()], panel)


_TOOLTIP = [
    alt.Tooltip("series:N", title="Series"),
    alt.Tooltip("budget:Q", title="Trials"),
    alt.Tooltip("steps_q05:Q", title="Steps, 5% quantile"),
    alt.Tooltip("steps_q50:Q", title="Steps, median"),
    alt.Tooltip("steps_q95:Q", title="Steps, 95% quantile"),
]

"""Best: the best value of a metric against batch size."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from service.figures import theme
from service.figures.axes import linear_limits, log_limits
from service.figures.charts.frame import Frame, Scale
from service.figures.layers import layered, rows_chart, words
from service.figures.panel import Panel, Series, rows_of

_SMALL_POINT = 24


def best_chart(
    series: Sequence[Series], panel: Panel, *, y_title: str = "Best value", is_ordered: bool = False
) -> alt.LayerChart:
    """The best value by batch size, a line for each series.

    series: rows with batch_size and best_value. is_ordered: whether the series have an order, such as that of budgets,
    which their colours show.
    """
    rows = [row for row in rows_of(series) if "best_value" in row]
    x_limits = panel.x_limits or log_limits(row["batch_size"] for row in rows)
    y_limits = panel.y_limits or linear_limits(row["best_value"] for row in rows)
    x, y = Scale("batch_size", x_limits, "Batch size"), Scale("best_value", y_limits, y_title, base=None)
    frame = Frame(panel, x, y, [one.label for one in series], is_ordered)
    chart = rows_chart(rows).encode(**frame.place, **frame.colour)
    layers = [
        chart.mark_line(strokeWidth=1.6, clip=True),
        chart.mark_point(size=_SMALL_POINT if is_ordered else theme.POINT, filled=True, opacity=1, clip=True).encode(
            **frame.shape, tooltip=_TOOLTIP
        ),
    ]
    if not rows:
        layers.append(words("Nothing was measured within the budget.", panel))
    return layered([*layers, *frame.labels()], panel)


_TOOLTIP = [
    alt.Tooltip("series:N", title="Series"),
    alt.Tooltip("batch_size:Q", title="Batch size"),
    alt.Tooltip("best_value:Q", title="Best value"),
]

"""Curves: values of a metric against steps, a line for each trial."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from service.figures.axes import decade_limits, linear_limits
from service.figures.charts.frame import Frame, Scale
from service.figures.layers import layered, rows_chart, words
from service.figures.legend import colours
from service.figures.panel import Panel, Series, rows_of

_MOST_NAMED = 7
_ROOM_FOR_OUTLIERS = 3.0


def curves_chart(
    series: Sequence[Series], panel: Panel, *, y_title: str = "Value", is_log: bool = False, is_ordered: bool = False
) -> alt.LayerChart:
    """A line for each trial of each series, coloured by series.

    series: rows with step, value and line, which tells one line from another. is_log: steps on a logarithmic axis,
    where step 0 has no place. is_ordered: the series have an order, such as batch sizes, and colours that show it.
    Values that are not finite interrupt nothing and are not drawn.
    """
    rows = [row for row in rows_of(series) if "value" in row and (row["step"] > 0 or not is_log)]
    steps, values = [row["step"] for row in rows], [row["value"] for row in rows]
    x_limits = panel.x_limits or (decade_limits(steps) if is_log else linear_limits(steps, 0.02))
    y_limits = panel.y_limits or linear_limits(within_reason(values))
    x = Scale("step", x_limits, "Steps", base=10 if is_log else None)
    y = Scale("value", y_limits, y_title, base=None)
    labels = [one.label for one in series]
    frame = Frame(panel, x, y, labels)
    colour = colours(labels, panel, is_ordered)
    lines = len({row["line"] for row in rows})
    # Each line that is clipped is rendered by itself, which takes ten times as long.
    is_clipped = any(not (y_limits[0] <= value <= y_limits[1]) for value in values) or panel.x_limits is not None
    mark = rows_chart(rows).mark_line(
        strokeWidth=1.6 if lines <= _MOST_NAMED else 1.0,
        strokeOpacity=1 if lines <= _MOST_NAMED else 0.5,
        clip=is_clipped,
    )
    layers = [mark.encode(**frame.place, color=colour, detail="line:N")]
    if not rows:
        layers.append(words("Nothing was measured.", panel))
    return layered([*layers, *frame.labels()], panel)


def within_reason(values: Sequence[float]) -> list[float]:
    """The values without outliers, which would press all else together: those of trials that diverge."""
    if not values:
        return []
    low, high = np.quantile(values, [0.02, 0.98])
    room = _ROOM_FOR_OUTLIERS * (high - low)
    return [value for value in values if low - room <= value <= high + room]

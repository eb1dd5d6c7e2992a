"""Time against cost: how long training takes to a target, and how many examples, by batch size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from service.figures import theme
from service.figures.axes import decade_limits
from service.figures.charts.frame import Frame, Scale
from service.figures.layers import layered, rows_chart, words
from service.figures.panel import Panel, Series, rows_of


def time_cost_chart(series: Sequence[Series], panel: Panel, *, y_title: str = "Time to target, s") -> alt.LayerChart:
    """A point for each batch size at its cost in examples and its time, with its batch size beside it.

    series: rows with batch_size, cost, time, is_on_front: whether no other has less of one and no more of the other.
    Those that are on the front are filled and joined; the others are open.
    """
    rows = [row for row in rows_of(series) if row.get("cost", 0) > 0 and row.get("time", 0) > 0]
    x_limits = panel.x_limits or decade_limits(row["cost"] for row in rows)
    y_limits = panel.y_limits or decade_limits(row["time"] for row in rows)
    x, y = Scale("cost", x_limits, "Cost: examples to target", base=10), Scale("time", y_limits, y_title, base=10)
    frame = Frame(panel, x, y, [one.label for one in series])
    front = [row for row in rows if row.get("is_on_front")]
    others = [row for row in rows if not row.get("is_on_front")]
    marks = {**frame.place, **frame.colour, **frame.shape}
    style: dict[str, Any] = {"size": theme.POINT, "opacity": 1, "strokeWidth": 1.6, "clip": True}
    line = rows_chart(front).mark_line(strokeWidth=1.6, clip=True)
    name = rows_chart(rows).mark_text(align="left", dx=6, dy=-6, fontSize=9, color=theme.FAINT)
    layers = [
        line.encode(**frame.place, **frame.colour, order="cost:Q"),
        rows_chart(others).mark_point(filled=False, fill=theme.GROUND, **style).encode(**marks, tooltip=_TOOLTIP),
        rows_chart(front).mark_point(filled=True, **style).encode(**marks, tooltip=_TOOLTIP),
        name.encode(**frame.place, text="batch_size:N"),
    ]
    if not rows:
        layers.append(words("No batch size reached the target.", panel))
    return layered([*layers, *frame.labels()], panel)


_TOOLTIP = [
    alt.Tooltip("series:N", title="Series"),
    alt.Tooltip("batch_size:Q", title="Batch size"),
    alt.Tooltip("time:Q", title="Time"),
    alt.Tooltip("cost:Q", title="Examples"),
]

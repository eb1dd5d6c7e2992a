"""Time against cost: how long training takes to a target, and how many examples, by batch size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from losslake.figures import theme
from losslake.figures.axes import decade_limits
from losslake.figures.channels import COUNT, DECIMAL, category, quantity, told
from losslake.figures.charts.frame import Frame, Scale
from losslake.figures.layers import Plot, layer, layered, words
from losslake.figures.links import Links
from losslake.figures.panel import Panel, Series, rows_of


def time_cost_chart(
    series: Sequence[Series], panel: Panel, *, y_title: str = "Time to target, s", links: Links | None = None
) -> Plot:
    """A point for each batch size at its cost in examples and its time, with its batch size beside it.

    series: rows with batch_size, cost, time, is_on_front: whether no other has less of one and no more of the other;
    for tooltips and links to the trials, trial_id.
    Those that are on the front are filled and joined; the others are open.
    """
    rows = [row for row in rows_of(series, _COLUMNS) if row.get("cost", 0) > 0 and row.get("time", 0) > 0]
    x_limits = panel.x_limits or decade_limits(row["cost"] for row in rows)
    y_limits = panel.y_limits or decade_limits(row["time"] for row in rows)
    x, y = Scale("cost", x_limits, "Cost: examples to target", base=10), Scale("time", y_limits, y_title, base=10)
    frame = Frame(panel, x, y, [one.label for one in series])
    front = [row for row in rows if row.get("is_on_front")]
    others = [row for row in rows if not row.get("is_on_front")]
    marks = frame.place | frame.colour | frame.shape | frame.tooltip(_TOOLTIP)
    linked = links.to_trials(series) if links else None
    style: dict[str, Any] = {"size": theme.POINT, "opacity": 1, "strokeWidth": 1.6, "clip": True}
    joined = frame.place | frame.colour | {"order": quantity("cost")}
    named = frame.place | {"text": category("batch_size")}
    layers = [
        layer(front, "line", joined, strokeWidth=1.6, clip=True),
        layer(others, "point", marks, filled=False, fill=theme.GROUND, **style).linked(linked),
        layer(front, "point", marks, filled=True, **style).linked(linked),
        layer(rows, "text", named, align="left", dx=6, dy=-6, fontSize=9, color=theme.FAINT),
    ]
    if not rows:
        layers.append(words("No batch size reached the target.", panel))
    return layered([*layers, *frame.labels()], panel)


_COLUMNS = ("batch_size", "cost", "time", "is_on_front", "trial_id")
_TOOLTIP = [
    told("batch_size", "Batch size", COUNT),
    told("time", "Time", DECIMAL),
    told("cost", "Examples", COUNT),
    told("trial_id", "Trial"),
]

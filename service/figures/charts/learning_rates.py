"""Metaparameters: the best effective learning rate against batch size, with the two heuristics for scaling it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt

from service.figures import theme
from service.figures.axes import log_limits
from service.figures.charts.frame import Frame, Scale
from service.figures.layers import Row, layered, rows_chart, words
from service.figures.panel import Limits, Panel, Series, rows_of

HEURISTICS = (("Linear heuristic", 1.0, (6, 3)), ("Square-root heuristic", 0.5, (2, 2)))
"""Name, power of the batch size, and dashes of the line."""


def learning_rates_chart(series: Sequence[Series], panel: Panel, *, heuristics_of: str | None = None) -> alt.LayerChart:
    """The effective learning rate of the best trial by batch size; smaller and paler, those of near-optimal trials.

    series: rows with batch_size, effective_learning_rate, and rank, which is 1 for the best; without rank all are best.
    heuristics_of: the label of the series from whose first optimum on learning rates grow with the batch size, or with
    its square root: eta_0 B / B_0 and eta_0 sqrt(B / B_0) (Shallue et al. 2019, section 5.1); None: no lines.
    """
    rows = [row for row in rows_of(series) if row.get("effective_learning_rate", 0) > 0]
    best = [row for row in rows if row.get("rank", 1) == 1]
    near = [row for row in rows if row.get("rank", 1) != 1]
    x_limits = panel.x_limits or log_limits(row["batch_size"] for row in rows)
    y_limits = panel.y_limits or log_limits(row["effective_learning_rate"] for row in rows)
    x = Scale("batch_size", x_limits, "Batch size")
    y = Scale("effective_learning_rate", y_limits, "Effective learning rate")
    frame = Frame(panel, x, y, [one.label for one in series])
    marks = {**frame.place, **frame.colour, **frame.shape}
    layers = [
        *_heuristics([row for row in best if row["series"] == heuristics_of], x_limits, frame),
        rows_chart(near).mark_point(size=22, filled=True, opacity=1, fillOpacity=0.35, clip=True).encode(**marks),
        rows_chart(best).mark_line(strokeWidth=1.6, clip=True).encode(**frame.place, **frame.colour),
        rows_chart(best)
        .mark_point(size=theme.POINT, filled=True, opacity=1, clip=True)
        .encode(**marks, tooltip=_TOOLTIP),
    ]
    if not rows:
        layers.append(words("No trial with a learning rate reached the target.", panel))
    return layered([*layers, *frame.labels()], panel)


_TOOLTIP = [
    alt.Tooltip("series:N", title="Series"),
    alt.Tooltip("batch_size:Q", title="Batch size"),
    alt.Tooltip("effective_learning_rate:Q", title="Effective learning rate"),
    alt.Tooltip("steps:Q", title="Steps to target"),
]


def _heuristics(best: Sequence[Row], limits: Limits, frame: Frame) -> Iterator[alt.Chart]:
    """A line for each, from the first optimum to the right; its name stands at the line's start in the caption."""
    if not best:
        return
    first = min(best, key=lambda row: float(row["batch_size"]))
    start = float(first["batch_size"])
    for name, power, dashes in HEURISTICS:
        ends = [
            {"batch_size": size, "effective_learning_rate": first["effective_learning_rate"] * (size / start) ** power}
            for size in (start, limits[1])
        ]
        line = rows_chart([end | {"heuristic": name} for end in ends])
        yield line.mark_line(strokeDash=list(dashes), strokeWidth=1.3, color=theme.FAINT, clip=True).encode(
            **frame.place
        )

"""Metaparameters: the best effective learning rate against batch size, with the two heuristics for scaling it.

Draws the answer of /v1/metaparameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from losslake.figures import theme
from losslake.figures.axes import log_limits
from losslake.figures.channels import COUNT, DECIMAL, told
from losslake.figures.drawing import Drawing, Drawn, goal_text, names_of, series_by_workload
from losslake.figures.frame import Frame, Scale
from losslake.figures.layers import Layer, Links, Plot, Row, layer, layered, words
from losslake.figures.panel import Limits, Panel, Series, rows_of

HEURISTICS = (("Linear heuristic", 1.0, (6, 3)), ("Square-root heuristic", 0.5, (2, 2)))
"""Name, power of the batch size, and dashes of the line."""


def learning_rates_chart(
    series: Sequence[Series], panel: Panel, *, heuristics_of: str | None = None, links: Links | None = None
) -> Plot:
    """The effective learning rate of the best trial by batch size; smaller and paler, those of near-optimal trials.

    series: rows with batch_size, effective_learning_rate, and rank, which is 1 for the best; without rank all are best;
    for tooltips, steps and trial_id. links: to the trials.
    heuristics_of: the label of the series from whose first optimum on learning rates grow with the batch size, or with
    its square root: eta_0 B / B_0 and eta_0 sqrt(B / B_0) (Shallue et al. 2019, section 5.1); None: no lines.
    """
    rows = [row for row in rows_of(series, _COLUMNS) if row.get("effective_learning_rate", 0) > 0]
    best = [row for row in rows if row.get("rank", 1) == 1]
    near = [row for row in rows if row.get("rank", 1) != 1]
    x_limits = panel.x_limits or log_limits(row["batch_size"] for row in rows)
    y_limits = panel.y_limits or log_limits(row["effective_learning_rate"] for row in rows)
    x = Scale("batch_size", x_limits, "Batch size")
    y = Scale("effective_learning_rate", y_limits, "Effective learning rate")
    frame = Frame(panel, x, y, [one.label for one in series])
    marks = frame.place | frame.colour | frame.shape | frame.tooltip(_TOOLTIP)
    linked = links.to_trials(series) if links else None
    pale: dict[str, Any] = {"size": 22, "opacity": 1, "fillOpacity": 0.35}
    layers = [
        *_heuristics([row for row in best if row["series"] == heuristics_of], x_limits, frame),
        layer(near, "point", marks, filled=True, clip=True, **pale).linked(linked),
        layer(best, "line", frame.place | frame.colour, strokeWidth=1.6, clip=True),
        layer(best, "point", marks, size=theme.POINT, filled=True, opacity=1, clip=True).linked(linked),
    ]
    if not rows:
        layers.append(words("No trial with a learning rate reached the target.", panel))
    return layered([*layers, *frame.labels()], panel)


_COLUMNS = ("batch_size", "effective_learning_rate", "rank", "steps", "trial_id")
_TOOLTIP = [
    told("batch_size", "Batch size", COUNT),
    told("effective_learning_rate", "Effective learning rate", DECIMAL),
    told("steps", "Steps to target", COUNT),
    told("trial_id", "Trial"),
]


def _heuristics(best: Sequence[Row], limits: Limits, frame: Frame) -> Iterator[Layer]:
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
        rows = [end | {"heuristic": name} for end in ends]
        dashed: dict[str, Any] = {"strokeDash": list(dashes), "strokeWidth": 1.3, "color": theme.FAINT}
        yield layer(rows, "line", frame.place, clip=True, **dashed)


def draw(drawing: Drawing) -> Drawn:
    """The best effective learning rates by batch size, a series for each workload."""
    facts = drawing.facts
    common, series = series_by_workload(drawing)
    near = f"{facts['within']:.0%}"
    explained = [
        f"Points: learning rate / (1 \u2212 momentum) of the trial with the fewest steps; pale: others within {near}.",
        "Dashed: linear heuristic; dotted: square-root heuristic, both from the first optimum.",
    ]
    panel = drawing.panel(f"Best learning rates for {goal_text(facts)}", common, names_of(series), explained)
    return Drawn(
        [learning_rates_chart(series, panel, heuristics_of=series[0].label if series else None, links=drawing.links)],
        explained,
    )

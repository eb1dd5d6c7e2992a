"""Draws the answer of /v1/analysis/metaparameter-map."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from losslake.figures.axes import decade_limits
from losslake.figures.charts.learning_rate_momentum import learning_rate_momentum_chart
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.drawings.series import goal_text
from losslake.figures.layout import columns_of, grid_panels
from losslake.figures.panel import Panel, Series
from losslake.questions.errors import BadParameter
from losslake.questions.workload_facts import workload_labels

_MOST_PANELS = 40


def draw(drawing: Drawing) -> Drawn:
    """A panel for each workload and batch size, all with the same axes."""
    labels = workload_labels(drawing.facts["workloads"])
    rows = _with_best(drawing.rows)
    keys = list(dict.fromkeys(zip(rows["workload"].to_pylist(), rows["batch_size"].to_pylist(), strict=True)))
    if len(keys) > _MOST_PANELS:
        raise BadParameter("workload", f"{len(keys)} studies are too many for a figure: ask for fewer workloads")
    goal = goal_text(drawing.facts)
    explained = [
        f"{goal}, {labels.common}. A mark for each trial, a ring around the one with the fewest steps.",
        "Grey lines: equal learning rate / (1 \u2212 momentum).",
    ]
    grid = _with_limits(grid_panels(drawing.width, len(keys), drawing.height), rows)
    outcomes = set(rows["outcome"].to_pylist())
    charts = [
        learning_rate_momentum_chart(
            Series("", rows.filter(_is_of(rows, workload, size)), workload),
            replace(grid, title=f"Batch size {size}", subtitle=labels.own[workload]),
            outcomes=outcomes,
            links=drawing.links,
        )
        for workload, size in keys
    ]
    empty = [learning_rate_momentum_chart(Series("", rows), drawing.panel(goal, labels.common, (), explained))]
    return Drawn(charts or empty, explained, columns_of(drawing.width, len(charts)), shares_legend=True)


def _is_of(rows: pa.Table, workload: str, size: int) -> pa.ChunkedArray:
    return pc.and_(pc.equal(rows["workload"], workload), pc.equal(rows["batch_size"], size))


def _with_best(rows: pa.Table) -> pa.Table:
    """The rows with is_best: of each study the trial with the fewest steps, ties to the lower number."""
    found: dict[tuple[str, int], tuple[int, int, int]] = {}
    names = ("workload", "batch_size", "steps", "trial_id", "outcome")
    for place, (workload, size, steps, trial, outcome) in enumerate(
        zip(*(rows[name].to_pylist() for name in names), strict=True)
    ):
        if outcome == "reached":
            own = (steps, trial, place)
            found[workload, size] = min(found.get((workload, size), own), own)
    best = {place for _, _, place in found.values()}
    return rows.append_column("is_best", pa.array([place in best for place in range(rows.num_rows)], pa.bool_()))


def _with_limits(panel: Panel, rows: pa.Table) -> Panel:
    """The panel with limits that hold all trials."""
    rates = [value for value in rows["learning_rate"].to_pylist() if value is not None]
    dampings = [1 - (value or 0.0) for value in rows["momentum"].to_pylist()]
    return replace(panel, x_limits=decade_limits(rates), y_limits=decade_limits(dampings))

"""What other searches of half the size would have found: the luck in the best of so many trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from losslake.analysis.best_of_n import Range, range_of_best
from losslake.figures.drawing import Drawing
from losslake.figures.panel import Series
from losslake.questions.populations import DIVERGED, NON_DIVERGENT, populations

EXPLAINED = "Thin bars: 5% to 95% range of the best of half as many trials."


def with_other_searches(drawing: Drawing, series: Sequence[Series]) -> tuple[list[Series], bool]:
    """The series with low_steps and high_steps, null where half the trials reach the target too seldom; whether any is.

    The same as /v1/analysis/tuning-budget says. Trials that diverged are no part of a search here: with their status,
    there are no such columns.
    """
    parameters = drawing.parameters
    if DIVERGED in parameters.status:
        return list(series), False
    ranges = {}
    for workload in parameters.selection().workloads:
        for study in populations(drawing.view, parameters.selection(), parameters.goal(), workload, (NON_DIVERGENT,)):
            ranges[str(workload), study.batch_size] = range_of_best(study.steps, len(study.steps) // 2)
    drawn = [replace(one, rows=_with_ranges(one.rows, ranges)) for one in series]
    return drawn, any(one.rows["low_steps"].null_count < one.rows.num_rows for one in drawn)


def _with_ranges(rows: pa.Table, ranges: Mapping[tuple[str, int], Range | None]) -> pa.Table:
    own = [ranges[key] for key in zip(rows["workload"].to_pylist(), rows["batch_size"].to_pylist(), strict=True)]
    ends = [(None, None) if each is None or each.upper is None else (each.lower, each.upper) for each in own]
    for place, column in enumerate(("low_steps", "high_steps")):
        rows = rows.append_column(column, pa.array([pair[place] for pair in ends], pa.float64()).cast(pa.int64()))
    return rows

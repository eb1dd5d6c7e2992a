"""What other searches of half the size would have found: the luck in the best of so many trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from service.answers.analysis.populations import DIVERGED, NON_DIVERGENT
from service.answers.analysis.tuning_budget import tuning_budget
from service.figures.drawing import Drawing
from service.figures.panel import Series

EXPLAINED = "Thin bars: 5% to 95% range of the best of half as many trials."


def with_other_searches(drawing: Drawing, series: Sequence[Series]) -> tuple[list[Series], bool]:
    """The series with low_steps and high_steps, null where half the trials reach the target too seldom; whether any is.

    Of /v1/analysis/tuning-budget. Trials that diverged are no part of a search here: without their status, all null.
    """
    parameters = drawing.parameters
    if DIVERGED in parameters.status:
        return list(series), False
    found = tuning_budget(drawing.view, parameters.selection(), parameters.goal()).facts["searches"]
    ranges = {(each["workload"], each["batch_size"]): each for each in found if each["population"] == NON_DIVERGENT}
    drawn = [Series(one.label, _with_ranges(one.rows, ranges)) for one in series]
    return drawn, any(one.rows["low_steps"].null_count < one.rows.num_rows for one in drawn)


def _with_ranges(rows: pa.Table, ranges: dict[tuple[str, int], dict[str, Any]]) -> pa.Table:
    keys = list(zip(rows["workload"].to_pylist(), rows["batch_size"].to_pylist(), strict=True))
    is_known = [ranges[key]["half_lower"] is not None and ranges[key]["half_upper"] is not None for key in keys]
    for column, name in (("low_steps", "half_lower"), ("high_steps", "half_upper")):
        values = [ranges[key][name] if known else None for key, known in zip(keys, is_known, strict=True)]
        rows = rows.append_column(column, pa.array(values, pa.int64()))
    return rows

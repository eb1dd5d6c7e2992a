"""The step metric of each metric, as `define_metric` stated it, and the rows by it.

A project's config has the definitions as `_wandb.m`: a list of MetricRecord messages, as objects with field numbers.
A definition by name takes precedence over those by pattern, even if it has no step metric; patterns are in no order.
wandb adds the step metric to every row that has the metric, unless step_sync is off.
Sources: https://docs.wandb.ai/ref/python/experiments/run#define_metric; MetricRecord in
https://github.com/wandb/wandb/blob/main/wandb/proto/wandb_internal.proto; precedence: observed with wandb 0.31.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from losslake_ingest.contracts.run_log import LoggedRows

STEP, RUNTIME = "_step", "_runtime"
SEVERAL = "a metric to which several patterns of define_metric give different steps: left out"
_NAME, _GLOB, _STEP_NAME, _STEP_INDEX = "1", "2", "4", "5"
_MOST_RECORDS = 10_000


def rows_by_axis(
    rows: Sequence[LoggedRows], defined: object, remarks: Counter[str]
) -> Iterator[tuple[str, LoggedRows]]:
    """Yield rows with the column that is the axis of all their metrics, `_step` first.

    Rows by `_step` have every column without a step metric, so step metrics as well; others have their step metric
    and the seconds, and no `_step`. defined: `_wandb.m`. remarks: counts metrics without a known step.
    """
    records = [each for each in defined[:_MOST_RECORDS] if isinstance(each, dict)] if isinstance(defined, list) else []
    axes: dict[str, list[str]] = {STEP: []}
    for name in dict.fromkeys(name for each in rows for name in each.columns if not name.startswith("_")):
        steps = step_metrics(name, records) or [STEP]
        if len(steps) > 1:
            # The step that wandb chose is in every row of the metric.
            steps = [step for step in steps if all(_has_both(each, name, step) for each in rows)]
        if len(steps) == 1:
            axes.setdefault(steps[0], []).append(name)
        else:
            remarks[SEVERAL] += 1
    for axis, metrics in axes.items():
        for each in rows:
            present = [name for name in metrics if name in each.columns]
            if present:
                yield axis, _measured(each, {*present, axis, RUNTIME}, present)


def step_metrics(name: str, records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the step metrics that some definitions give a metric; more than one only if patterns disagree."""
    exact = next((record for record in records if record.get(_NAME) == name), None)
    fitting = [exact] if exact is not None else [record for record in records if _fits(name, record.get(_GLOB))]
    steps = dict.fromkeys(_step_of(record, records) for record in fitting)
    return [step for step in steps if step is not None and step not in (name, STEP)]


def _fits(name: str, glob: object) -> bool:
    return isinstance(glob, str) and glob.endswith("*") and name.startswith(glob[:-1])


def _step_of(record: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the step metric of a definition: its name, or that of the definition with its number, from 1."""
    step, number = record.get(_STEP_NAME), record.get(_STEP_INDEX)
    if isinstance(number, int) and 0 < number <= len(records):
        step = records[number - 1].get(_NAME)
    return step if isinstance(step, str) and step else None


def _has_both(rows: LoggedRows, name: str, step: str) -> bool:
    """Return True if every row with the metric has the step."""
    if name not in rows.columns:
        return True
    return step in rows.columns and bool((rows.known(step) | ~rows.known(name)).all())


def _measured(rows: LoggedRows, kept: set[str], metrics: Sequence[str]) -> LoggedRows:
    """Return some columns of the rows in which at least one of the metrics has a value."""
    is_measured = np.any([rows.known(name) for name in metrics], axis=0)
    columns = {name: values for name, values in rows.columns.items() if name in kept}
    missing = {name: flags for name, flags in rows.missing.items() if name in kept}
    return LoggedRows(columns, missing).at(np.flatnonzero(is_measured))

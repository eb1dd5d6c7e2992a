"""How the curves of chosen trials ended, and their test values where validation was best: read from measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from losslake.analysis.quality import Ending, ending
from losslake.index.study_files import measurements
from losslake.questions.release_view import ReleaseView
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.reached import NEVER, Floats, Integers

_VALIDATION, _TEST = "val/", "test/"


@dataclass(frozen=True)
class Endings:
    """By study: the last value, the median of the last five, and the test value at the step asked; None for none."""

    last: Sequence[float | None]
    median: Sequence[float | None]
    test: Sequence[float | None]


@dataclass(frozen=True)
class _Curve:
    step: Integers
    value: Floats


_NO_CURVE = _Curve(np.empty(0, np.int64), np.empty(0))


def endings(
    view: ReleaseView, facts: WorkloadFacts, metric: str, trials: Integers, steps: Integers, limits: Integers
) -> list[Endings]:
    """The end of one trial's curve by budget and study, as far as its limit; each file is read once for all budgets.

    trials: rows in facts.trials, NEVER for none. steps: at which its test value is wanted. limits: last step,
    inclusive. All three: budgets by studies. The test value is that of the metric of the same name of the split
    `test`: validation selects, test reports.
    """
    columns = [
        _of_study(view, facts, study, metric, _numbers(facts, trials[:, study]), steps[:, study], limits[:, study])
        for study in range(trials.shape[1])
    ]
    by_budget = zip(*columns, strict=True)
    return [
        Endings([end.last for end, _ in row], [end.median for end, _ in row], [tested for _, tested in row])
        for row in by_budget
    ]


def _numbers(facts: WorkloadFacts, rows: Integers) -> list[int | None]:
    return [int(facts.trials.trial_id[row]) if row != NEVER else None for row in rows.tolist()]


def _of_study(
    view: ReleaseView,
    facts: WorkloadFacts,
    study: int,
    metric: str,
    trials: Sequence[int | None],
    steps: Integers,
    limits: Integers,
) -> list[tuple[Ending, float | None]]:
    """By budget, the end of the trial's curve, and its test value."""
    chosen = sorted({trial for trial in trials if trial is not None})
    tests = metric.replace(_VALIDATION, _TEST, 1)
    has_test = metric.startswith(_VALIDATION) and tests in facts.metrics[study]
    curves = _curves(view, facts, study, metric, chosen)
    tested = _curves(view, facts, study, tests, chosen if has_test else [])
    found: list[tuple[Ending, float | None]] = []
    for trial, step, limit in zip(trials, steps.tolist(), limits.tolist(), strict=True):
        curve = curves.get(trial, _NO_CURVE)
        test = tested.get(trial, _NO_CURVE)
        value = test.value[test.step == step]
        is_known = len(value) > 0 and math.isfinite(value[0])
        found.append((ending(curve.value[curve.step <= limit]), float(value[0]) if is_known else None))
    return found


def _curves(
    view: ReleaseView, facts: WorkloadFacts, study: int, metric: str, trials: Sequence[int]
) -> Mapping[int | None, _Curve]:
    """By trial, its evaluations by ascending step."""
    files = view.measurement_files(facts, study)
    parts = list(measurements(view.store, files, metric, trials)) if trials else []
    if not parts:
        return {}
    rows = pa.concat_tables(parts)
    numbers, steps, values = (rows[name].to_numpy() for name in ("trial_id", "step", "value"))
    found: dict[int | None, _Curve] = {}
    for trial in trials:
        is_own = numbers == trial
        found[trial] = _Curve(steps[is_own], values[is_own])
    return found

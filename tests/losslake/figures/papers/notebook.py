"""What the paper's published scripts compute, in plain Python over the trials of an archive: METHODS 1.1.

Tables are lists of (batch_size, trial_id, step, value) as pandas would hold them, functions are named like theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tests.losslake.figures.papers.synthetic_archive import Trial, Workload

Measurement = tuple[int, int, int, float]


def load_workload(
    workload: Workload, num_trials: int | None = None, statuses: Sequence[str] = ("COMPLETE",)
) -> list[Trial]:
    """Of each study the first so many trials, in the order of batch size and number."""
    found: list[Trial] = []
    for batch_size in sorted({trial.batch_size for trial in workload.trials}):
        own = [trial for trial in workload.trials if trial.batch_size == batch_size and trial.status in statuses]
        found += sorted(own, key=lambda trial: trial.trial_id)[:num_trials]
    return found


def table(trials: Iterable[Trial]) -> list[Measurement]:
    return [(trial.batch_size, trial.trial_id, step, value) for trial in trials for step, value in trial.curve]


def apply_step_budget(rows: Iterable[Measurement], budget: float) -> list[Measurement]:
    return [row for row in rows if row[2] <= budget]


def apply_example_budget(rows: Iterable[Measurement], budget: float) -> list[Measurement]:
    return [row for row in rows if row[0] * row[2] <= budget]


def compute_steps_to_result(
    rows: Sequence[Measurement], goal: float, maximize: bool = False
) -> dict[int, tuple[int, int, float]]:
    """By batch size that has any: steps, trial and value of the first row, by step and then trial, beyond the goal."""
    found: dict[int, tuple[int, int, float]] = {}
    for batch_size, trial_id, step, value in sorted(rows, key=lambda row: (row[0], row[2], row[1])):
        if (value > goal if maximize else value < goal) and batch_size not in found:
            found[batch_size] = (step, trial_id, value)
    return found


def get_best_measurement(rows: Sequence[Measurement], maximize: bool = False) -> dict[int, float]:
    """By batch size, the best value."""
    found: dict[int, float] = {}
    for batch_size, _, _, value in rows:
        if not math.isnan(value):
            best = found.get(batch_size, value)
            found[batch_size] = max(best, value) if maximize else min(best, value)
    return found


def normalized(results: dict[int, tuple[int, int, float]], batch_size: int) -> dict[int, float]:
    return {size: found[0] / results[batch_size][0] for size, found in results.items()}

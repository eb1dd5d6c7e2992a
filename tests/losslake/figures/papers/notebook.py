"""The computations of the paper's published scripts in plain Python: METHODS 1.1.

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
    """Return the first `num_trials` trials of each study, ordered by batch size and number."""
    trials: list[Trial] = []
    for batch_size in sorted({trial.batch_size for trial in workload.trials}):
        of_study = [trial for trial in workload.trials if trial.batch_size == batch_size and trial.status in statuses]
        trials += sorted(of_study, key=lambda trial: trial.trial_id)[:num_trials]
    return trials


def table(trials: Iterable[Trial]) -> list[Measurement]:
    return [(trial.batch_size, trial.trial_id, step, value) for trial in trials for step, value in trial.curve]


def apply_step_budget(rows: Iterable[Measurement], budget: float) -> list[Measurement]:
    return [row for row in rows if row[2] <= budget]


def apply_example_budget(rows: Iterable[Measurement], budget: float) -> list[Measurement]:
    return [row for row in rows if row[0] * row[2] <= budget]


def compute_steps_to_result(
    rows: Sequence[Measurement], goal: float, maximize: bool = False
) -> dict[int, tuple[int, int, float]]:
    """Return steps, trial and value of the first row beyond the goal, by batch size; ordered by step, then trial."""
    results: dict[int, tuple[int, int, float]] = {}
    for batch_size, trial_id, step, value in sorted(rows, key=lambda row: (row[0], row[2], row[1])):
        if (value > goal if maximize else value < goal) and batch_size not in results:
            results[batch_size] = (step, trial_id, value)
    return results


def get_best_measurement(rows: Sequence[Measurement], maximize: bool = False) -> dict[int, float]:
    """Return the best value by batch size."""
    best_values: dict[int, float] = {}
    for batch_size, _, _, value in rows:
        if not math.isnan(value):
            best = best_values.get(batch_size, value)
            best_values[batch_size] = max(best, value) if maximize else min(best, value)
    return best_values


def normalized(results: dict[int, tuple[int, int, float]], batch_size: int) -> dict[int, float]:
    return {size: result[0] / results[batch_size][0] for size, result in results.items()}

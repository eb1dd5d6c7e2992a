"""Scaling: how many steps the best trial takes to a target, by batch size; for one target or a whole grid of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from schema.names import LARGEST_INTEGER
from service.analysis.crossings import Comparator
from service.answers.facts import facts_of
from service.answers.goal import Goal
from service.answers.search import NEVER, Floats, Search, at, search
from service.answers.selection import Selection
from service.errors import BadParameter
from service.release_view import ReleaseView
from service.tabular.answer import Answer, begun
from service.tabular.column import row_shape
from service.workload_facts import Integers

SCALING = row_shape(
    "scaling", "workload", "batch_size", "steps", "trial_id", "value", "examples", "previous_step", "n_trials",
    "n_reached", "best_value", "perfect_scaling_steps", "normalized_steps",
)  # fmt: skip
TARGETS = row_shape(
    "targets", "workload", "target", "batch_size", "steps", "trial_id", "value", "examples", "previous_step",
    "n_trials", "n_reached",
)  # fmt: skip
MOST_TARGETS = 1000


@dataclass(frozen=True)
class StudyResults:
    """By study of a workload: the trial with the fewest steps to a target.

    row: its row in facts.trials; NEVER where no trial reached the target, and then the others mean nothing.
    """

    row: Integers
    steps: Integers
    value: Floats
    previous_step: Integers
    n_reached: Integers

    @property
    def reached(self) -> list[bool]:
        found: list[bool] = (self.row != NEVER).tolist()
        return found


def study_results(found: Search, goal: Goal) -> StudyResults:
    """Search a workload for a goal."""
    hits = found.first_hits(goal)
    rows = found.fewest_steps(hits)
    first, records = at(hits, rows), found.records
    return StudyResults(
        row=rows,
        steps=at(records.step, first),
        value=at(records.value, first),
        previous_step=at(records.previous_step, first),
        n_reached=found.facts.sums_by_study(hits != NEVER),
    )


def scaling(view: ReleaseView, selection: Selection, goal: Goal, normalize_to: int | None = None) -> Answer:
    """Steps to result by workload and batch size; raises UnknownName and BadParameter.

    normalize_to: the batch size from which perfect scaling starts, and at which normalized_steps is 1. Default: the
    smallest with a result, without normalized_steps.
    """
    searches = [search(view, selection, workload) for workload in selection.workloads]
    _check_batch_size(searches, normalize_to)
    batches = [_scaling_rows(found, study_results(found, goal), normalize_to) for found in searches]
    facts = facts_of(view, selection, searches[0].direction) | goal.facts() | {"normalize_to": normalize_to}
    return Answer(facts, SCALING.schema, iter(batches))


def targets(
    view: ReleaseView, selection: Selection, grid: Sequence[float], comparator: Comparator = "strict"
) -> Answer:
    """Steps to result by workload, target in the order given, and batch size; raises UnknownName and BadParameter."""
    if not 1 <= len(grid) <= MOST_TARGETS:
        raise BadParameter("target", f"there are {len(grid):,} targets: give 1 to {MOST_TARGETS:,}")
    goals = [Goal(target, comparator) for target in grid]
    searches = [search(view, selection, workload) for workload in selection.workloads]
    facts = facts_of(view, selection, searches[0].direction) | {"comparator": comparator}
    rows = (_target_rows(found, study_results(found, goal), goal.target) for found in searches for goal in goals)
    return Answer(facts, TARGETS.schema, begun(rows))


def target_grid(lowest: float, highest: float, count: int, is_log: bool) -> list[float]:
    """So many targets from lowest to highest, both included, evenly or by even ratios; raises BadParameter."""
    if not np.isfinite([lowest, highest]).all() or lowest > highest:
        raise BadParameter("target_min", "give finite target_min and target_max, the lower one first")
    if is_log and lowest <= 0:
        raise BadParameter("spacing", "spacing=log needs targets above 0: give another target_min, or spacing=linear")
    if not 1 <= count <= MOST_TARGETS:
        raise BadParameter("n_targets", f"n_targets is {count:,}: give 1 to {MOST_TARGETS:,}")
    grid = np.geomspace(lowest, highest, count) if is_log else np.linspace(lowest, highest, count)
    return [float(target) for target in grid]


def _check_batch_size(searches: Sequence[Search], batch_size: int | None) -> None:
    known = sorted({size for found in searches for size in found.facts.batch_sizes})
    if batch_size is not None and batch_size not in known:
        listed = ", ".join(map(str, known))
        raise BadParameter("normalize_to", f"normalize_to={batch_size} is no batch size here: give one of {listed}")


def _common_columns(found: Search, results: StudyResults) -> dict[str, list[object]]:
    sizes = found.facts.batch_sizes
    reached = results.reached
    trial_ids = at(found.facts.trials.trial_id, results.row).tolist()
    steps: list[int] = results.steps.tolist()
    previous: list[int] = results.previous_step.tolist()

    def where_reached(values: Sequence[object]) -> list[object]:
        return [value if is_reached else None for value, is_reached in zip(values, reached, strict=True)]

    return {
        "workload": [str(found.facts.workload)] * len(sizes),
        "batch_size": list(sizes),
        "steps": where_reached(steps),
        "trial_id": where_reached(trial_ids),
        "value": where_reached(results.value.tolist()),
        "examples": where_reached([examples_of(s, size) for s, size in zip(steps, sizes, strict=True)]),
        "previous_step": where_reached([step if step >= 0 else None for step in previous]),
        "n_trials": found.n_admitted.tolist(),
        "n_reached": results.n_reached.tolist(),
    }


def examples_of(steps: int, batch_size: int) -> int | None:
    """How many examples so many steps take; None where that exceeds 64 bits."""
    examples = steps * batch_size
    return examples if examples <= LARGEST_INTEGER else None


def _scaling_rows(found: Search, results: StudyResults, normalize_to: int | None) -> pa.RecordBatch:
    sizes, steps = found.facts.batch_sizes, results.steps.tolist()
    known = [
        (size, own)
        for size, own, is_reached in zip(sizes, steps, results.reached, strict=True)
        if is_reached and normalize_to in (None, size)
    ]
    base = known[0] if known else None
    best_rows = found.best_trials()
    best: list[float] = at(found.records.value, at(found.best_records, best_rows)).tolist()
    columns = _common_columns(found, results) | {
        "best_value": [own if row != NEVER else None for own, row in zip(best, best_rows.tolist(), strict=True)],
        "perfect_scaling_steps": [base[1] * base[0] / size if base and size else None for size in sizes],
        "normalized_steps": [
            own / base[1] if base and base[1] and normalize_to is not None and is_reached else None
            for own, is_reached in zip(steps, results.reached, strict=True)
        ],
    }
    return _batch(columns, SCALING.schema)


def _target_rows(found: Search, results: StudyResults, target: float) -> pa.RecordBatch:
    columns = _common_columns(found, results) | {"target": [target] * len(results.row)}
    return _batch(columns, TARGETS.schema)


def _batch(columns: dict[str, list[object]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(columns[f.name], f.type) for f in schema], schema=schema)

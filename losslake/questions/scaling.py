"""Scaling: how many steps the best trial takes to a target, by batch size; for one target or a whole grid of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from losslake.analysis.crossings import resolution
from losslake.output.answer import Answer, begun, row_shape
from losslake.questions.confirmation import FIRST, Crossing, confirmed
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at, facts_of, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.study_results import FewestSteps, StudyResults, study_bests, study_results
from losslake.questions.wording import coarse_studies
from losslake_schema.names import LARGEST_INTEGER
from losslake_schema.reached import NEVER, Comparator, Flags, Integers

SCALING = row_shape(
    "scaling", "workload", "batch_size", "steps", "trial_id", "value", "examples", "previous_step", "n_trials",
    "n_reached", "best_value", "perfect_scaling_steps", "normalized_steps", "resolution", "censored_at", "gap",
    "runner_up_steps", "runner_up_ratio", "confirmed_steps", "confirmed_trial_id", "confirmed_previous_step",
    "n_confirmed",
)  # fmt: skip
TARGETS = row_shape(
    "targets", "workload", "target", "batch_size", "steps", "trial_id", "value", "examples", "previous_step",
    "n_trials", "n_reached",
)  # fmt: skip
MOST_TARGETS = 1000
Columns = dict[str, pa.Array]


def _confirmed(view: ReleaseView, found: Search, goal: Goal, crossing: Crossing) -> FewestSteps:
    crossings = confirmed(view, found, goal, crossing, found.first_hits(goal))
    is_crossed = crossings.steps != NEVER
    rows = found.facts.first_least_by_study(is_crossed, crossings.steps)
    return FewestSteps(
        row=rows,
        steps=at(crossings.steps, rows),
        previous_step=at(crossings.previous_steps, rows),
        n_reached=found.facts.sums_by_study(is_crossed),
    )


def scaling(
    view: ReleaseView,
    selection: Selection,
    goal: Goal,
    normalize_to: int | None = None,
    crossing: Crossing = FIRST,
) -> Answer:
    """Steps to result by workload and batch size; raises UnknownName and BadParameter.

    normalize_to: the batch size from which perfect scaling starts, and at which normalized_steps is 1. Default: the
    smallest with a result, without normalized_steps. crossing: which hit the columns `confirmed_…` are about.
    """
    searches = [search(view, selection, workload) for workload in selection.workloads]
    _check_batch_size(searches, normalize_to)
    batches, warnings = [], []
    for found in searches:
        results = study_results(found, goal)
        crossed = results if crossing == FIRST else _confirmed(view, found, goal, crossing)
        batches.append(_scaling_rows(found, results, crossed, goal, normalize_to))
        warnings += coarse_studies(found, results.row != NEVER, results.steps, results.previous_step)
    facts = facts_of(view, selection, searches[0].direction) | goal.facts() | crossing.facts()
    return Answer(facts | {"normalize_to": normalize_to, "warnings": warnings}, SCALING.schema, iter(batches))


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


def _common_columns(found: Search, results: StudyResults) -> Columns:
    sizes, never = found.facts.batch_sizes, results.row == NEVER
    rows: list[int] = results.row.tolist()
    steps: list[int] = results.steps.tolist()
    examples = [
        examples_of(own, size) if row != NEVER else None for row, own, size in zip(rows, steps, sizes, strict=True)
    ]
    return {
        "workload": pa.repeat(str(found.facts.workload), len(sizes)),
        "batch_size": pa.array(sizes, pa.int64()),
        "steps": pa.array(results.steps, mask=never),
        "trial_id": pa.array(at(found.facts.trials.trial_id, results.row), mask=never),
        "value": pa.array(results.value, mask=never),
        "examples": pa.array(examples, pa.int64()),
        "previous_step": _steps_where(results.previous_step, ~never),
        "n_trials": pa.array(found.n_admitted),
        "n_reached": pa.array(results.n_reached),
    }


def examples_of(steps: int, batch_size: int) -> int | None:
    """How many examples so many steps take; None where that exceeds 64 bits."""
    examples = steps * batch_size
    return examples if examples <= LARGEST_INTEGER else None


def _scaling_rows(
    found: Search, results: StudyResults, crossed: FewestSteps, goal: Goal, normalize_to: int | None
) -> pa.RecordBatch:
    never = results.row == NEVER
    bests = study_bests(found)
    columns = _common_columns(found, results)
    columns["best_value"] = pa.array(bests.value, mask=bests.row == NEVER)
    columns |= _ideal_columns(found, results, normalize_to)
    with np.errstate(over="ignore"):
        gap = (bests.value - goal.target) * found.sign
    columns["gap"] = pa.array(gap, mask=~never | (bests.row == NEVER) | np.isinf(gap))
    columns |= _certainty_columns(found, results)
    return _batch(columns | _confirmed_columns(found, crossed), SCALING.schema)


def _ideal_columns(found: Search, results: StudyResults, normalize_to: int | None) -> Columns:
    """The steps relative to perfect scaling from the first batch size with a result, or from the one asked for."""
    sizes, steps, reached = found.facts.batch_sizes, results.steps.tolist(), (results.row != NEVER).tolist()
    known = [
        (size, own)
        for size, own, is_reached in zip(sizes, steps, reached, strict=True)
        if is_reached and normalize_to in (None, size)
    ]
    base = known[0] if known else None
    perfect = [base[1] * base[0] / size if base and size else None for size in sizes]
    normalized = [
        own / base[1] if base and base[1] and normalize_to is not None and is_reached else None
        for own, is_reached in zip(steps, reached, strict=True)
    ]
    numbers = pa.float64()
    return {"perfect_scaling_steps": pa.array(perfect, numbers), "normalized_steps": pa.array(normalized, numbers)}


def _certainty_columns(found: Search, results: StudyResults) -> Columns:
    """How well the steps are known, and up to where there are none."""
    reached, other = results.row != NEVER, results.runner_up
    relative = resolution(results.steps, results.previous_step)
    is_ratio = (other != NEVER) & (results.steps > 0)
    return {
        "resolution": pa.array(relative, mask=~reached | np.isinf(relative)),
        "censored_at": _steps_where(found.last_steps, ~reached),
        "runner_up_steps": _steps_where(other, reached),
        "runner_up_ratio": pa.array(other / np.where(is_ratio, results.steps, 1), mask=~is_ratio),
    }


def _confirmed_columns(found: Search, crossed: FewestSteps) -> Columns:
    never = crossed.row == NEVER
    return {
        "confirmed_steps": pa.array(crossed.steps, mask=never),
        "confirmed_trial_id": pa.array(at(found.facts.trials.trial_id, crossed.row), mask=never),
        "confirmed_previous_step": _steps_where(crossed.previous_step, ~never),
        "n_confirmed": pa.array(crossed.n_reached),
    }


def _steps_where(steps: Integers, is_there: Flags) -> pa.Array:
    return pa.array(steps, mask=~is_there | (steps < 0))


def _target_rows(found: Search, results: StudyResults, target: float) -> pa.RecordBatch:
    columns = _common_columns(found, results)
    columns["target"] = pa.repeat(pa.scalar(target, pa.float64()), len(results.row))
    return _batch(columns, TARGETS.schema)


def _batch(columns: Columns, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)

"""Scaling: how many steps the best trial of a workload takes to a target, by batch size."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pyarrow as pa

from losslake.analysis.crossings import resolution
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.confirmation import FIRST, Crossing, confirmed
from losslake.questions.parameters import BATCH_UNIT, CrossingParameters, Natural, is_of_one_workload
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at, check_batch_size, examples_of, searches_of, selection_facts
from losslake.questions.selection import Goal
from losslake.questions.study_results import FewestSteps, StudyResults, study_bests, study_results
from losslake.questions.summary import CrossingSummary
from losslake.questions.wording import coarse_studies
from losslake_schema.reached import NEVER, Flags, Integers

Columns = dict[str, pa.Array]


class ScalingParameters(CrossingParameters):
    """How do steps to a target scale with the batch size?"""

    normalize_to: Annotated[Natural | None, shown(64, BATCH_UNIT)] = None
    """The batch size at which normalized_steps is 1 and perfect scaling begins; default: the smallest with a result."""


class ScalingRow(Row):
    """A study."""

    workload: str
    batch_size: int
    steps: Annotated[int | None, shown(400, "steps")]
    """Steps to result: the first step at which any admitted trial reaches the target; null if none does."""
    trial_id: Annotated[int | None, shown(17)]
    """The trial that took these steps, of several the one with the lowest number; null if none reached the target."""
    value: Annotated[float | None, shown(0.0421, "unit of the metric")]
    """The metric of that trial at that step; null if none reached the target."""
    examples: int | None
    previous_step: int | None
    n_trials: int
    n_reached: int
    best_value: float | None
    perfect_scaling_steps: Annotated[float | None, shown(412.5, "steps")]
    """Steps if doubling the batch size halved them, from the smallest batch size with a result or from normalize_to;
    null without any."""
    normalized_steps: Annotated[float | None, shown(0.52, "none: a ratio")]
    """steps divided by the steps at the batch size normalize_to; null unless that was asked for and both were reached.
    """
    resolution: float | None
    censored_at: Annotated[int | None, shown(2000, "steps")]
    """Where no trial reached the target: the last step up to which any admitted trial was seen within the budgets; null
    where one did."""
    gap: Annotated[float | None, shown(0.003, "unit of the metric")]
    """Where no trial reached the target: how far best_value is from it; null where one did, or where there is no value.
    """
    runner_up_steps: Annotated[int | None, shown(420, "steps")]
    """The fewest steps of any other trial; null if no other reached the target."""
    runner_up_ratio: Annotated[float | None, shown(1.05, "none: a ratio")]
    """runner_up_steps divided by steps: far above 1 where one lucky trial stands alone; null without a runner-up."""
    confirmed_steps: Annotated[int | None, shown(420, "steps")]
    """Steps to result by the crossing asked for: the first hit of any trial that counts by it; with crossing=first this
    is steps."""
    confirmed_trial_id: Annotated[int | None, shown(17)]
    """The trial of confirmed_steps, which may be another than trial_id; null if no crossing counts."""
    confirmed_previous_step: int | None
    n_confirmed: Annotated[int, shown(20, "trials")]
    """The trials with a crossing that counts."""


class ScalingSummary(CrossingSummary):
    """What was asked for, and what to know of the rows."""

    normalize_to: Annotated[int | None, shown(64, "batch_unit of the study")]
    """The batch size asked to normalize to; null for none."""
    warnings: Annotated[list[str], shown(["evaluations are far apart"])]
    """What to know before relying on the rows."""


def answer(view: ReleaseView, parameters: ScalingParameters) -> Answer:
    """Steps to result by workload and batch size; raises UnknownName and BadParameter."""
    selection, goal, crossing = parameters.selection(), parameters.goal(), parameters.crossing_rule()
    searches = searches_of(view, selection)
    check_batch_size("normalize_to", parameters.normalize_to, searches)
    batches, warnings = [], []
    for searched in searches:
        results = study_results(searched, goal)
        crossed = results if crossing == FIRST else _confirmed(view, searched, goal, crossing)
        batches.append(_rows(searched, results, crossed, goal, parameters.normalize_to))
        warnings += coarse_studies(searched, results.row != NEVER, results.steps, results.previous_step)
    facts = selection_facts(view, selection, searches[0].direction) | goal.facts() | crossing.facts()
    facts |= {"normalize_to": parameters.normalize_to, "warnings": warnings}
    return Answer(facts, QUESTION.rows.schema, iter(batches))


def _is_quick(parameters: ScalingParameters) -> bool:
    return is_of_one_workload(parameters) and parameters.crossing == "first"


QUESTION = Question(
    path="/v1/scaling",
    doc="How many steps the best trial of a workload takes to a target, by batch size.",
    parameters=ScalingParameters,
    row=ScalingRow,
    summary=ScalingSummary,
    answer=answer,
    is_quick=_is_quick,
)


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


def result_columns(found: Search, results: StudyResults) -> Columns:
    """The columns of the best trial of each study."""
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


def _rows(
    found: Search, results: StudyResults, crossed: FewestSteps, goal: Goal, normalize_to: int | None
) -> pa.RecordBatch:
    never = results.row == NEVER
    bests = study_bests(found)
    columns = result_columns(found, results)
    columns["best_value"] = pa.array(bests.value, mask=bests.row == NEVER)
    columns |= _ideal_columns(found, results, normalize_to)
    with np.errstate(over="ignore"):
        gap = (bests.value - goal.target) * found.sign
    columns["gap"] = pa.array(gap, mask=~never | (bests.row == NEVER) | np.isinf(gap))
    columns |= _certainty_columns(found, results)
    return batch_of(columns | _confirmed_columns(found, crossed), QUESTION.rows.schema)


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


def batch_of(columns: Columns, schema: pa.Schema) -> pa.RecordBatch:
    """The columns in the order of the schema."""
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)

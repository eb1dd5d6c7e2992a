"""The steps that a workload takes to a target, by batch size: those of its best trial, or its best setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from losslake.analysis.best_setting import BestSettings
from losslake.output.answer import Answer, Part
from losslake.output.columns import Nullable, Rows
from losslake.output.rows import Row, shown
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.measured import AmountColumns, MeasureParameters, MeasureSummary
from losslake.questions.declaration.parameters import (
    BATCH_UNIT,
    MOST_PLACES,
    WORKLOAD,
    CrossingParameters,
    Natural,
    ResultParameters,
    is_of_one_workload,
)
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.reference_lines import ReferencePoint, reference_points
from losslake.questions.declaration.summary import CrossingSummary, ResultSummary, results_of
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.confirmation import FIRST, Crossing, SettingMeans, confirmed, mean_columns
from losslake.questions.trials.examples import examples_column, examples_of_trials, shown_sizes
from losslake.questions.trials.measure import Amounts, Measure
from losslake.questions.trials.schedule_warnings import (
    flips_among_sizes,
    flips_among_workloads,
    phases_of_results,
)
from losslake.questions.trials.search import (
    Search,
    at,
    check_batch_size,
    column_at,
    open_searches,
    resolution_column,
)
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.step_warnings import coarse_studies
from losslake.questions.trials.study_results import (
    FewestSteps,
    StudyResults,
    is_of_small_setting,
    least_by_study,
    study_bests,
    study_results,
    whole_steps,
)
from losslake_schema.names import CHANGES
from losslake_schema.quantities import plural
from losslake_schema.reached import NEVER, Flags, Floats, Integers

Columns = dict[str, Any]


class ScalingParameters(MeasureParameters, ResultParameters, CrossingParameters):
    """The parameters of scaling."""

    normalize_to: Annotated[Natural | None, shown(64, BATCH_UNIT)] = None
    """Batch size at which normalized_steps is 1 and perfect scaling starts; default: the smallest with a result."""
    reference: Annotated[list[str], shown(["mlperf-rcp/imagenet/resnet/*"], max_length=MOST_PLACES)] = Field(
        default_factory=list
    )
    """Workloads, or patterns that pool some, whose usual steps to a goal of their own come beside the answer, such as
    those of reference runs; may be repeated."""


class StudyKeys(Row):
    """The columns that name a study."""

    workload: str
    batch_size: int | None


class ResultColumns(Row):
    """The result of a study: its best trial, or its best setting."""

    steps: Annotated[int | None, shown(400, "steps")]
    """Steps to result. best_trial: the first step at which any admitted trial reaches the target; null if none does.
    best_setting: the least, over settings, of the median steps over their trials (or the mean, to a whole step); null
    if at least half of the trials of each never reach it. A setting of fewer than 3 trials counts only without others.
    """
    trial_id: Annotated[int | None, shown(17)]
    """The trial that took these steps; ties go to the lowest trial_id. For seeds=mean: the trial nearest to it. Null if
    steps is."""
    trial_workload: str | None
    value: Annotated[float | None, shown(0.0421, "unit of the metric")]
    """Value of the metric for that trial at that step; null if none reached the target."""
    examples: int | None
    previous_step: int | None
    n_trials: int
    n_reached: int
    n_stopped_earlier: Annotated[int, shown(0, "trials")]
    """Trials of n_trials that ended at an easier goal, so that it is unknown whether they would reach the target."""
    n_settings: Annotated[int | None, shown(5, "settings")]
    """Settings of which the best was taken; null for best_trial."""
    n_seeds: Annotated[int | None, shown(10, "trials")]
    """Trials of the best setting; null for best_trial."""
    steps_q25: Annotated[int | None, shown(390, "steps")]
    """Steps within which a quarter of the trials of the best setting reach the target; null for best_trial, or if fewer
    do."""
    steps_q75: Annotated[int | None, shown(420, "steps")]
    """Steps within which three quarters of them do; null likewise."""


class ScalingRow(AmountColumns, ResultColumns, StudyKeys):
    """A study."""

    best_value: float | None
    perfect_scaling_steps: Annotated[float | None, shown(412.5, "steps")]
    """Steps if each doubling from normalize_to, or from the smallest with a result, halved them; null for neither."""
    normalized_steps: Annotated[float | None, shown(0.52, "none: a ratio")]
    """steps divided by the steps at normalize_to; null without normalize_to, or where either has no steps."""
    resolution: float | None
    censored_at: Annotated[int | None, shown(2000, "steps")]
    """The last step at which an admitted trial was evaluated in the metric, or the budget if it was evaluated beyond
    that; null if one reached the target."""
    gap: Annotated[float | None, shown(0.003, "unit of the metric")]
    """If no trial reached the target: the distance of best_value from it; null if one did, or without a value."""
    runner_up_steps: Annotated[int | None, shown(420, "steps")]
    """Fewest steps of any other trial, or of any other setting; null if no other reached the target."""
    runner_up_ratio: Annotated[float | None, shown(1.05, "none: a ratio")]
    """runner_up_steps divided by steps, far above 1 if one lucky trial stands out; null without a runner-up."""
    phase: str | None
    confirmed_steps: Annotated[int | None, shown(420, "steps")]
    """Steps to result by the rule `crossing`, equal to steps for crossing=first; for crossing=mean the least over
    settings of their own, of which one of fewer than 3 trials counts only without others; null if no crossing counts.
    """
    confirmed_trial_id: Annotated[int | None, shown(17)]
    """The trial of confirmed_steps, which may differ from trial_id; for crossing=mean the first trial of the setting;
    ties go to the lowest trial_id; null if no crossing counts."""
    confirmed_trial_workload: Annotated[str | None, shown(WORKLOAD)]
    """The workload of that trial if `workload` is a pattern; null without a pattern, or if no crossing counts."""
    confirmed_previous_step: int | None
    confirmed_mean: float | None
    confirmed_n_seeds: int | None
    n_confirmed: Annotated[int, shown(20, "trials")]
    """Trials with a crossing that counts; for crossing=mean settings that count, with one."""


class ScalingSummary(MeasureSummary, ResultSummary, CrossingSummary):
    """The request, and warnings about the rows."""

    normalize_to: Annotated[int | None, shown(64, "batch_unit of the study")]
    """The requested batch size to normalize to; null for none."""
    reference: list[ReferencePoint]
    """The references, by batch size; empty if none is requested."""
    warnings: Annotated[list[str], shown(["evaluations are far apart"])]
    """Warnings about the rows."""


def _answer(view: ReleaseView, parameters: ScalingParameters) -> Answer:
    """Return the fewest steps to the target by workload and batch size; raises UnknownName and BadParameter."""
    goal, crossing = parameters.goal, parameters.crossing_rule()
    searches = open_searches(view, parameters.selection(), with_schedules=True)
    check_batch_size("normalize_to", parameters.normalize_to, searches)
    parts: list[Part] = []
    warnings: list[str] = []
    left_out: list[str] = []
    pairs: list[tuple[Search, StudyResults]] = []
    for search in searches:
        measure, results = Measure.of(view, search, parameters.counting()), study_results(search, goal)
        amounts = measure.least(results, goal)
        crossed, means = (results, None) if crossing == FIRST else _confirmed(view, search, goal, crossing)
        rows = _rows(search, results, amounts, crossed, means, goal, parameters.normalize_to)
        parts.append(shown_sizes(search.facts, rows))
        left_out += measure.left_out(int(amounts.n_unknown.sum()))
        warnings += coarse_studies(search, results.row != NEVER, results.steps, results.previous_step)
        warnings += [*measure.doubts(goal), *measure.caveats(), *flips_among_sizes(search, results)]
        pairs.append((search, results))
        if search.facts.has_schedules:
            warnings.append(_about_schedules(search))
        if means is not None:
            warnings += means.ended(search.facts.workload, ~is_of_small_setting(search))
    warnings += flips_among_workloads(pairs)
    reference = reference_points(view, parameters.reference)
    facts = {**crossing.facts, "reference": reference, "left_out": left_out, "warnings": warnings}
    facts["results"] = results_of(searches)
    return QUESTION.answered(view, parameters, parts, facts, searches=searches)


def _about_schedules(search: Search) -> str:
    facts, n = search.facts, int(search.n_admitted[0])
    what = f"{facts.workload}: the last row, without a batch size, is of {n} {plural('trial', n)}"
    return f"{what} that change it ({search.view.schedule_name(facts)})"


def _is_quick(parameters: ScalingParameters) -> bool:
    return is_of_one_workload(parameters) and parameters.crossing == "first" and not parameters.reference


QUESTION = Question(
    path="/v1/scaling",
    doc="How many steps a workload takes to a target, by batch size: those of the best trial, or the best setting.",
    parameters=ScalingParameters,
    row=ScalingRow,
    summary=ScalingSummary,
    compute=_answer,
    cost=lambda parameters: Cost(1000, 300, 2) if parameters.crossing == "first" else Cost(1000, 1000, 80),
    is_quick=_is_quick,
)


def _confirmed(
    view: ReleaseView, search: Search, goal: Goal, crossing: Crossing
) -> tuple[FewestSteps, SettingMeans | None]:
    """Return the crossing of each study that counts, of a trial or of a setting, and the means that cross."""
    crossings = confirmed(view, search, goal, crossing, search.first_hits(goal))
    is_crossed, means = crossings.steps != NEVER, crossings.means
    if means is not None:
        is_crossed &= means.is_first & ~is_of_small_setting(search)
        row = search.facts.first_least_by_study(is_crossed, crossings.steps)
        steps = at(crossings.steps, row)
    else:
        least = least_by_study(search, np.where(is_crossed, crossings.steps, np.inf))
        row, steps = least.row, whole_steps(least.amount)
    previous, n_crossed = at(crossings.previous_steps, row), search.facts.sums_by_study(is_crossed)
    return FewestSteps(row, steps, previous, n_crossed), means


def result_columns(search: Search, results: StudyResults, goal: Goal) -> Columns:
    """Return the columns of ResultColumns, with the workload and the batch size."""
    facts, reached = search.facts, results.row != NEVER
    return {
        "workload": str(facts.workload),
        "batch_size": facts.batch_sizes,
        "steps": Nullable(results.steps, reached),
        "trial_id": lambda: column_at(facts.trials.trial_id, results.row),
        "trial_workload": lambda: facts.workloads_of(results.row),
        "value": Nullable(results.value, reached),
        "examples": _examples(search, results, reached),
        "previous_step": lambda: _steps_where(results.previous_step, reached),
        "n_trials": search.n_admitted,
        "n_reached": results.n_reached,
        "n_stopped_earlier": lambda: facts.sums_by_study(search.stopped_earlier(goal)),
        **_setting_columns(results.setting),
    }


def _examples(search: Search, results: StudyResults, reached: Flags) -> Any:
    """Return the examples to the results, or a function that does: a search may outlive the release."""
    steps, facts = results.steps, search.facts
    if not facts.has_schedules:
        return lambda: examples_column(steps, facts.batch_sizes, reached)
    return examples_of_trials(search.view, facts, steps, results.row, reached)


def _setting_columns(setting: BestSettings | None) -> Columns:
    if setting is None:
        return {}
    return {
        "n_settings": setting.n_settings,
        "n_seeds": setting.n_seeds,
        "steps_q25": lambda: _steps_or_null(setting.lower_quartile),
        "steps_q75": lambda: _steps_or_null(setting.upper_quartile),
    }


def _steps_or_null(steps: Floats) -> Nullable:
    return Nullable(whole_steps(steps), np.isfinite(steps))


def _rows(
    search: Search,
    results: StudyResults,
    amounts: Amounts,
    crossed: FewestSteps,
    means: SettingMeans | None,
    goal: Goal,
    normalize_to: int | None,
) -> Rows:
    facts, reached, crosses = search.facts, results.row != NEVER, crossed.row != NEVER
    return QUESTION.rows.of(
        {
            **result_columns(search, results, goal),
            "best_value": lambda: search.once(_best_values),
            "perfect_scaling_steps": lambda: _perfect_steps(facts.batch_sizes, _base(search, results, normalize_to)),
            "normalized_steps": lambda: _normalized_steps(search, results, normalize_to),
            "gap": lambda: _gaps(search, ~reached, goal),
            "resolution": lambda: resolution_column(results.steps, results.previous_step, reached),
            "censored_at": lambda: _steps_where(search.last_steps, ~reached),
            "runner_up_steps": lambda: _steps_where(results.runner_up, reached),
            "runner_up_ratio": lambda: _runner_up_ratios(results),
            "phase": lambda: phases_of_results(search, results),
            "confirmed_steps": Nullable(crossed.steps, crosses),
            "confirmed_trial_id": lambda: column_at(facts.trials.trial_id, crossed.row),
            "confirmed_trial_workload": lambda: facts.workloads_of(crossed.row),
            "confirmed_previous_step": lambda: _steps_where(crossed.previous_step, crosses),
            **mean_columns(means, crossed.row),
            "n_confirmed": crossed.n_reached,
            **amounts.columns(search),
        }
    )


def _best_values(search: Search) -> Nullable:
    row, value = study_bests(search)
    return Nullable(value, row != NEVER)


def _gaps(search: Search, is_missed: Flags, goal: Goal) -> Nullable:
    best = search.once(_best_values)
    with np.errstate(over="ignore"):
        gap = (best.values - goal.target) * search.sign
    return Nullable(gap, is_missed & best.is_there & ~np.isinf(gap))


def _runner_up_ratios(results: StudyResults) -> Nullable:
    is_ratio = (results.runner_up != NEVER) & (results.steps > 0)
    return Nullable(results.runner_up / np.where(is_ratio, results.steps, 1), is_ratio)


def _base(search: Search, results: StudyResults, normalize_to: int | None) -> tuple[int, int] | None:
    """Return `normalize_to` and its steps, or the first batch size with a result; None where it has none."""
    rows = zip(search.facts.batch_sizes, results.steps.tolist(), results.row.tolist(), strict=True)
    bases = ((size, steps) for size, steps, row in rows if row != NEVER and size and normalize_to in (None, size))
    return next(bases, None)


def _perfect_steps(batch_sizes: Sequence[int], base: tuple[int, int] | None) -> list[float | None]:
    """Return the steps of perfect scaling from a batch size with its steps."""
    return [base[1] * base[0] / size if base and size else None for size in batch_sizes]


def _normalized_steps(search: Search, results: StudyResults, normalize_to: int | None) -> Nullable | None:
    base = _base(search, results, normalize_to)
    if normalize_to is None or base is None or not base[1]:
        return None
    is_of_size = np.asarray(search.facts.batch_sizes) != CHANGES
    return Nullable(results.steps / base[1], (results.row != NEVER) & is_of_size)


def _steps_where(steps: Integers, is_there: Flags) -> Nullable:
    return Nullable(steps, is_there & (steps >= 0))

"""The order in which workloads reach a target, at the same batch size and tuning budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from losslake.analysis.equal_budget import BestOf, chances, flips, ranks
from losslake.analysis.performance_profile import geometric_mean_of_ratios
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.comparison.contest import Contest, contest
from losslake.questions.comparison.differences import Difference, differences, ratio_of
from losslake.questions.comparison.measured_trials import entries, hardware_differs, measured_trials
from losslake.questions.comparison.words import comparison_warnings, conclusions
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.measured import MeasureParameters, MeasureSummary
from losslake.questions.declaration.parameters import WORKLOAD, GoalParameters, Natural, Parameters, ResultParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, GoalSummary, ResultSummary, Summary, results_of
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.measure import Measure
from losslake.questions.trials.schedule_warnings import flips_among_workloads, phases_of_results
from losslake.questions.trials.search import Search, open_searches
from losslake.questions.trials.study_results import study_results

MOST_COMPARED = 20


class BaselineParameters(Parameters):
    """The baseline of a comparison, and its tuning budget."""

    baseline: Annotated[str | None, shown(WORKLOAD)] = None
    """The workload that the others are compared with; default: the first."""
    budget: Annotated[Natural | None, shown(20, "trials", ge=1)] = None
    """Tuning budget: the best of this many trials. Default: as many as all workloads have at that batch size."""


class CompareParameters(BaselineParameters, MeasureParameters, ResultParameters, GoalParameters):
    """The parameters of a comparison at equal tuning budget."""


class CompareRow(Row):
    """A batch size and workload."""

    batch_size: int
    workload: str
    n_trials: int
    n_reached: int
    n_settings: Annotated[int, shown(64, "settings")]
    """Settings of these trials: equal metaparameters, seeds aside, or one submitter and system: the evidence."""
    budget: Annotated[int, shown(64, "trials")]
    """Tuning budget: the best of this many trials, or settings for best_setting; the same for all workloads of this
    batch size."""
    amount: Annotated[float | None, shown(400.0, "what measure says")]
    """The least of `measure` to the target of all its trials, or settings; by default in steps; null for none."""
    median_amount: Annotated[float | None, shown(420.0, "what measure says")]
    """Median over draws of `budget` trials of the best one's amount; null if most draws never reach the target."""
    ratio: Annotated[float | None, shown(0.8, "none: a ratio")]
    """median_amount over the baseline's, below 1 for less; null where either is null or the baseline's is 0."""
    ratio_lower: Annotated[float | None, shown(0.7, "none: a ratio")]
    """Lower end of the ratio in 90% of draws of half the settings (at most half the budget), each with its trials; 0 if
    the baseline seldom reaches the target; null for the baseline, where it has no trials, below 2 settings or a
    budget of 2, or if only this workload seldom reaches."""
    ratio_upper: Annotated[float | None, shown(0.95, "none: a ratio")]
    """Upper end of ratio in 90% of these draws; null like the lower end, or if this workload seldom reaches."""
    difference: Annotated[str | None, shown("fewer")]
    """fewer or more (of `measure`) than the baseline, where p_value is at most 0.05; not told, where it is above,
    the gap is no wider than two evaluations, or one may have been stopped too soon; neither reaches; too few trials (or
    settings) for such a p_value, such as 3 of each; one submitter, where either has trials of no other, which repeat
    settings; null for the baseline, or where it has no trials."""
    p_value: Annotated[float | None, shown(0.002, "none: a probability")]
    """p-value of the two-sided permutation test; null where difference is, or says one submitter. A comparison has one
    for each batch size."""
    beats_baseline: Annotated[float | None, shown(0.97, "none: a probability")]
    """Chance of needing less than the baseline (best of `budget` trials, ties count half); null where difference is."""
    beats_baseline_at_half: Annotated[float | None, shown(0.91, "none: a probability")]
    """The same chance in draws of half the settings, an estimate of what another search would find; null below 2."""
    neither_reaches: Annotated[float | None, shown(0.0, "none: a probability")]
    """Chance that no trial of either reaches the target; it counts for neither. Null for the baseline itself."""
    phase: str | None
    rank: Annotated[int | None, shown(1, "none: a rank")]
    """Rank by median_amount at this batch size, 1 for the fewest; ties share a rank; null if median_amount is null."""


class ComparedWorkload(Summary):
    """The conclusion on one workload against the baseline."""

    workload: str
    fewer_at: list[int]
    more_at: list[int]
    not_told_at: list[int]
    too_few_trials_at: list[int]
    one_submitter_at: list[int]
    neither_reaches_at: list[int]
    only_workload_reaches_at: list[int]
    only_baseline_reaches_at: list[int]
    largest_at: int | None
    is_clear: bool
    in_words: str


class GeometricMean(Summary):
    """The geometric mean of a workload's ratios of steps to the baseline."""

    workload: Annotated[str, shown("bundled/digits/mlp_64/sgd")]
    ratio: Annotated[float | None, shown(1.9)]
    n_batch_sizes: Annotated[int, shown(9)]
    left_out_batch_sizes: Annotated[list[int], shown([1, 2])]


class Flip(Summary):
    """Two workloads, each of which leads at some batch sizes."""

    first: str
    second: str
    first_leads_at: list[int]
    second_leads_at: list[int]
    is_clear: bool


class CompareSummary(MeasureSummary, ResultSummary, GoalSummary, Finding):
    """The conclusions of the comparison."""

    baseline: Annotated[str, shown(WORKLOAD)]
    """The workload that the others are compared with; default: the first."""
    budget: Annotated[int | None, shown(20, "trials")]
    """The requested tuning budget; null for as many trials as all have."""
    conclusions: list[ComparedWorkload]
    """Per workload but the baseline: batch sizes by `difference`; where only one reaches; where the clear ratio is
    farthest from 1; is_clear, if all batch sizes judged share a 5% chance of error; and all in sentences."""
    geometric_means: list[GeometricMean]
    """Per workload but the baseline: the geometric mean of ratio over batch sizes with a verdict on the difference:
    those with a null median, too few trials or one submitter are left out."""
    flips: list[Flip]
    """Pairs that each lead at some batch sizes; is_clear: on both sides, if these batch sizes share a 5% chance
    of error."""


def _answer(view: ReleaseView, parameters: CompareParameters) -> Answer:
    """Return workloads at equal tuning budget, by batch size; raises UnknownName and BadParameter."""
    selection, goal = parameters.selection(), parameters.goal
    baseline = parameters.baseline and parse_workload(parameters.baseline, "baseline")
    workloads = selection.workloads
    if len(workloads) > MOST_COMPARED:
        raise BadParameter("workload", f"give at most {MOST_COMPARED} workloads to compare, not {len(workloads)}")
    if baseline is not None and baseline not in workloads:
        raise BadParameter("baseline", f"baseline {baseline} is not one of the workloads to compare")
    searches = open_searches(view, selection)
    if any(search.rule.is_of_settings for search in searches):
        # Of a search of single trials the best setting is the best trial.
        searches = open_searches(view, replace(selection, result="best_setting"))
    for search in searches:
        _ = search.facts.study_ids  # whole searches are compared: raises BadParameter for a pool
    measured = [measured_trials(Measure.of(view, search, parameters.counting()), goal) for search in searches]
    curves, noun = [each.curve for each in measured], measured[0].measure.noun
    names = tuple(map(str, workloads))
    entered = (entry for name, each in zip(names, measured, strict=True) for entry in entries(each, goal, name, ""))
    competition = contest(names, entered, parameters.budget)
    base = workloads.index(baseline or workloads[0])
    differ = list(hardware_differs(measured, names, {size for _, size in competition.places}))
    pairs = [(search, study_results(search, goal)) for search in searches]
    by_size = [
        dict(zip(search.facts.batch_sizes, phases_of_results(search, results) or (), strict=False))
        for search, results in pairs
    ]
    goal_words = goal.in_words(selection.metric, searches[0].direction)
    against = [
        list(differences(competition, curves, index, base)) if index != base else [] for index in range(len(names))
    ]
    return QUESTION.analysis(
        view,
        parameters,
        [_rows(competition, base, against, by_size)],
        {
            "baseline": names[base],
            "results": results_of(searches),
            "conclusions": list(conclusions(competition, against, base, goal_words, noun, differ)),
            "geometric_means": list(_geometric_means(competition, base, against)),
            "flips": list(_flips(competition)),
        },
        n_used=int((~np.isnan(competition.medians)).sum()),
        left_out=[*competition.left_out, *(text for each in measured for text in each.left_out())],
        warnings=[
            *comparison_warnings(competition, curves, base, noun),
            *differ,
            *flips_among_workloads(pairs),
            *(text for each in measured for text in (*each.measure.doubts(goal), *each.measure.caveats())),
            *_unknown_settings(searches),
        ],
    )


QUESTION = Question(
    path="/v1/analysis/compare",
    doc="Which of several workloads reaches a target sooner at equal tuning budget, by batch size.",
    parameters=CompareParameters,
    row=CompareRow,
    summary=CompareSummary,
    compute=_answer,
    cost=lambda parameters: Cost(100_000 if len(parameters.workload) > 1 else 20_000),
)


def _rows(
    contest: Contest,
    base: int,
    against: Sequence[Sequence[Difference | None]],
    phases: Sequence[Mapping[int, str | None]],
) -> pa.RecordBatch:
    """Return the rows. against: by workload and column. phases: by workload, of its results by batch size."""
    rows: list[dict[str, Any]] = []
    for column, (_, batch_size) in enumerate(contest.places):
        budget, medians = contest.budgets[column], contest.medians[:, column]
        placed = ranks(medians)
        for index, name in enumerate(contest.competitors):
            entry = contest.entries[index][column]
            if entry is None:
                continue
            row = {
                "batch_size": batch_size,
                "workload": name,
                "n_trials": len(entry.of_trials),
                "n_reached": int(np.isfinite(entry.of_trials).sum()),
                "n_settings": len(entry.medians),
                "budget": budget,
                "amount": _finite(entry.steps.min()),
                "median_amount": _finite(medians[index]),
                "ratio": ratio_of(medians[index], medians[base]),
                "phase": phases[index].get(batch_size),
                "rank": placed[index],
            }
            difference = against[index][column] if index != base else None
            rows.append(row | _against(contest.best[index][column], contest.best[base][column], difference))
    return pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)


def _against(first: BestOf | None, base: BestOf | None, difference: Difference | None) -> dict[str, Any]:
    """Return the columns of a difference to the baseline; none where there is none."""
    if first is None or base is None or difference is None:
        return {}
    whole, half = chances(first, base), difference.at_half
    return {
        "ratio_lower": _finite(difference.lower),
        "ratio_upper": _finite(difference.upper),
        "difference": difference.verdict,
        "p_value": None if difference.verdict == "one submitter" else difference.p_value,
        "beats_baseline": whole.beats,
        "neither_reaches": whole.neither,
        "beats_baseline_at_half": half and half.beats,
    }


def _unknown_settings(searches: Sequence[Search]) -> Iterator[str]:
    for search in searches:
        if n := int((search.admitted & (search.facts.trials.has_setting == 0)).sum()):
            yield (
                f"{search.facts.workload}: the metaparameters of {n} of its trials are unknown, so each is a setting "
                "of its own: if they are one setting with different seeds, differences are claimed too often"
            )


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def _geometric_means(
    contest: Contest, base: int, against: Sequence[Sequence[Difference | None]]
) -> Iterator[dict[str, Any]]:
    """Yield the geometric mean of each workload but the baseline, where trials allow a verdict."""
    for index, name in enumerate(contest.competitors):
        if index != base:
            is_judged = [each is not None and each.verdict in ("fewer", "more", "not told") for each in against[index]]
            pair = np.where(is_judged, contest.medians[[index, base]], np.nan)
            ratio, n = geometric_mean_of_ratios(*pair)
            unused = np.flatnonzero(~(np.isfinite(pair) & (pair > 0)).all(axis=0))
            left_out = [contest.places[column][1] for column in unused.tolist()]
            yield {"workload": name, "ratio": ratio, "n_batch_sizes": n, "left_out_batch_sizes": left_out}


def _flips(contest: Contest) -> Iterator[dict[str, Any]]:
    for flip in flips(contest.medians, contest.judged_p):
        yield {
            "first": contest.competitors[flip.first],
            "second": contest.competitors[flip.second],
            "first_leads_at": [contest.places[column][1] for column in flip.first_leads],
            "second_leads_at": [contest.places[column][1] for column in flip.second_leads],
            "is_clear": flip.is_clear,
        }

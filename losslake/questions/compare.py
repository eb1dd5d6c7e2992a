"""Compare: which of several workloads reaches a target sooner, at the same batch size and tuning budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from losslake.analysis.equal_budget import chances, flips, ranks
from losslake.analysis.performance_profile import geometric_mean_of_ratios
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.comparison_words import comparison_warnings, conclusions
from losslake.questions.contest import Contest, Difference, Entry, admitted_steps, contest, differences, steps_ratio
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import WORKLOAD, GoalParameters, Natural
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling_curve import scaling_curve
from losslake.questions.search import Search, searches_of
from losslake.questions.selection import Goal, named_workload
from losslake.questions.summary import Finding, GoalSummary, Summary
from losslake_schema.reached import Floats

MOST_COMPARED = 20
_DEFINITION = (
    "Steps of the best of `budget` trials, drawn without replacement from those of each study: its median, and the "
    "chance that it is below the baseline's, ties counting half. The budget is the same for all workloads of a batch "
    "size. The ratio's range holds 90% of draws of half the budget, and a difference is told where it leaves out 1, "
    "batch size by batch size. Trials of a quasi-random search are spread more evenly than independent ones, so "
    "chances are approximate. n_used counts medians: workloads at batch sizes."
)


class CompareParameters(GoalParameters):
    """Which workload reaches a target sooner, at the same tuning budget?"""

    baseline: Annotated[str | None, shown(WORKLOAD)] = None
    """The workload that the others are compared with; default: the first one."""
    budget: Annotated[Natural | None, shown(20, "trials", ge=1)] = None
    """The tuning budget: of so many trials the best is taken. Default: as many as all have at that batch size."""


class CompareRow(Row):
    """A batch size and workload."""

    batch_size: int
    workload: str
    n_trials: int
    n_reached: int
    budget: Annotated[int, shown(64, "trials")]
    """Tuning budget: of so many trials the best is taken; the same for all workloads of this batch size."""
    steps: Annotated[int | None, shown(400, "steps")]
    """Steps to result: of the best of all its trials; null if none reached the target."""
    median_steps: Annotated[int | None, shown(420, "steps")]
    """Median over draws of `budget` trials of the best one's steps; null if in more than half of them none reaches."""
    steps_ratio: Annotated[float | None, shown(0.8, "none: a ratio")]
    """median_steps over the baseline's, below 1 for fewer; null where either is null or the baseline's is 0."""
    steps_ratio_lower: Annotated[float | None, shown(0.7, "none: a ratio")]
    """Of the ratio of the best of half the budget, the lower end of what 90% of draws lie between; 0 where the baseline
    seldom reaches the target. Null for the baseline itself, where it has no trials, for a budget below 2, or where this
    workload seldom reaches the target and the baseline does."""
    steps_ratio_upper: Annotated[float | None, shown(0.95, "none: a ratio")]
    """The upper end of the same; null as well where it has none, since this workload seldom reaches the target."""
    difference: Annotated[str | None, shown("fewer")]
    """fewer or more steps than the baseline, where the range of the ratio leaves out 1 (never reaching is more than
    any); not told, where it doesn't, where they differ by no more than the distance of two evaluations, or where one
    may only have been stopped sooner; neither reaches, too few trials (2 or fewer); null for the baseline itself, or
    where it has no trials."""
    beats_baseline: Annotated[float | None, shown(0.97, "none: a probability")]
    """Chance that its best of `budget` trials needs fewer steps than the baseline's; ties counting half; null for the
    baseline itself, or where it has no trials."""
    beats_baseline_at_half: Annotated[float | None, shown(0.91, "none: a probability")]
    """The same with half the budget: what another search would say, where the budget is all trials; null below 2."""
    neither_reaches: Annotated[float | None, shown(0.0, "none: a probability")]
    """Chance that no trial of either reaches the target; it counts for neither. Null for the baseline itself."""
    rank: Annotated[int | None, shown(1, "none: a rank")]
    """Rank by median_steps at this batch size, 1 for the fewest; equal ones share it; null if median_steps is null."""


class ComparedWorkload(Summary):
    """A compared workload: its trials and what it leaves open."""

    workload: str
    fewer_at: list[int]
    more_at: list[int]
    not_told_at: list[int]
    too_few_trials_at: list[int]
    neither_reaches_at: list[int]
    only_workload_reaches_at: list[int]
    only_baseline_reaches_at: list[int]
    largest_at: int | None
    is_clear: bool
    in_words: str


class GeometricMean(Summary):
    """The geometric mean of a workload's ratios of steps to the baseline."""

    workload: Annotated[str, shown("bundled/digits/mlp_64/sgd")]
    steps_ratio: Annotated[float | None, shown(1.9)]
    n_batch_sizes: Annotated[int, shown(9)]
    left_out_batch_sizes: Annotated[list[int], shown([1, 2])]


class Flip(Summary):
    """Two workloads, each of which leads at some batch sizes."""

    first: str
    second: str
    first_leads_at: list[int]
    second_leads_at: list[int]
    is_clear: bool


class CompareSummary(GoalSummary, Finding):
    """What the comparison concludes."""

    baseline: Annotated[str, shown(WORKLOAD)]
    """The workload that the others are compared with."""
    budget: Annotated[int | None, shown(20, "trials")]
    """The tuning budget asked for; null for as many as all have."""
    conclusions: list[ComparedWorkload]
    """Of each workload but the baseline: the batch sizes of each `difference`, those at which only one of both has a
    trial that reaches the target, where the ratio is farthest from 1 of the differences that are told, whether one of
    these would be told if all batch sizes shared a 5% chance of error, and all that in sentences, with the batch size
    at which the saving begins or ends."""
    geometric_means: list[GeometricMean]
    """Of each workload but the baseline: the geometric mean over batch sizes of steps_ratio, of how many it is, and the
    batch sizes left out, where either one's median is null."""
    flips: list[Flip]
    """Pairs of workloads of which now one, now the other needs fewer steps, by batch size; is_clear: on both sides with
    a chance of 95% or more at some batch size, with half the budget."""


def answer(view: ReleaseView, parameters: CompareParameters) -> Answer:
    """Workloads at equal tuning budget, by batch size; raises UnknownName and BadParameter."""
    selection, goal = parameters.selection(), parameters.goal()
    baseline = parameters.baseline and named_workload(parameters.baseline, "baseline")
    workloads = selection.workloads
    if len(workloads) > MOST_COMPARED:
        raise BadParameter("workload", f"give at most {MOST_COMPARED} workloads to compare, not {len(workloads)}")
    if baseline is not None and baseline not in workloads:
        raise BadParameter("baseline", f"baseline {baseline} is none of the workloads to compare")
    searches = searches_of(view, selection)
    curves = [scaling_curve(found, goal) for found in searches]
    names = tuple(map(str, workloads))
    found = contest(names, _entries(searches, goal), parameters.budget)
    base = workloads.index(baseline or workloads[0])
    goal_words = goal.in_words(selection.metric, searches[0].direction)
    against = [list(differences(found, curves, index, base)) if index != base else [] for index in range(len(names))]
    return QUESTION.analysis(
        view,
        parameters,
        searches[0].direction,
        [_rows(found, base, against)],
        {
            "baseline": names[base],
            "budget": parameters.budget,
            "conclusions": list(conclusions(found, against, base, goal_words)),
            "geometric_means": list(_geometric_means(found, base)),
            "flips": list(_flips(found)),
        },
        definition=_DEFINITION,
        n_used=int((~np.isnan(found.medians)).sum()),
        left_out=found.left_out,
        warnings=comparison_warnings(found, curves, base),
    )


QUESTION = Question(
    path="/v1/analysis/compare",
    doc="Which of several workloads (optimizers, models) reaches a target "
    "sooner at equal tuning budget, by batch size.",
    parameters=CompareParameters,
    row=CompareRow,
    summary=CompareSummary,
    answer=answer,
)


def _entries(searches: Sequence[Search], goal: Goal) -> Iterator[Entry]:
    for found in searches:
        for batch_size, steps in zip(found.facts.batch_sizes, admitted_steps(found, goal), strict=True):
            yield Entry(str(found.facts.workload), ("", batch_size), steps)


def _rows(found: Contest, base: int, against: Sequence[Sequence[Difference | None]]) -> pa.RecordBatch:
    rows: list[dict[str, Any]] = []
    for column, (_, batch_size) in enumerate(found.places):
        budget, medians = found.budgets[column], found.medians[:, column]
        placed = ranks(medians)
        for index, name in enumerate(found.competitors):
            own = found.steps[index][column]
            if own is not None:
                best = own.min()
                rows.append(
                    {
                        "batch_size": batch_size,
                        "workload": name,
                        "n_trials": len(own),
                        "n_reached": int(np.isfinite(own).sum()),
                        "budget": budget,
                        "steps": int(best) if np.isfinite(best) else None,
                        "median_steps": int(medians[index]) if np.isfinite(medians[index]) else None,
                        "steps_ratio": steps_ratio(medians[index], medians[base]),
                        "rank": placed[index],
                        **(_told(against[index][column]) if index != base else {}),
                        **_against(own, found.steps[base][column] if index != base else None, budget),
                    }
                )
    return pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)


def _against(own: Floats, baseline: Floats | None, budget: int) -> dict[str, float | None]:
    """The chances against the baseline; None where there is none, as for the baseline itself."""
    if baseline is None:
        return {}
    whole, half = chances(own, baseline, budget), budget // 2
    return {
        "beats_baseline": whole.beats,
        "neither_reaches": whole.neither,
        "beats_baseline_at_half": chances(own, baseline, half).beats if half else None,
    }


def _told(difference: Difference | None) -> dict[str, float | str | None]:
    """Of a difference to the baseline; nothing where that has no trials."""
    if difference is None:
        return {}
    ends = {"steps_ratio_lower": difference.lower, "steps_ratio_upper": difference.upper}
    found: dict[str, float | str | None] = {
        name: end if end is not None and np.isfinite(end) else None for name, end in ends.items()
    }
    return found | {"difference": difference.verdict}


def _geometric_means(found: Contest, base: int) -> Iterator[dict[str, Any]]:
    """Of each workload but the baseline."""
    for index, name in enumerate(found.competitors):
        if index != base:
            ratio, n = geometric_mean_of_ratios(found.medians[index], found.medians[base])
            pair = found.medians[[index, base]]
            unused = np.flatnonzero(~(np.isfinite(pair) & (pair > 0)).all(axis=0))
            left_out = [found.places[column][1] for column in unused.tolist()]
            yield {"workload": name, "steps_ratio": ratio, "n_batch_sizes": n, "left_out_batch_sizes": left_out}


def _flips(found: Contest) -> Iterator[dict[str, Any]]:
    def at_half(first: int, second: int, column: int) -> float:
        return found.beats(first, second, column, found.budgets[column] // 2)

    for flip in flips(found.medians, at_half):
        yield {
            "first": found.competitors[flip.first],
            "second": found.competitors[flip.second],
            "first_leads_at": [found.places[column][1] for column in flip.first_leads],
            "second_leads_at": [found.places[column][1] for column in flip.second_leads],
            "is_clear": flip.is_clear,
        }

"""The share of steps that each doubling of the batch size saves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from losslake.analysis.doublings import doublings
from losslake.output.answer import Answer
from losslake.output.columns import Rows
from losslake.output.plain import finite, whole
from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import GoalParameters, ResultParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, GoalSummary, ResultSummary, results_of
from losslake.questions.release.pool import Pool
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.batch_size_words import listed
from losslake.questions.trials.scaling_curve import UsableCurve, curve_warnings, scaling_curve, usable_curve
from losslake.questions.trials.search import open_searches
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.step_warnings import lone_batch_size
from losslake.questions.trials.study_results import study_results
from losslake_schema.reached import Flags


class DoublingsParameters(ResultParameters, GoalParameters):
    """The parameters of doublings."""


class DoublingsRow(Row):
    """A study."""

    workload: str
    batch_size: int
    steps: int | None
    previous_step: int | None
    since: Annotated[int | None, shown(32, "batch_unit of the study, mostly examples")]
    """The next smaller batch size that reached the target and isn't dominated; null for the first of these, and if this
    one did not or is."""
    saved: Annotated[float | None, shown(0.42, "none: a ratio")]
    """Share of steps saved per doubling since then: 0.5 for perfect scaling, below 0 if steps rise; null where since
    is, and where the results of the two batch sizes are of different workloads of a pool."""
    lower: Annotated[float | None, shown(0.38, "none: a ratio")]
    """Least share that the distance of evaluations allows; null where nothing bounds it, or saved is null."""
    upper: Annotated[float | None, shown(0.46, "none: a ratio")]
    """Largest share that the distance of evaluations allows; null where saved is."""
    n_trials: int
    n_reached: int


class DoublingsSummary(ResultSummary, GoalSummary, Finding):
    """The finding."""


def _answer(view: ReleaseView, parameters: DoublingsParameters) -> Answer:
    """Return what each doubling saves, by workload and batch size; raises UnknownName and BadParameter."""
    goal, searches = parameters.goal, open_searches(view, parameters.selection())
    curves = [usable_curve(search, scaling_curve(search, goal)) for search in searches]
    return QUESTION.analysis(
        view,
        parameters,
        [_rows(curve, goal) for curve in curves],
        {"results": results_of(searches)},
        n_used=sum(curve.n_tuned for curve in curves),
        left_out=(text for curve in curves for text in _left_out(curve, goal)),
        warnings=(text for curve in curves for text in _warnings(curve)),
    )


QUESTION = Question(
    path="/v1/analysis/doublings",
    doc="The share of steps that each doubling of the batch size saves, by workload.",
    parameters=DoublingsParameters,
    row=DoublingsRow,
    summary=DoublingsSummary,
    compute=_answer,
)


def _is_of_another(curve: UsableCurve, goal: Goal) -> Flags:
    """Return by usable study whether its result is of another workload than that of the one it is compared with."""
    facts, is_of_another = curve.search.facts, np.zeros(len(curve.studies), np.bool_)
    if isinstance(facts, Pool):
        compared = np.flatnonzero(np.isfinite(curve.tuned_steps))
        member = facts.member[study_results(curve.search, goal).row[curve.studies[compared]]]
        is_of_another[compared[1:]] = member[1:] != member[:-1]
    return is_of_another


def _left_out(curve: UsableCurve, goal: Goal) -> Iterator[str]:
    yield from curve.left_out()
    others = curve.batch_sizes[_is_of_another(curve, goal)]
    if len(others):
        why = "the result is of another workload of the pool than at the batch size before, so steps don't compare"
        yield f"{curve.name}: {why}, at batch size {listed(others)}"


def _warnings(curve: UsableCurve) -> list[str]:
    alone = [lone_batch_size(curve.name, curve.batch_sizes[curve.is_reached][0])] if curve.n_reached == 1 else []
    return [*alone, *curve_warnings(curve)]


def _rows(curve: UsableCurve, goal: Goal) -> Rows:
    measured, result = curve.measured, doublings(curve.batch_sizes, curve.tuned_steps, curve.previous_steps)
    spread = np.full((4, len(measured.steps)), np.nan)
    is_comparable = ~_is_of_another(curve, goal)
    shares = (np.where(is_comparable, share, np.nan) for share in (result.saved, result.lower, result.upper))
    spread[:, curve.studies] = result.since, *shares
    return QUESTION.rows.of(
        {
            "workload": curve.name,
            "batch_size": curve.search.facts.batch_sizes,
            "steps": whole(measured.steps),
            "previous_step": whole(measured.previous_steps),
            "since": whole(spread[0]),
            "saved": finite(spread[1]),
            "lower": finite(spread[2]),
            "upper": finite(spread[3]),
            "n_trials": measured.n_trials,
            "n_reached": measured.n_reached,
        }
    )

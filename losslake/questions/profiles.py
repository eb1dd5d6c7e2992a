"""Performance profiles: the share of batch sizes at which a competitor is within a factor of the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np

from losslake.analysis.performance_profile import (
    LARGEST_RATIO,
    exact_scores,
    ratios_to_best,
    staircase,
    trapezoid_scores,
)
from losslake.output.answer import Answer
from losslake.output.columns import Rows
from losslake.output.rows import Row, shown
from losslake.questions.comparison.contest import Contest, Entry, contest
from losslake.questions.comparison.measured_trials import admitted_entries
from losslake.questions.declaration.parameters import ComparatorParameters, Finite, check_targets
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import ComparatorSummary, Finding, Summary
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import Search, open_searches
from losslake.questions.trials.selection import Goal
from losslake_schema.names import Workload
from losslake_schema.reached import Flags, Floats

Part = Literal["workload", "collection", "dataset", "model", "optimizer"]


class ProfilesParameters(ComparatorParameters):
    """The parameters of performance profiles."""

    target: Annotated[Finite | None, shown(0.05, "unit of the metric")] = None
    """The target, in the metric's unit; NaN and infinities never reach it. Default: each workload's own goal."""
    by: Annotated[Part, shown("optimizer")] = "workload"
    """The competitors: workloads, by batch size, or one part of their names, by the rest of the name and batch size."""
    largest_factor: Annotated[Finite, shown(4, "none: a ratio", gt=1, le=1e6)] = LARGEST_RATIO
    """The largest factor that counts for a score; AlgoPerf: 4."""


class ProfilesRow(Row):
    """A competitor and factor."""

    competitor: Annotated[str, shown("nesterov_momentum")]
    """The competitor: a workload, or the part of its name that `by` names."""
    factor: Annotated[float, shown(1.25, "none: a ratio")]
    """Factor of the best competitor's steps, 1 or more; one row for each at which the share rises."""
    share: Annotated[float, shown(0.75, "none: a fraction")]
    """Share of columns in which it needs at most this many times the steps of the best there."""
    n_columns: Annotated[int, shown(12, "columns")]
    """Columns that the share is of, workloads at one batch size: those in which all have trials."""


class Score(Summary):
    """A competitor's score."""

    competitor: str
    score: float | None
    exact_score: float | None
    n_reached: int
    n_best: int


class ProfilesSummary(ComparatorSummary, Finding):
    """The columns of the comparison, and the scores."""

    targets: Annotated[dict[str, float], shown({"bundled/digits/mlp_64/nesterov_momentum": 0.05}, "unit of the metric")]
    """The target of each workload."""
    by: Annotated[Part, shown("optimizer")]
    """The kind of competitors."""
    largest_factor: Annotated[float, shown(4, "none: a ratio")]
    """The largest factor that counts for a score."""
    columns: Annotated[list[str], shown(["bundled/digits/mlp_64 at batch size 64"])]
    """The columns of the comparison: those in which all competitors have trials."""
    scores: list[Score]
    """Per competitor: mean share over factors up to the largest, by AlgoPerf's trapezoid rule on 100 points and exactly
    (exact_score); columns in which it reaches the target, and is best."""


def _answer(view: ReleaseView, parameters: ProfilesParameters) -> Answer:
    """Return performance profiles of competitors; raises UnknownName and BadParameter.

    Workloads compete in columns of one batch size each; a part of their names, in columns of one batch size of what
    the rest of the name says.
    """
    selection, by, largest_factor = parameters.selection(), parameters.by, parameters.largest_factor
    searches = open_searches(view, selection)
    comparator = parameters.known_comparator
    goals = [
        Goal(_target(view, workload, selection.metric, parameters.target), comparator)
        for workload in selection.workloads
    ]
    _check_goals(selection.workloads, goals, by)
    names = tuple(dict.fromkeys(_competitor(workload, by) for workload in selection.workloads))
    competition = contest(names, _entries(searches, goals, by), None)
    shared = np.asarray(~np.isnan(competition.medians).any(axis=0))
    ratios = ratios_to_best(competition.medians[:, shared])
    return QUESTION.analysis(
        view,
        parameters,
        profile_rows(names, ratios),
        {
            "targets": {str(workload): goal.target for workload, goal in zip(selection.workloads, goals, strict=True)},
            "columns": [competition.place_name(column) for column in np.flatnonzero(shared).tolist()],
            "scores": list(_scores(names, ratios, largest_factor)),
        },
        n_used=int(shared.sum()) * len(names),
        left_out=(*competition.left_out, *_not_shared(competition)),
        warnings=_warnings(competition, shared),
        goals=goals,
    )


QUESTION = Question(
    path="/v1/analysis/profiles",
    doc="Performance profiles: how often a workload, optimizer or model is within a factor of the best, and scores.",
    parameters=ProfilesParameters,
    row=ProfilesRow,
    summary=ProfilesSummary,
    compute=_answer,
)


def _target(view: ReleaseView, workload: Workload, metric: str, target: float | None) -> float:
    """Return the target given, or else the workload's goal; raises BadParameter."""
    if target is not None:
        check_targets(metric, target=target)
        return target
    targets = [goal.target for goal in view.goals if (goal.workload, goal.metric) == (workload, metric)]
    if len(targets) != 1:
        what = "no goal" if not targets else f"{len(targets)} goals"
        raise BadParameter("target", f"{workload} has {what} for {metric}: give target")
    return targets[0]


def _competitor(workload: Workload, by: Part) -> str:
    return str(workload) if by == "workload" else str(getattr(workload, by))


def _rest(workload: Workload, by: Part) -> str:
    """Return what distinguishes columns besides the batch size."""
    if by == "workload":
        return ""
    return "/".join(part for name, part in asdict(workload).items() if name != by)


def _check_goals(workloads: Sequence[Workload], goals: Sequence[Goal], by: Part) -> None:
    """Raise BadParameter unless workloads that compete have the same target."""
    targets: dict[str, float] = {}
    for workload, goal in zip(workloads, goals, strict=True):
        rest = _rest(workload, by)
        if targets.setdefault(rest, goal.target) != goal.target:
            where = f" of {rest}" if rest else ""
            raise BadParameter("target", f"the workloads{where} have different goals: give one target for them")


def _entries(searches: Sequence[Search], goals: Sequence[Goal], by: Part) -> Iterator[Entry]:
    for search, goal in zip(searches, goals, strict=True):
        workload = search.facts.workload
        yield from admitted_entries(search, goal, _competitor(workload, by), _rest(workload, by))


def _not_shared(contest: Contest) -> Iterator[str]:
    for column in range(len(contest.places)):
        missing = [contest.competitors[at] for at in np.flatnonzero(np.isnan(contest.medians[:, column]))]
        if missing:
            yield f"{contest.place_name(column)}: {', '.join(missing)} has no trials there"


def _warnings(contest: Contest, shared: Flags) -> Iterator[str]:
    if len(contest.competitors) == 1:
        yield f"there is nothing to compare {contest.competitors[0]} with: name two competitors or more"
    if not shared.any():
        yield "there is no column in which all competitors have trials: nothing is compared"
    nobody = np.flatnonzero(np.isposinf(contest.medians).all(axis=0) & shared).tolist()
    if nobody:
        names = "; ".join(contest.place_name(column) for column in nobody)
        yield f"no competitor reaches the target in {names}: such columns lower every share"


def _scores(names: Sequence[str], ratios: Floats, largest: float) -> Iterator[dict[str, Any]]:
    has_columns = ratios.shape[1] > 0
    for name, row in zip(names, ratios, strict=True):
        yield {
            "competitor": name,
            "score": float(trapezoid_scores(row[None], largest)[0]) if has_columns else None,
            "exact_score": float(exact_scores(row[None], largest)[0]) if has_columns else None,
            "n_reached": int(np.isfinite(row).sum()),
            "n_best": int((row == 1).sum()),
        }


def profile_rows(names: Sequence[str], ratios: Floats) -> Iterator[Rows]:
    """Yield the rows of each competitor: one at factor 1, and one at each factor where its share rises."""
    n_columns = ratios.shape[1]
    for name, row in zip(names if n_columns else (), ratios, strict=False):
        factors, shares = staircase(row)
        yield QUESTION.rows.of({"competitor": name, "factor": factors, "share": shares, "n_columns": n_columns})

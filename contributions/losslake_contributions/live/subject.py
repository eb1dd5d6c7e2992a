"""The subject of a live page: a metric, a goal, and the stored trials beside the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from losslake.analysis.comparable import Comparable
from losslake.questions.declaration.parameters import check_targets
from losslake.questions.release.errors import BadParameter, UnknownName, near_names
from losslake.questions.release.view import ReleaseView
from losslake_contributions.live.stored_trials import (
    Candidate,
    StoredTrials,
    candidates,
    nearest_sizes,
    stored_trials,
    trials_to_compare,
)
from losslake_contributions.protocol.contributions import RunFacts
from losslake_schema.names import Workload
from losslake_schema.reached import DEFAULT_COMPARATOR, comparator_named
from losslake_schema.registry import metric_named
from losslake_service.web.goals import PageGoal, goals_of, last_of_held_out, page_goal, usual_metric


@dataclass(frozen=True)
class LiveQuery:
    """The parameters of a live page; None for the default. target: of the metric. workload: name of a stored one."""

    metric: str | None = None
    target: float | None = None
    workload: str | None = None


@dataclass(frozen=True)
class Subject:
    """The part of a run that is shown.

    metric: None before anything is measured, if the run has no goal. metrics, goals, candidates: to choose from. sizes:
    the batch sizes whose curves are drawn; empty without stored trials. trials: of the run's batch size; None without a
    goal, or if there are none; to_compare: the same, for the forecast. notes: what can't be compared, as sentences.
    """

    metric: str | None
    metrics: Sequence[str]
    goal: PageGoal | None
    goals: Sequence[PageGoal]
    candidate: Candidate | None
    candidates: Sequence[Candidate]
    sizes: Sequence[int]
    trials: StoredTrials | None
    to_compare: Comparable | None
    notes: Sequence[str]


def subject_of(query: LiveQuery, run: RunFacts, measured: Sequence[str], view: ReleaseView | None) -> Subject:
    """Return what is shown. measured: the metrics of the run so far. view: None if there are no stored trials to read.

    Raises UnknownName for a metric that the run neither measures nor has a goal for, and for another workload than
    one of the candidates; BadParameter for a target that the metric can't have.
    """
    offered = candidates(view, _workload(run), run.batch_unit) if view is not None else []
    metrics = list(dict.fromkeys([*measured, *(goal.metric for goal in run.goals)]))
    metric = _metric(query.metric, run, measured, metrics, view, offered)
    candidate = _candidate(query.workload, metric, offered)
    sizes, goals, goal, trials, to_compare, notes = [], [], None, None, None, []
    if metric is not None:
        stored = candidate.sizes(metric) if candidate is not None else []
        sizes = nearest_sizes(stored, run.batch_size) if run.batch_size is not None else []
        goals = _goals(run, metric, view, candidate if stored else None)
        goal = _goal(query.target, metric, goals, direction_of(metric, run, view))
        if view is not None and candidate is not None and goal is not None and run.batch_size in stored:
            try:
                trials = stored_trials(view, candidate.workload, run.batch_size, goal)
                to_compare = trials_to_compare(view, candidate.workload, run.batch_size, goal)
            except BadParameter as error:
                notes.append(f"The stored trials aren't compared: {error}.")
        notes += _about_sizes(candidate, metric, stored, run)
    return Subject(metric, metrics, goal, goals, candidate, offered, sizes, trials, to_compare, notes)


def _workload(run: RunFacts) -> Workload:
    return Workload(run.collection, run.dataset, run.model, run.optimizer)


def direction_of(metric: str, run: RunFacts, view: ReleaseView | None) -> str | None:
    """Return the direction of a metric: the registered one, else that in the lake, else that of the run."""
    registered = metric_named(metric).direction if metric.count("/") == 1 else None
    stored = view.metrics.get(metric) if view is not None else None
    stated: Mapping[str, str] = run.directions or {}
    return registered or (stored.direction if stored is not None else None) or stated.get(metric)


def _metric(
    chosen: str | None,
    run: RunFacts,
    measured: Sequence[str],
    metrics: Sequence[str],
    view: ReleaseView | None,
    offered: Sequence[Candidate],
) -> str | None:
    """Return the chosen metric, else that of a goal, else one with stored trials, else any on held-out data."""
    if chosen is not None:
        if chosen not in metrics:
            raise UnknownName("metric", chosen, near_names(chosen, metrics), "this run")
        return chosen
    first = next((goal.metric for goal in run.goals if not measured or goal.metric in measured), None)
    if first is not None:
        return first
    for candidate in offered:
        assert view is not None
        shared = [name for name in measured if name in candidate.facts.measured]
        usual = usual_metric(view, candidate.facts)
        if usual in shared:
            return usual
        if shared:
            return last_of_held_out(shared)
    return last_of_held_out(measured)


def _candidate(chosen: str | None, metric: str | None, offered: Sequence[Candidate]) -> Candidate | None:
    """Return the chosen workload, else the nearest one that has the metric, else the nearest one."""
    if chosen is not None:
        by_name = {str(each.workload): each for each in offered}
        if chosen not in by_name:
            raise UnknownName("workload", chosen, near_names(chosen, by_name), "the choice beside this run")
        return by_name[chosen]
    return next((each for each in offered if metric in each.facts.measured), next(iter(offered), None))


def _goals(run: RunFacts, metric: str, view: ReleaseView | None, candidate: Candidate | None) -> list[PageGoal]:
    """Return the goals in a metric: those of the run, then those of the stored workload, else a proposed one."""
    direction = direction_of(metric, run, view)
    if direction is None:
        return []
    goals = {goal.target: goal for goal in _run_goals(run, metric, direction)}
    if view is not None and candidate is not None:
        for goal in goals_of(view, candidate.facts):
            if goal.metric == metric:
                goals.setdefault(goal.target, goal)
        if not goals:
            return [page_goal(view, candidate.facts, metric, None, direction)]
    return list(goals.values())


def _run_goals(run: RunFacts, metric: str, direction: str) -> Iterator[PageGoal]:
    """Yield the goals of a run in a metric, as the ingest reads them: without those with an unknown comparator."""
    for goal in run.goals:
        comparator = comparator_named(goal.comparator)
        if goal.metric == metric and comparator is not None:
            yield PageGoal(metric, goal.target, direction, goal.source or "", comparator)


def _goal(target: float | None, metric: str, goals: Sequence[PageGoal], direction: str | None) -> PageGoal | None:
    """Return the goal with the chosen target, else the first one. Raises BadParameter."""
    if target is None or direction is None:
        return next(iter(goals), None)
    check_targets(metric, target=target)
    stated = next((goal for goal in goals if goal.target == target), None)
    return stated or PageGoal(
        metric, target, direction, comparator=goals[0].comparator if goals else DEFAULT_COMPARATOR
    )


def _about_sizes(candidate: Candidate | None, metric: str, stored: Sequence[int], run: RunFacts) -> Iterator[str]:
    """Yield what is odd about the stored trials that a run is shown beside."""
    if candidate is None:
        yield "No trials of the same data set and model are stored: the run is shown alone."
    elif not stored:
        yield f"No stored trial of {candidate.workload} measures {metric}: the run is shown alone."
    elif run.batch_size is None:
        yield f"The run changes its batch size ({run.batch_sizes}), so no stored trials are drawn beside it."
    elif run.batch_size not in stored:
        near = " and ".join(f"{size:,}" for size in nearest_sizes(stored, run.batch_size))
        yield f"No stored trial of {candidate.workload} has batch size {run.batch_size:,}: the curves are of {near}."

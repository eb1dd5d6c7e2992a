"""The stored trials that a live run is shown beside: their workloads, batch sizes, and steps to the goal."""

from __future__ import annotations

import math
import statistics
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cachetools import LRUCache, cached

from losslake.analysis.comparable import Comparable
from losslake.index.frontiers import COUNTED
from losslake.questions.release.nearness import Nearness, nearness
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.steps_to_target import QUESTION, StepsToTargetParameters
from losslake.questions.trials.comparable_trials import comparable_trials
from losslake.questions.trials.search import open_search
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import CHANGES, Study, Trial, Workload
from losslake_schema.statuses import INFEASIBLE
from losslake_service.web.goals import PageGoal

_MOST_DRAWN = 100
_MOST_CACHED, _MOST_COMPARED = 512, 64


@dataclass(frozen=True)
class Candidate:
    """A stored workload that a run may be shown beside."""

    facts: WorkloadFacts
    nearness: Nearness

    @property
    def workload(self) -> Workload:
        """Its name."""
        return self.facts.workload

    def sizes(self, metric: str) -> list[int]:
        """Return the batch sizes at which a metric is stored, ascending."""
        pairs = zip(self.facts.batch_sizes, self.facts.metrics, strict=True)
        return [size for size, metrics in pairs if size != CHANGES and metric in metrics]


def candidates(view: ReleaseView, run: Workload, batch_unit: str) -> list[Candidate]:
    """Return the stored workloads that a run of a workload may be shown beside, the nearest first.

    They have its data set and model, and their batch sizes count the same thing.
    """
    near: list[Candidate] = []
    for workload, facts in view.workloads.items():
        how = nearness(run, workload)
        if how is not None and {*view.batch_units(facts)} == {batch_unit}:
            near.append(Candidate(facts, how))
    return sorted(near, key=lambda each: each.nearness.rank)


def nearest_sizes(sizes: Sequence[int], batch_size: int) -> list[int]:
    """Return a batch size if it is one of these, else the next smaller and the next larger one that are."""
    if batch_size in sizes:
        return [batch_size]
    smaller = [size for size in sizes if size < batch_size]
    larger = [size for size in sizes if size > batch_size]
    return [*([max(smaller)] if smaller else []), *([min(larger)] if larger else [])]


def drawn_curves(facts: WorkloadFacts, sizes: Sequence[int]) -> tuple[list[tuple[str, str]], int, int]:
    """Return the parameters of a figure, the number of trials that it draws, and the number that is stored.

    It draws all trials of these batch sizes, or a sample of evenly many if there are too many to draw quickly.
    """
    trials = [*_trials_of(facts, sizes)]
    if len(trials) <= _MOST_DRAWN:
        return [("study", str(Study(facts.workload, size))) for size in sizes], len(trials), len(trials)
    places = np.linspace(0, len(trials) - 1, _MOST_DRAWN).astype(np.int64).tolist()
    return [("trial", str(trials[place])) for place in places], _MOST_DRAWN, len(trials)


def _trials_of(facts: WorkloadFacts, sizes: Sequence[int]) -> Iterator[Trial]:
    for size in sizes:
        study = Study(facts.workload, size)
        for trial_id in facts.trials.trial_id[facts.rows_of(facts.batch_sizes.index(size))].tolist():
            yield Trial(study, trial_id)


@dataclass(frozen=True)
class StoredTrials:
    """The trials of a study that count, and how many of them reach a goal.

    median: of their steps to the goal; None if half of them don't reach it, or there are none. n_stopped_earlier:
    stopped at an easier goal.
    """

    n: int
    n_reached: int
    median: float | None
    n_stopped_earlier: int


def _study_key(view: ReleaseView, workload: Workload, batch_size: int, goal: PageGoal) -> tuple[Any, ...]:
    """Return what distinguishes the trials of a study, as they stand to a goal, from others."""
    return view.digest, workload, batch_size, goal.metric, goal.target, goal.comparator, goal.direction


@cached(LRUCache(_MOST_CACHED), _study_key, threading.Lock())
def stored_trials(view: ReleaseView, workload: Workload, batch_size: int, goal: PageGoal) -> StoredTrials:
    """Return the trials of a study that count, by /v1/steps-to-target. Raises UnknownName and BadParameter."""
    parameters = {
        "workload": [str(workload)], "batch_size": [batch_size], "metric": goal.metric, "target": goal.target,
        "comparator": goal.comparator, "direction": goal.direction,
    }  # fmt: skip
    rows = QUESTION.answer(view, StepsToTargetParameters.model_validate(parameters)).table()
    steps = [math.inf if each is None else each for each in rows["steps"].to_pylist()]
    median = float(statistics.median(steps)) if steps else math.inf
    return StoredTrials(
        n=len(steps),
        n_reached=sum(map(math.isfinite, steps)),
        median=median if math.isfinite(median) else None,
        n_stopped_earlier=sum(rows["stopped_earlier"].to_pylist()),
    )


@cached(LRUCache(_MOST_COMPARED), _study_key, threading.Lock())
def trials_to_compare(view: ReleaseView, workload: Workload, batch_size: int, goal: PageGoal) -> Comparable:
    """Return the stored trials that a run is compared with, as /v1/analysis/forecast does.

    Raises UnknownName and BadParameter.
    """
    selection = Selection((workload,), goal.metric, goal.direction, statuses=(*COUNTED, INFEASIBLE))
    search = open_search(view, selection, workload)
    study = view.index_of(search.facts, batch_size)
    return comparable_trials(search, Goal(goal.target, goal.comparator), study).comparable

"""The charts of a study and of a trial: curves, and the map of metaparameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from schema.names import Study, Trial
from service.web.addresses import Query
from service.web.chart import Chart
from service.web.goals import GoalShown
from service.web.page import PageAsked
from service.web.statements import statement
from service.web.studies.trials import StudyTrials
from service.workload_facts import Integers

StepAxis = Literal["linear", "log"]
_MOST_ROWS = 100_000
"""Evaluations that are thinned and drawn in well under a second."""
_MOST_OF_FIGURE = 250_000
_POINTS = (200, 100, 48, 24, 12, 4)
_LEAST_POINTS = _POINTS[-1]
_MOST_OF_MANY = 100
"""Trials that stand for all where these are too many to be drawn."""
_POINTS_OF_A_TRIAL = 400
MOST_METRICS = 24
"""Of a trial, that are drawn and told of."""


def curves_of_study(
    asked: PageAsked, study: Study, metric: str, goal: GoalShown | None, axis: StepAxis, trials: StudyTrials
) -> Chart:
    """All curves of a study, coloured by what became of the trials; of too many trials some, evenly chosen."""
    measured = np.flatnonzero(trials.last_step >= 0)
    points = _points(trials, measured)
    chosen = measured if _n_rows(trials, measured, points) <= _MOST_OF_FIGURE else _some(measured)
    which: Query = [("study", str(study))]
    look = [("colour_by", "status")] if goal is None else [("colour_by", "outcome"), ("target", repr(goal.target))]
    if len(chosen) < len(measured):
        which = [("trial", f"{study}/{trials.trial_id[row]}") for row in chosen]
        points = _points(trials, chosen)
    who = "all trials" if len(chosen) == len(measured) else f"{len(chosen)} of {len(measured):,} trials"
    return Chart(
        name="curves",
        kind="curves",
        query=[*which, ("metric", metric), ("points", str(points)), ("axis", axis)],
        release=asked.view.number,
        title=f"{metric} of {who} by step, {study}",
        address=asked.address,
        height=460,
        sql=statement("curves_of_study", metric=metric, **study.key()),
        look=look,
    )


def map_of_study(asked: PageAsked, study: Study, goal: GoalShown) -> Chart:
    """Learning rate and momentum of every trial, and what became of it."""
    query = [
        ("workload", str(study.workload)),
        ("batch_size", str(study.batch_size)),
        ("metric", goal.metric),
        ("target", repr(goal.target)),
    ]
    return Chart(
        name="map",
        kind="learning-rate-momentum",
        query=query,
        release=asked.view.number,
        title=f"Learning rate and momentum of every trial, and whether it reached {goal.text}, {study}",
        address=asked.address,
        height=460,
        sql=statement("trials_of_study", metric=goal.metric, target=goal.target, **study.key()),
    )


def curves_of_trial(asked: PageAsked, trial: Trial, metrics: Sequence[str], axis: StepAxis) -> Iterator[Chart]:
    """The curve of a trial in each of these metrics."""
    for number, metric in enumerate(metrics, start=1):
        yield Chart(
            name=f"curve-{number}",
            kind="curves",
            query=[("trial", str(trial)), ("metric", metric), ("points", str(_POINTS_OF_A_TRIAL)), ("axis", axis)],
            release=asked.view.number,
            title=f"{metric} by step, {trial}",
            address=asked.address,
            height=300,
            sql=statement("curves_of_trial", trial_id=trial.trial_id, **trial.study.key()),
        )


def _points(trials: StudyTrials, rows: Integers) -> int:
    """The most evaluations a trial that are quick to draw."""
    return next((points for points in _POINTS if _n_rows(trials, rows, points) <= _MOST_ROWS), _LEAST_POINTS)


def _n_rows(trials: StudyTrials, rows: Integers, points: int) -> int:
    """About how many evaluations of these trials are left when they are thinned: records always are."""
    return len(rows) * points + int(trials.n_records[rows].sum())


def _some(rows: Integers) -> Integers:
    """Evenly chosen ones of many."""
    return rows[np.linspace(0, len(rows) - 1, _MOST_OF_MANY).astype(np.int64)]

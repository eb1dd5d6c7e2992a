"""The charts of a study and of a trial: curves, and the map of metaparameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake_schema.names import Study, Trial
from losslake_schema.reached import Integers
from losslake_service.web.chart import Chart
from losslake_service.web.goals import GoalShown
from losslake_service.web.lines import statement
from losslake_service.web.page import PageRequest
from losslake_service.web.studies.trials import StudyTrials

StepAxis = Literal["linear", "log"]
_MOST_EVALUATIONS = 100_000
"""That are thinned and drawn in well under a second."""
_MOST_OF_FIGURE = 250_000
_MOST_OF_A_PICTURE = 15_000
_MOST_MARKS_OF_A_PICTURE = 2000
_POINTS = (200, 100, 48, 24, 12, 4)
_MOST_OF_MANY = 100
"""Trials that stand for all where these are too many to be drawn."""
_POINTS_OF_A_TRIAL = 400
_HEIGHT = 460


@dataclass(frozen=True)
class Drawn:
    """Curves to draw. rows: of the trials. points: evaluations a trial to thin to; n_evaluations: about, in all."""

    rows: Integers
    points: int
    n_evaluations: int


def curves_of_study(
    request: PageRequest, study: Study, metric: str, goal: GoalShown | None, axis: StepAxis, trials: StudyTrials
) -> Chart:
    """Return all curves of a study, coloured by what became of the trials; of too many trials some, evenly chosen."""
    n_measured = int((trials.last_step >= 0).sum())
    drawn = drawn_of(trials)
    which, who = [("study", str(study))], "all trials"
    if len(drawn.rows) < n_measured:
        which = [("trial", f"{study}/{trials.trial_id[row]}") for row in drawn.rows]
        who = f"{len(drawn.rows)} of {n_measured:,} trials"
    return request.chart(
        "curves",
        [*which, ("metric", metric), ("points", str(drawn.points)), ("axis", axis)],
        f"{metric} of {who} by step, {study}",
        height=_HEIGHT,
        sql=statement("curves_of_study", metric=metric, **study.key()),
        is_large=drawn.n_evaluations > _MOST_OF_A_PICTURE,
        look=[("colour_by", "status")] if goal is None else [("colour_by", "outcome"), ("target", repr(goal.target))],
    )


def map_of_study(request: PageRequest, study: Study, goal: GoalShown, n_trials: int) -> Chart:
    """Return learning rate and momentum of every trial, and what became of it."""
    return request.chart(
        "learning-rate-momentum",
        goal_query(study, goal),
        f"Learning rate and momentum of every trial, and whether it reached {goal.text}, {study}",
        name="map",
        height=_HEIGHT,
        sql=statement("trials_of_study", **goal.parameters, **study.key()),
        is_large=n_trials > _MOST_MARKS_OF_A_PICTURE,
    )


def goal_query(study: Study, goal: GoalShown) -> list[tuple[str, str]]:
    """Return the parameters of an answer about a study and a goal."""
    of_study = [("workload", str(study.workload)), ("batch_size", str(study.batch_size))]
    return [*of_study, ("metric", goal.metric), ("target", repr(goal.target))]


def curves_of_trial(request: PageRequest, trial: Trial, metrics: Sequence[str], axis: StepAxis) -> Iterator[Chart]:
    """Yield the curve of a trial in each of these metrics."""
    for number, metric in enumerate(metrics, start=1):
        yield request.chart(
            "curves",
            [("trial", str(trial)), ("metric", metric), ("points", str(_POINTS_OF_A_TRIAL)), ("axis", axis)],
            f"{metric} by step, {trial}",
            name=f"curve-{number}",
            height=300,
            sql=statement("curves_of_trial", trial_id=trial.trial_id, **trial.study.key()),
        )


def drawn_of(trials: StudyTrials) -> Drawn:
    """Return what to draw of a study's evaluated trials, so that it is quick: most of it by thinning."""
    rows = np.flatnonzero(trials.last_step >= 0)
    drawn = _thinned(trials, rows)
    if drawn.n_evaluations <= _MOST_OF_FIGURE:
        return drawn
    return _thinned(trials, rows[np.linspace(0, len(rows) - 1, _MOST_OF_MANY).astype(np.int64)])


def _thinned(trials: StudyTrials, rows: Integers) -> Drawn:
    """Return these trials with as many points as are quick to draw. Records are never left out."""
    n_records = int(trials.n_records[rows].sum())
    points = next((each for each in _POINTS if len(rows) * each + n_records <= _MOST_EVALUATIONS), _POINTS[-1])
    return Drawn(rows, points, len(rows) * points + n_records)

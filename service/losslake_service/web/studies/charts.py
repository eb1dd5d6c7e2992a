"""The charts of a study and of a trial: curves and the map of metaparameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.step_amounts import measure_noun
from losslake_schema.names import Study, Trial
from losslake_schema.reached import Integers
from losslake_service.web.chart import Chart
from losslake_service.web.code_lines import statement
from losslake_service.web.goals import PageGoal
from losslake_service.web.measures import CountedParameters, measured
from losslake_service.web.page import PageRequest
from losslake_service.web.studies.trials import StudyTrials

# The evaluations that are thinned and drawn in well under a second.
_MOST_EVALUATIONS = 100_000
_MOST_OF_FIGURE = 250_000
_POINTS = (200, 100, 48, 24, 12, 4)
# The number of sampled trials if there are too many to draw.
_MOST_OF_MANY = 100
_HEIGHT = 400


class CurveParameters(CountedParameters):
    """The query of a page of curves."""

    axis: Literal["linear", "log"] = "linear"
    """The scale of the steps of curves."""

    @property
    def of_curves(self) -> dict[str, object]:
        """The parameters of an answer with curves: the axis, and what is counted."""
        return {"axis": self.axis, **measured(self)}

    @property
    def noun(self) -> str:
        """The measure in words, in the singular but for times: step, example, seconds."""
        return {"steps": "step", "examples": "example", "tokens": "token"}.get(self.measure, measure_noun(self.measure))


@dataclass(frozen=True)
class CurveSelection:
    """Curves to draw. rows: of the trials. points: per trial after thinning. n_evaluations: the approximate total."""

    rows: Integers
    points: int
    n_evaluations: int


def curves_of_study(
    request: PageRequest,
    study: Study,
    metric: str,
    goal: PageGoal | None,
    state: CurveParameters,
    trials: StudyTrials,
    colour: str = "",
    has_means: bool = False,
) -> Chart:
    """Return the chart of all curves of a study. Too many trials are sampled evenly.

    colour: the fact of trials that colours show; empty for their outcome. has_means: of settings, over all evaluations.
    """
    n_measured = int((trials.last_step >= 0).sum())
    drawn = select_curves(trials)
    which, who = {"study": [str(study)]}, "all trials"
    if len(drawn.rows) < n_measured:
        which = {"trial": [f"{study}/{trials.trial_id[row]}" for row in drawn.rows]}
        who = f"{len(drawn.rows)} of {n_measured:,} trials"
    points = None if has_means else drawn.points
    return request.chart(
        "curves",
        {**which, "metric": metric, "points": points, **state.of_curves},
        f"{metric} of {who}{', and means of settings,' if has_means else ''} by {state.noun}, {study}",
        height=_HEIGHT,
        sql=statement("curves_of_study", metric=metric, **study.shown_key()),
        options=_options(goal, colour, has_means),
    )


def can_have_means(facts: WorkloadFacts, index: int, n_evaluations: int) -> bool:
    """Return True if a setting of the study has several trials, and all evaluations are quick to draw."""
    settings = facts.trials.setting[facts.rows_of(index)]
    return n_evaluations <= _MOST_EVALUATIONS and len(np.unique(settings)) < len(settings)


def _options(goal: PageGoal | None, colour: str, has_means: bool) -> dict[str, object]:
    colours = {"colour_by": "fact", "fact": colour} if colour else {}
    if not colour and not has_means:
        colours = {"colour_by": "status" if goal is None else "outcome"}
    return {**colours, "mean": "settings" if has_means else None, "target": goal and goal.target}


def map_of_study(request: PageRequest, study: Study, goal: PageGoal) -> Chart:
    """Return the chart of the learning rate and outcome of every trial, by momentum if it differs, else by steps."""
    return request.chart(
        "learning-rate-momentum",
        goal_query(study, goal),
        f"Learning rate of every trial, and whether it reached {goal.text}, {study}",
        name="map",
        height=_HEIGHT,
        sql=statement("trials_of_study", **goal.parameters, **study.shown_key()),
    )


def goal_query(study: Study, goal: PageGoal) -> dict[str, object]:
    """Return the parameters of an answer about a study and a goal."""
    return {"workload": study.workload, "batch_size": study.batch_size, **goal.parameters}


def curves_of_trial(
    request: PageRequest, trial: Trial, metrics: Sequence[str], state: CurveParameters
) -> Iterator[Chart]:
    """Yield the chart of a trial's curve for each metric."""
    for number, metric in enumerate(metrics, start=1):
        yield request.chart(
            "curves",
            {"trial": trial, "metric": metric, "points": 400, **state.of_curves},
            f"{metric} by {state.noun}, {trial}",
            name=f"curve-{number}",
            height=300,
            sql=statement("curves_of_trial", trial_id=trial.trial_id, **trial.study.shown_key()),
        )


def select_curves(trials: StudyTrials) -> CurveSelection:
    """Return the curves of a study to draw, thinned or sampled so that drawing is quick."""
    rows = np.flatnonzero(trials.last_step >= 0)
    drawn = _thinned(trials, rows)
    if drawn.n_evaluations <= _MOST_OF_FIGURE:
        return drawn
    return _thinned(trials, rows[np.linspace(0, len(rows) - 1, _MOST_OF_MANY).astype(np.int64)])


def _thinned(trials: StudyTrials, rows: Integers) -> CurveSelection:
    """Return these trials with as many points as are quick to draw. Thinning keeps all records."""
    n_records = int(trials.n_records[rows].sum())
    points = next((each for each in _POINTS if len(rows) * each + n_records <= _MOST_EVALUATIONS), _POINTS[-1])
    return CurveSelection(rows, points, len(rows) * points + n_records)

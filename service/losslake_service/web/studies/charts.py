"""The charts of a study and of a trial: curves, and the map of metaparameters.

What a page offers of its table and of its raw data: files, and lines to copy.
The choice between linear and logarithmic steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake_schema.names import Study, Trial
from losslake_schema.reached import Integers
from losslake_schema.tables import STATUSES
from losslake_service.web.chart import Chart, Line, snippets
from losslake_service.web.goals import GoalShown
from losslake_service.web.page import PageAsked
from losslake_service.web.schema_tables import statement
from losslake_service.web.studies.trials import StudyTrials
from losslake_service.web.templates import Query, with_query

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
MOST_METRICS = 24
"""Of a trial, that are drawn and told of."""


@dataclass(frozen=True)
class Drawn:
    """Curves to draw. rows: of the trials. points: evaluations a trial to thin to; n_evaluations: about, in all."""

    rows: Integers
    points: int
    n_evaluations: int


def curves_of_study(
    asked: PageAsked, study: Study, metric: str, goal: GoalShown | None, axis: StepAxis, trials: StudyTrials
) -> Chart:
    """All curves of a study, coloured by what became of the trials; of too many trials some, evenly chosen."""
    n_measured = int((trials.last_step >= 0).sum())
    drawn = drawn_of(trials)
    is_whole = len(drawn.rows) == n_measured
    which = (
        [("study", str(study))] if is_whole else [("trial", f"{study}/{trials.trial_id[row]}") for row in drawn.rows]
    )
    who = "all trials" if is_whole else f"{len(drawn.rows)} of {n_measured:,} trials"
    return Chart(
        name="curves",
        kind="curves",
        query=[*which, ("metric", metric), ("points", str(drawn.points)), ("axis", axis)],
        release=asked.view.number,
        title=f"{metric} of {who} by step, {study}",
        address=asked.address,
        height=460,
        sql=statement("curves_of_study", metric=metric, **study.key()),
        is_large=drawn.n_evaluations > _MOST_OF_A_PICTURE,
        look=[("colour_by", "status")] if goal is None else [("colour_by", "outcome"), ("target", repr(goal.target))],
    )


def map_of_study(asked: PageAsked, study: Study, goal: GoalShown, n_trials: int) -> Chart:
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
        is_large=n_trials > _MOST_MARKS_OF_A_PICTURE,
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


def drawn_of(trials: StudyTrials) -> Drawn:
    """What to draw of a study's trials that have been evaluated, so that it is quick: most of it by thinning."""
    rows = np.flatnonzero(trials.last_step >= 0)
    found = _thinned(trials, rows)
    if found.n_evaluations <= _MOST_OF_FIGURE:
        return found
    return _thinned(trials, rows[np.linspace(0, len(rows) - 1, _MOST_OF_MANY).astype(np.int64)])


def _thinned(trials: StudyTrials, rows: Integers) -> Drawn:
    """These trials with as many points as are quick to draw. Records are never left out."""
    n_records = int(trials.n_records[rows].sum())
    points = next((each for each in _POINTS if len(rows) * each + n_records <= _MOST_EVALUATIONS), _POINTS[-1])
    return Drawn(rows, points, len(rows) * points + n_records)


_ENDINGS = (("CSV", "csv"), ("JSON", "json"), ("Parquet", "parquet"))
_KINDS = {"application/json", "text/csv", "application/vnd.apache.parquet"}


@dataclass(frozen=True)
class Link:
    """A link with its text."""

    text: str
    url: str


@dataclass(frozen=True)
class TakeAway:
    """An answer of REST in all its forms. name: to be told from others of the page. sql: what gives the same rows."""

    name: str
    title: str
    links: Sequence[Link]
    lines: Sequence[Line]
    sql: str = ""


def trials_of_study(asked: PageAsked, study: Study) -> TakeAway:
    """All trials with their metaparameters and sources."""
    return _take_away(asked, "of-trials", "Trials and metaparameters", "/v1/trials", [("study", str(study))])


def steps_of_study(asked: PageAsked, study: Study, goal: GoalShown) -> TakeAway:
    """All trials with their steps to the goal."""
    query = [("workload", str(study.workload)), ("batch_size", str(study.batch_size))]
    query += [("metric", goal.metric), ("target", repr(goal.target)), *(("status", status) for status in STATUSES)]
    sql = statement("trials_of_study", metric=goal.metric, target=goal.target, **study.key())
    return _take_away(asked, "of-steps", "Steps to the target", "/v1/steps-to-target", query, sql)


def measurements_of_study(asked: PageAsked, study: Study) -> TakeAway:
    """Every measurement of a study."""
    return _take_away(asked, "of-curves", "Every measurement", "/v1/curves", [("study", str(study))])


def measurements_of_trial(asked: PageAsked, trial: Trial) -> TakeAway:
    """Every measurement of a trial."""
    sql = statement("curves_of_trial", trial_id=trial.trial_id, **trial.study.key())
    return _take_away(asked, "of-curves", "Every measurement", "/v1/curves", [("trial", str(trial))], sql)


def _take_away(asked: PageAsked, name: str, title: str, path: str, query: Query, sql: str = "") -> TakeAway:
    pinned = [*query, ("release", str(asked.view.number))]
    links = [Link(text, with_query(f"{path}.{ending}", pinned)) for text, ending in _ENDINGS]
    lines = [Line(*found) for found in snippets(asked.address, path, pinned, _KINDS)]
    return TakeAway(name, title, links, lines, sql)


_PLACE = "#curves-heading"


@dataclass(frozen=True)
class Steps:
    """The curves over linear, and over logarithmic steps: addresses of the page."""

    linear: str
    log: str

    @staticmethod
    def of(url: Callable[[str | None], str]) -> Steps:
        """The addresses by what makes them of the axis; None is the default, linear."""
        return Steps(url(None) + _PLACE, url("log") + _PLACE)

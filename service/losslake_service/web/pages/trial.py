"""The page of a trial: its curves, what it came to, its metaparameters, and where all of that comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from losslake.output.texts import number_text
from losslake.questions.selection import named_trial
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Trial
from losslake_service.web.chart import Chart
from losslake_service.web.goals import GoalShown, goals_of
from losslake_service.web.page import Crumb, Page, PageAsked, PageKind, PageParameters
from losslake_service.web.studies.answers import BY_INDEX, StatusWords, trial_answer, trial_place
from losslake_service.web.studies.charts import MOST_METRICS, StepAxis, Steps, TakeAway, curves_of_trial
from losslake_service.web.studies.charts import measurements_of_trial as measurements_of_trial
from losslake_service.web.studies.facts import StudyFacts, TrialFacts, data_files, study_facts, trial_facts
from losslake_service.web.studies.metaparameters import Text, joined, search_space
from losslake_service.web.studies.trials import (
    GoalResult,
    LookedAt,
    MetricResult,
    goal_results,
    looked_at,
    metric_results,
    study_trials,
)
from losslake_service.web.templates import with_query


class TrialParameters(PageParameters):
    """The state of the page."""

    metric: str | None = None
    """The metric of the goal; default: that of the workload's first goal."""
    target: Annotated[float | None, Field(allow_inf_nan=False)] = None
    """The target; default: the workload's goal, else one that every batch size reaches."""
    axis: StepAxis = "linear"
    """Whether the curves have linear or logarithmic steps."""


@dataclass(frozen=True)
class Setting:
    """A metaparameter of the trial. value: in full; kind: its type in words; searched: from which range."""

    name: str
    value: str
    kind: str
    searched: str


@dataclass(frozen=True)
class Neighbour:
    """Another trial of the study."""

    trial_id: int
    url: str


@dataclass(frozen=True)
class TrialShown:
    """What the template shows. n_metrics: of the study; `metrics` and `charts` may be of some.

    before, after: the trials next to it by number. best: the study's best, None if it has none.
    """

    trial: Trial
    study_url: str
    study_facts: StudyFacts
    facts: TrialFacts
    status: StatusWords
    looked: LookedAt
    answer: str
    place: str
    known_metrics: Sequence[str]
    known_goals: Sequence[GoalShown]
    goals: Sequence[GoalResult]
    metrics: Sequence[MetricResult]
    n_metrics: int
    settings: Sequence[Setting]
    charts: Sequence[Chart]
    steps: Steps
    files: Sequence[str]
    take_away: TakeAway
    before: Neighbour | None
    after: Neighbour | None
    best: Neighbour | None
    state: TrialParameters


def trial_page(asked: PageAsked) -> Page:
    """The page of the trial that the path names; raises BadParameter and UnknownName."""
    trial = named_trial(asked.name)
    facts, index = asked.view.study(trial.study)
    asked.view.trial(trial)
    content = _shown(asked, trial, facts, index)
    workload, state = trial.study.workload, content.state
    name = f"{workload.model} on {workload.dataset} with {workload.optimizer}"
    goal = {"metric": state.metric, "target": state.target}
    return Page(
        template="trial.html",
        title=f"Trial {trial.trial_id}, batch size {trial.study.batch_size:,}: {name}",
        description=f"{content.answer} {content.place}".strip(),
        url=asked.page_of(trial, **goal, axis=None if state.axis == "linear" else state.axis),
        content=content,
        picture=next(iter(content.charts), None),
        above=(
            Crumb("Workloads", asked.url("/workloads")),
            Crumb(name, asked.page_of(workload, **goal)),
            Crumb(f"Batch size {trial.study.batch_size:,}", content.study_url),
        ),
        styles=("study.css",),
        scripts=("study.js",),
        data=with_query("/v1/curves.json", [("trial", trial), ("release", asked.view.number)]),
    )


def _shown(asked: PageAsked, trial: Trial, facts: WorkloadFacts, index: int) -> TrialShown:
    view, state, study = asked.view, asked.parameters, trial.study
    study_id = facts.first_study + index
    looked = looked_at(view, facts, index, state.metric, state.target)
    trials = study_trials(view, facts, index, looked)
    row = trials.row_of(trial.trial_id)
    known, own = study_facts(view, study_id), trial_facts(view, study_id, trial.trial_id)
    metrics = facts.metrics[index]
    drawn = sorted(metrics, key=lambda name: name != looked.metric)[:MOST_METRICS]
    goal = {"metric": state.metric, "target": state.target}
    is_measured = bool(trials.last_step[row] >= 0)

    def neighbour(at: int | None) -> Neighbour | None:
        if at is None or not 0 <= at < len(trials.trial_id):
            return None
        number = int(trials.trial_id[at])
        return Neighbour(number, asked.page_of(Trial(study, number), **goal))

    return TrialShown(
        trial=trial,
        study_url=asked.page_of(study, **goal),
        study_facts=known,
        facts=own,
        status=BY_INDEX[trials.status[row]],
        looked=looked,
        answer=trial_answer(looked.goal, trials, row),
        place=trial_place(looked.goal, trials, row),
        known_metrics=metrics,
        known_goals=[each for each in goals_of(view, facts) if each.metric in metrics],
        goals=goal_results(view, facts, index, row),
        metrics=metric_results(view, facts, index, row, drawn) if is_measured else (),
        n_metrics=len(metrics),
        settings=_settings(own, known),
        charts=list(curves_of_trial(asked, trial, drawn, state.axis)) if is_measured else (),
        steps=Steps.of(lambda axis: asked.page_of(trial, **goal, axis=axis)),
        files=data_files(view, facts, index),
        take_away=measurements_of_trial(asked, trial),
        before=neighbour(row - 1),
        after=neighbour(row + 1),
        best=neighbour(trials.best),
        state=state,
    )


def _settings(own: TrialFacts, known: StudyFacts) -> Sequence[Setting]:
    """The metaparameters that the trial has, by name."""
    space = search_space(known.parameter_configs)
    found = []
    for name, value in sorted(joined(own.parameters, own.attributes).items()):
        text, kind = (value.text, value.kind) if isinstance(value, Text) else (_in_full(value), "number")
        found.append(Setting(name, text, kind, space.get(name, "")))
    return found


def _in_full(value: float) -> str:
    """A number with all of its digits."""
    return str(number_text(value)).removesuffix(".0")


TRIAL = PageKind("/trials/{name:path}", TrialParameters, trial_page)

"""The page of a study: which trials reached a target at this batch size, how soon, and with what metaparameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from losslake.questions.selection import named_study
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Study, Trial
from losslake_service.web.chart import Chart
from losslake_service.web.goals import GoalShown, goals_of
from losslake_service.web.page import Crumb, Page, PageAsked, PageKind
from losslake_service.web.studies.answers import BY_INDEX, StatusWords, StudyAnswer, study_answer
from losslake_service.web.studies.charts import (
    Steps,
    TakeAway,
    curves_of_study,
    map_of_study,
    steps_of_study,
    trials_of_study,
)
from losslake_service.web.studies.charts import measurements_of_study as measurements_of_study
from losslake_service.web.studies.facts import StudyFacts, data_files, study_facts
from losslake_service.web.studies.metaparameters import (
    MOST_ROWS,
    Metaparameter,
    MetaparameterRow,
    metaparameter_rows,
    metaparameters_of_study,
    search_space,
)
from losslake_service.web.studies.state import Sizes, StudyParameters, sizes_of
from losslake_service.web.studies.trial_table import TableAsked, TableShown, table_shown, trial_table
from losslake_service.web.studies.trials import LookedAt, StudyTrials, looked_at, study_trials
from losslake_service.web.templates import with_query


@dataclass(frozen=True)
class StatusCount:
    """How many trials have a status. url: of the table with these alone."""

    words: StatusWords
    n_trials: int
    url: str


@dataclass(frozen=True)
class StudyShown:
    """What the template shows. space: metaparameters, n_space of them in all. best_url: of the trial in the answer."""

    study: Study
    workload_url: str
    facts: StudyFacts
    metrics: Sequence[str]
    goals: Sequence[GoalShown]
    looked: LookedAt
    answer: StudyAnswer | None
    best_url: str
    statuses: Sequence[StatusCount]
    space: Sequence[MetaparameterRow]
    n_space: int
    curves: Chart | None
    steps: Steps
    map: Chart | None
    table: TableShown
    take_aways: Sequence[TakeAway]
    sizes: Sizes
    files: Sequence[str]
    state: StudyParameters


def study_page(asked: PageAsked) -> Page:
    """The page of the study that the path names; raises BadParameter and UnknownName."""
    study = named_study(asked.name)
    facts, index = asked.view.study(study)
    content = _shown(asked, study, facts, index)
    workload, plain = study.workload, f"{content.facts.n_trials:,} trials of {study}: curves, metaparameters, sources."
    name = f"{workload.model} on {workload.dataset} with {workload.optimizer}"
    return Page(
        template="study.html",
        title=f"Batch size {study.batch_size:,}: {name}",
        description=content.answer.text if content.answer else plain,
        url=content.state.url(asked, study),
        content=content,
        picture=content.curves,
        above=(Crumb("Workloads", asked.url("/workloads")), Crumb(name, content.workload_url)),
        styles=("study.css",),
        scripts=("study.js",),
        data=with_query("/v1/trials.json", [("study", study), ("release", asked.view.number)]),
    )


def _shown(asked: PageAsked, study: Study, facts: WorkloadFacts, index: int) -> StudyShown:
    view, state = asked.view, asked.parameters
    looked = looked_at(view, facts, index, state.metric, state.target)
    trials = study_trials(view, facts, index, looked)
    metaparameters = metaparameters_of_study(view, facts.first_study + index)
    known = study_facts(view, facts.first_study + index)
    space = metaparameter_rows(trials, metaparameters, search_space(known.parameter_configs))
    table = trial_table(trials, metaparameters, TableAsked(state.status, state.reached, state.sort, state.page))
    state = state.model_copy(update={"page": table.page})
    answer = study_answer(looked.goal, trials, metaparameters) if looked.goal else None
    goal = {"metric": state.metric, "target": state.target}
    best = answer.trial_id if answer else None
    return StudyShown(
        study=study,
        workload_url=asked.page_of(study.workload, **goal),
        facts=known,
        metrics=facts.metrics[index],
        goals=[each for each in goals_of(view, facts) if each.metric in facts.metrics[index]],
        looked=looked,
        answer=answer,
        best_url="" if best is None else asked.page_of(Trial(study, best), **goal),
        statuses=list(_statuses(asked, study, state, trials)),
        space=space[:MOST_ROWS],
        n_space=len(space),
        curves=_curves(asked, study, state, looked, trials),
        steps=Steps.of(lambda axis: state.url(asked, study, axis=axis or "linear")),
        map=_map(asked, study, looked, metaparameters),
        table=table_shown(asked, study, state, trials, looked, table),
        take_aways=list(_take_aways(asked, study, looked)),
        sizes=sizes_of(asked, facts, index, state),
        files=data_files(view, facts, index),
        state=state,
    )


def _curves(
    asked: PageAsked, study: Study, state: StudyParameters, looked: LookedAt, trials: StudyTrials
) -> Chart | None:
    """The curves of a metric; None where there are none."""
    if looked.metric is None or not (trials.last_step >= 0).any():
        return None
    return curves_of_study(asked, study, looked.metric, looked.goal, state.axis, trials)


def _statuses(asked: PageAsked, study: Study, state: StudyParameters, trials: StudyTrials) -> Iterator[StatusCount]:
    """Those that any trial has."""
    for index, words in enumerate(BY_INDEX):
        n_trials = int(np.count_nonzero(trials.status == index))
        if n_trials:
            url = state.url(asked, study, status=words.status, reached=None, page=1)
            yield StatusCount(words, n_trials, f"{url}#trials")


def _map(asked: PageAsked, study: Study, looked: LookedAt, metaparameters: Sequence[Metaparameter]) -> Chart | None:
    """The map of learning rates; None where no trial has a place on it."""
    values = [value for each in metaparameters if each.name == "learning_rate" for value in each.values]
    n_placed = sum(isinstance(value, float) and value > 0 for value in values)
    return map_of_study(asked, study, looked.goal, n_placed) if looked.goal and n_placed else None


def _take_aways(asked: PageAsked, study: Study, looked: LookedAt) -> Iterator[TakeAway]:
    if looked.goal:
        yield steps_of_study(asked, study, looked.goal)
    yield trials_of_study(asked, study)
    yield measurements_of_study(asked, study)


STUDY = PageKind("/studies/{name:path}", StudyParameters, study_page)

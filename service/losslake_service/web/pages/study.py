"""The page of a study: which trials reached a target at this batch size, how soon, and with what metaparameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from losslake.questions.selection import named_study
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Study, Trial
from losslake_schema.tables import STATUSES
from losslake_service.web.chart import Chart
from losslake_service.web.goals import GoalShown, goals_of
from losslake_service.web.lines import statement
from losslake_service.web.page import Page, PageKind, PageRequest
from losslake_service.web.studies.answers import STATUS_WORDS, StatusWords, study_answer
from losslake_service.web.studies.charts import curves_of_study, goal_query, map_of_study
from losslake_service.web.studies.metaparameters import (
    Metaparameter,
    metaparameter_rows,
    metaparameters_of_study,
    search_space,
)
from losslake_service.web.studies.sources import data_files, study_facts, take_away
from losslake_service.web.studies.trial_table import StudyParameters, table_shown
from losslake_service.web.studies.trials import StudyTrials, looked_at, study_trials
from losslake_service.web.templates import with_query

_MOST_METAPARAMETERS = 40
_MOST_SIZES = 40


def study_page(request: PageRequest) -> Page:
    """Return the page of the study that the path names; raises BadParameter and UnknownName."""
    view, state, study = request.view, request.parameters, named_study(request.name)
    facts, index = view.study(study)
    workload, study_id = study.workload, facts.first_study + index
    looked = looked_at(view, facts, index, state.metric, state.target)
    trials = study_trials(view, facts, index, looked.goal)
    metaparameters = metaparameters_of_study(view, study_id)
    known = study_facts(view, study_id)
    space = metaparameter_rows(trials, metaparameters, search_space(known["parameter_configs"]))
    table = table_shown(request, study, state, trials, looked.goal, metaparameters)
    state = state.model_copy(update={"page": table["pages"].number})
    answer = study_answer(looked.goal, trials, metaparameters) if looked.goal else None
    best = answer.trial_id if answer else None
    curves = None
    if looked.metric is not None and (trials.last_step >= 0).any():
        curves = curves_of_study(request, study, looked.metric, looked.goal, state.axis, trials)
    name = f"{workload.model} on {workload.dataset} with {workload.optimizer}"
    workload_url = request.page_of(workload, **state.goal)
    plain = f"{known['n_trials']:,} trials of {study}: curves, metaparameters, sources."
    return Page(
        template="study.html",
        title=f"Batch size {study.batch_size:,}: {name}",
        description=answer.text if answer else plain,
        url=state.url(request, study),
        content={
            "study": study,
            "workload_url": workload_url,
            "facts": known,
            "metrics": facts.metrics[index],
            "goals": [each for each in goals_of(view, facts) if each.metric in facts.metrics[index]],
            "looked": looked,
            "answer": answer,
            "best_url": "" if best is None else request.page_of(Trial(study, best), **state.goal),
            "statuses": list(_statuses(request, study, state, trials)),
            "space": space[:_MOST_METAPARAMETERS],
            "n_space": len(space),
            "curves": curves,
            "axes": [(axis, state.url(request, study, axis=axis)) for axis in ("linear", "log")],
            "map": _map(request, study, looked.goal, metaparameters),
            "table": table,
            "take_aways": _take_aways(request, study, looked.goal),
            "files": data_files(view, facts, index),
            "state": state,
            **_sizes(request, facts, index),
        },
        picture=curves,
        above=(("Workloads", request.url("/workloads")), (name, workload_url)),
        styles=("study.css",),
        scripts=("study.js",),
        data=with_query("/v1/trials.json", [("study", study), ("release", view.number)]),
    )


def _sizes(request: PageRequest, facts: WorkloadFacts, index: int) -> dict[str, object]:
    """Return the batch sizes around that of the study, ascending, and those next to it, each with its page."""
    goal = request.parameters.goal
    sizes = [(size, request.page_of(Study(facts.workload, size), **goal)) for size in facts.batch_sizes]
    first = max(0, min(index - _MOST_SIZES // 2, len(sizes) - _MOST_SIZES))
    return {
        "sizes": sizes[first : first + _MOST_SIZES],
        "n_sizes": len(sizes),
        "before": sizes[index - 1] if index else None,
        "after": sizes[index + 1] if index + 1 < len(sizes) else None,
    }


def _statuses(
    request: PageRequest, study: Study, state: StudyParameters, trials: StudyTrials
) -> Iterator[tuple[StatusWords, int, str]]:
    """Yield each status that any trial has, how many have it, and the address of the table with these alone."""
    for words, n_trials in zip(STATUS_WORDS, np.bincount(trials.status, minlength=len(STATUSES)).tolist(), strict=True):
        if n_trials:
            url = state.url(request, study, status=words.status, reached=None, page=1)
            yield words, n_trials, f"{url}#trials"


def _map(
    request: PageRequest, study: Study, goal: GoalShown | None, metaparameters: Sequence[Metaparameter]
) -> Chart | None:
    """Return the map of learning rates; None where no trial has a place on it."""
    values = [value for each in metaparameters if each.name == "learning_rate" for value in each.values]
    n_placed = sum(isinstance(value, float) and value > 0 for value in values)
    return map_of_study(request, study, goal, n_placed) if goal and n_placed else None


def _take_aways(request: PageRequest, study: Study, goal: GoalShown | None) -> Iterator[dict[str, object]]:
    query = [("study", str(study))]
    if goal:
        of_goal = [*goal_query(study, goal), *(("status", status) for status in STATUSES)]
        sql = statement("trials_of_study", **goal.parameters, **study.key())
        yield take_away(request, "of-steps", "Steps to the target", "/v1/steps-to-target", of_goal, sql)
    yield take_away(request, "of-trials", "Trials and metaparameters", "/v1/trials", query)
    yield take_away(request, "of-curves", "Every measurement", "/v1/curves", query)


STUDY = PageKind("/studies/{name:path}", StudyParameters, study_page)

"""The page of a study: the trials that reached a target at one batch size, their steps and metaparameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from losslake.questions.release.known_names import heading_of
from losslake.questions.release.parsed_names import parse_study
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.selection import Selection
from losslake_schema.names import CHANGES, Study, Trial
from losslake_schema.statuses import STATUSES
from losslake_service.web.chart import Chart
from losslake_service.web.code_lines import statement
from losslake_service.web.goals import PageGoal, goals_of
from losslake_service.web.measures import OfferedMeasure, measured, offered_measures
from losslake_service.web.own_run import own_run
from losslake_service.web.page import Page, PageKind, PageRequest
from losslake_service.web.studies.answers import STATUS_WORDS, StatusWords, study_answer
from losslake_service.web.studies.charts import can_have_means, curves_of_study, goal_query, map_of_study
from losslake_service.web.studies.metaparameters import (
    Metaparameter,
    in_words,
    is_search,
    metaparameter_groups,
    metaparameters_of_study,
    search_space,
)
from losslake_service.web.studies.schedule import schedule_in_words
from losslake_service.web.studies.sources import (
    contributors,
    data_downloads,
    data_files,
    model_facts,
    schedules_in_words,
    size_in_words,
    study_facts,
)
from losslake_service.web.studies.trial_table import StudyParameters, choices, table_section
from losslake_service.web.studies.trials import StudyTrials, select_goal, study_trials
from losslake_service.web.templates import with_query

_MOST_SIZES = 14


def study_page(request: PageRequest) -> Page:
    """Return the page of the study that the path names; raises BadParameter and UnknownName."""
    view, state, study = request.view, request.parameters, parse_study(request.name)
    facts, index = view.study(study)
    workload, study_id = study.workload, facts.first_study + index
    selected = select_goal(view, facts, index, state.metric, state.target)
    metric, goal = selected.metric, selected.goal
    trials = study_trials(view, facts, index, goal, state)
    metaparameters = metaparameters_of_study(view, study_id)
    of_study = study_facts(view, study_id)
    space = search_space(of_study["parameter_configs"])
    table = table_section(request, study, state, trials, goal, metaparameters)
    state = state.model_copy(update={"page": table["pages"].number})
    answer = study_answer(goal, trials, metaparameters) if goal else None
    best = answer.trial_id if answer else None
    curves, has_means = None, can_have_means(facts, index, of_study["n_evaluations"])
    if metric is not None and (trials.last_step >= 0).any():
        is_mean = has_means and state.mean is not None
        curves = curves_of_study(request, study, metric, goal, state, trials, state.colour, is_mean)
    name = heading_of(workload)
    workload_url = request.page_url(workload, **state.goal)
    plain = f"{of_study['n_trials']:,} trials of {study}: curves, metaparameters, sources."
    return Page(
        template="study.html",
        title=f"Batch size {size_in_words(view, facts, study, of_study['batch_unit'])}: {name}",
        description=answer.text if answer else plain,
        url=state.url(request, study),
        content={
            "study": study,
            "facts": of_study,
            "model": model_facts(view, facts, facts.rows_of(index)),
            "size": size_in_words(view, facts, study),
            "schedules": schedules_in_words(view, facts, study),
            "contributors": contributors(view, study_id),
            "schedule": schedule_in_words(facts.trials[facts.rows_of(index)]),
            "metrics": facts.metrics[index],
            "goals": [each for each in goals_of(view, facts) if each.metric in facts.metrics[index]],
            "selected": selected,
            "answer": answer,
            "best_url": "" if best is None else request.page_url(Trial(study, best), **state.goal),
            "statuses": list(_statuses(request, study, state, trials)),
            "is_searched": bool(space),
            "of_trials": in_words(metaparameters, space, len(trials.trial_id)),
            "measures": _measures(request, study, goal),
            "metaparameters": list(metaparameter_groups(trials, metaparameters, space)),
            "choices": choices(metaparameters),
            "curves": curves,
            "axes": [(axis, state.url(request, study, axis=axis)) for axis in ("linear", "log")],
            "means": state.url(request, study, mean=None if state.mean else "settings") if has_means else None,
            "map": _map(request, study, goal, metaparameters) if is_search(metaparameters, space) else None,
            "table": table,
            "downloads": _downloads(request, study, goal),
            "files": data_files(view, facts, index),
            "state": state,
            "own_run": own_run(view, workload, study.batch_size, metric, goal) if study.batch_size != CHANGES else None,
            **_sizes(request, facts, index),
        },
        picture=curves,
        above=(("Curves", request.url("/workloads")), (name, workload_url)),
        styles=("study.css",),
        scripts=("study.js",),
        withdrawn=request.withdrawn(study),
        data=with_query("/v1/trials.json", [("study", study), ("release", view.number)]),
    )


def _measures(request: PageRequest, study: Study, goal: PageGoal | None) -> list[OfferedMeasure]:
    """Return what the page can count in; nothing without a goal."""
    state: StudyParameters = request.parameters

    def url(measure: str | None, **others: None) -> str:
        return state.url(request, study, measure=measure or "steps", **others, sort="amount", page=1)

    if goal is None:
        return []
    selection = Selection((study.workload,), goal.metric, statuses=STATUSES)
    return list(offered_measures(request.view, selection, measured(state), url))


def _sizes(request: PageRequest, facts: WorkloadFacts, index: int) -> dict[str, object]:
    """Return the batch sizes around that of the study, and the previous and next one, with their addresses."""
    goal = request.parameters.goal
    sizes = [(size or "changes", request.page_url(Study(facts.workload, size), **goal)) for size in facts.batch_sizes]
    current = sizes[index][0]
    first = max(0, min(index - _MOST_SIZES // 2, len(sizes) - _MOST_SIZES))
    return {
        "sizes": sizes[first : first + _MOST_SIZES],
        "current_size": current,
        "n_sizes": len(sizes),
        "before": sizes[index - 1] if index else None,
        "after": sizes[index + 1] if index + 1 < len(sizes) else None,
    }


def _statuses(
    request: PageRequest, study: Study, state: StudyParameters, trials: StudyTrials
) -> Iterator[tuple[StatusWords, int, str]]:
    """Yield each status that occurs, its number of trials, and the address of the table filtered by it."""
    for words, n_trials in zip(STATUS_WORDS, np.bincount(trials.status, minlength=len(STATUSES)).tolist(), strict=True):
        if n_trials:
            url = state.url(request, study, status=words.status, reached=None, page=1)
            yield words, n_trials, f"{url}#trials"


def _map(
    request: PageRequest, study: Study, goal: PageGoal | None, metaparameters: Sequence[Metaparameter]
) -> Chart | None:
    """Return the map of learning rates; None if no trial has a positive one."""
    values = [value for each in metaparameters if each.name == "learning_rate" for value in each.values]
    has_any = any(isinstance(value, float) and value > 0 for value in values)
    return map_of_study(request, study, goal) if goal and has_any else None


def _downloads(request: PageRequest, study: Study, goal: PageGoal | None) -> Iterator[dict[str, object]]:
    query = {"study": study}
    if goal:
        of_goal = goal_query(study, goal) | {"status": STATUSES}
        sql = statement("trials_of_study", **goal.parameters, **study.shown_key())
        yield data_downloads(request, "of-steps", "Steps to the target", "/v1/steps-to-target", of_goal, sql)
    yield data_downloads(request, "of-trials", "Trials and metaparameters", "/v1/trials", query)
    yield data_downloads(request, "of-curves", "Every measurement", "/v1/curves", query)


STUDY = PageKind("/studies/{name:path}", StudyParameters, study_page)

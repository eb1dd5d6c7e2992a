"""The page of a trial: its curves, results, metaparameters and provenance."""

from __future__ import annotations

from collections.abc import Sequence

from losslake.questions.release.known_names import heading_of
from losslake.questions.release.parsed_names import parse_trial
from losslake.questions.trials.selection import Selection
from losslake.record.numbers import json_number
from losslake_schema.names import CHANGES, Trial
from losslake_schema.statuses import STATUSES
from losslake_service.web.code_lines import statement
from losslake_service.web.goals import goals_of
from losslake_service.web.measures import measured, offered_measures
from losslake_service.web.own_run import own_run
from losslake_service.web.page import Page, PageKind, PageRequest
from losslake_service.web.studies.answers import STATUS_WORDS, trial_answer, trial_place
from losslake_service.web.studies.charts import CurveParameters, curves_of_trial
from losslake_service.web.studies.metaparameters import Text, joined, search_space
from losslake_service.web.studies.schedule import schedule_in_words
from losslake_service.web.studies.sources import (
    Facts,
    contributors,
    data_downloads,
    data_files,
    model_facts,
    size_in_words,
    study_facts,
    trial_facts,
)
from losslake_service.web.studies.trials import goal_results, metric_results, select_goal, study_trials
from losslake_service.web.templates import with_query

# The most metrics of a trial on the page.
MOST_METRICS = 24


def trial_page(request: PageRequest) -> Page:
    """Return the page of the trial that the path names; raises BadParameter and UnknownName."""
    view, state, trial = request.view, request.parameters, parse_trial(request.name)
    study, workload = trial.study, trial.study.workload
    facts, index = view.study(study)
    view.trial(trial)
    study_id = facts.first_study + index
    selected = select_goal(view, facts, index, state.metric, state.target)
    trials = study_trials(view, facts, index, selected.goal, state)
    row = trials.row_of(trial.trial_id)
    of_study, of_trial = study_facts(view, study_id), trial_facts(view, study_id, trial.trial_id)
    metrics = facts.metrics[index]
    is_measured = bool(facts.trials.last_step[facts.rows_of(index)][row] >= 0)
    drawn = sorted(metrics, key=lambda name: name != selected.metric)[:MOST_METRICS] if is_measured else []
    charts = list(curves_of_trial(request, trial, drawn, state))
    answer, place = trial_answer(selected.goal, trials, row), trial_place(selected.goal, trials, row)

    def neighbour(at: int | None) -> tuple[int, str] | None:
        """Return the number and the address of another trial of the study."""
        if at is None or not 0 <= at < len(trials.trial_id):
            return None
        number = int(trials.trial_id[at])
        return number, request.page_url(Trial(study, number), **state.goal)

    name = heading_of(workload)
    study_url = request.page_url(study, **state.goal)
    urls = {axis: request.page_url(trial, **state.goal, axis=axis) for axis in (None, "log")}
    selection = Selection((workload,), selected.goal.metric, statuses=STATUSES) if selected.goal else None
    axis = None if state.axis == "linear" else state.axis

    def url(**measure: str | None) -> str:
        return request.page_url(trial, **(state.goal | {"axis": axis} | measure))

    measures = list(offered_measures(view, selection, measured(state), url)) if selection else []
    sql = statement("curves_of_trial", trial_id=trial.trial_id, **study.shown_key())
    return Page(
        template="trial.html",
        title=f"Trial {trial.trial_id}, batch size {size_in_words(view, facts, study, of_study['batch_unit'])}: {name}",
        description=f"{answer} {place}".strip(),
        url=urls[axis],
        content={
            "trial": trial,
            "study_facts": of_study,
            "facts": of_trial,
            "model": model_facts(view, facts, slice(first := facts.rows_of(index).start + row, first + 1)),
            "contributors": contributors(view, study_id, trial.trial_id),
            "status": STATUS_WORDS[trials.status[row]],
            "schedule": schedule_in_words(facts.trials[facts.rows_of(index)][row : row + 1]),
            "selected": selected,
            "answer": answer,
            "place": place,
            "known_metrics": metrics,
            "known_goals": [each for each in goals_of(view, facts) if each.metric in metrics],
            "goals": list(goal_results(view, facts, index, row, state)),
            "metrics": list(metric_results(view, facts, index, row, drawn)),
            "settings": _settings(of_trial, of_study),
            "charts": charts,
            "axes": [("linear", urls[None]), ("log", urls["log"])],
            "files": data_files(view, facts, index),
            "data_downloads": data_downloads(
                request, "of-curves", "Every measurement", "/v1/curves", {"trial": trial}, sql
            ),
            "same_as": neighbour(trials.row_of(of_trial["same_as"])) if of_trial["same_as"] is not None else None,
            "before": neighbour(row - 1),
            "after": neighbour(row + 1),
            "noun": trials.noun,
            "measures": measures,
            "best": neighbour(trials.best),
            "state": state,
            "own_run": own_run(view, workload, study.batch_size, selected.metric, selected.goal)
            if study.batch_size != CHANGES
            else None,
        },
        picture=charts[0] if charts else None,
        above=(
            ("Curves", request.url("/workloads")),
            (name, request.page_url(workload, **state.goal)),
            (f"Batch size {size_in_words(view, facts, study)}", study_url),
        ),
        styles=("study.css",),
        scripts=("study.js",),
        withdrawn=request.withdrawn(trial),
        data=with_query("/v1/curves.json", [("trial", trial), ("release", view.number)]),
    )


def _settings(of_trial: Facts, of_study: Facts) -> Sequence[tuple[str, str, str, str]]:
    """Return name, full value, type and search space of each metaparameter of the trial, by name."""
    space = search_space(of_study["parameter_configs"])
    settings = []
    for name, value in sorted(joined(of_trial["parameters"], of_trial["attributes"]).items()):
        text, kind = (value.text, value.kind) if isinstance(value, Text) else (_in_full(value), "number")
        settings.append((name, text, kind, space.get(name, "")))
    return settings


def _in_full(value: float) -> str:
    """Return a number with all of its digits."""
    return str(json_number(value)).removesuffix(".0")


TRIAL = PageKind("/trials/{name:path}", CurveParameters, trial_page)

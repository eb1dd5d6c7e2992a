"""The page of a trial: its curves, what it came to, its metaparameters, and where all of that comes from."""

from __future__ import annotations

from collections.abc import Sequence

from losslake.output.texts import number_text
from losslake.questions.selection import named_trial
from losslake_schema.names import Trial
from losslake_service.web.goals import goals_of
from losslake_service.web.lines import statement
from losslake_service.web.page import GoalParameters, Page, PageKind, PageRequest
from losslake_service.web.studies.answers import STATUS_WORDS, trial_answer, trial_place
from losslake_service.web.studies.charts import StepAxis, curves_of_trial
from losslake_service.web.studies.metaparameters import Text, joined, search_space
from losslake_service.web.studies.sources import Facts, data_files, study_facts, take_away, trial_facts
from losslake_service.web.studies.trials import goal_results, looked_at, metric_results, study_trials
from losslake_service.web.templates import with_query

MOST_METRICS = 24
"""Of a trial, that are drawn and whose best values are shown."""


class TrialParameters(GoalParameters):
    """The query of the page."""

    axis: StepAxis = "linear"
    """Whether the curves have linear or logarithmic steps."""


def trial_page(request: PageRequest) -> Page:
    """Return the page of the trial that the path names; raises BadParameter and UnknownName."""
    view, state, trial = request.view, request.parameters, named_trial(request.name)
    study, workload = trial.study, trial.study.workload
    facts, index = view.study(study)
    view.trial(trial)
    study_id = facts.first_study + index
    looked = looked_at(view, facts, index, state.metric, state.target)
    trials = study_trials(view, facts, index, looked.goal)
    row = trials.row_of(trial.trial_id)
    of_study, of_trial = study_facts(view, study_id), trial_facts(view, study_id, trial.trial_id)
    metrics = facts.metrics[index]
    is_measured = bool(trials.last_step[row] >= 0)
    drawn = sorted(metrics, key=lambda name: name != looked.metric)[:MOST_METRICS] if is_measured else []
    charts = list(curves_of_trial(request, trial, drawn, state.axis))
    answer, place = trial_answer(looked.goal, trials, row), trial_place(looked.goal, trials, row)

    def neighbour(at: int | None) -> tuple[int, str] | None:
        """Another trial of the study by its number, and its page."""
        if at is None or not 0 <= at < len(trials.trial_id):
            return None
        number = int(trials.trial_id[at])
        return number, request.page_of(Trial(study, number), **state.goal)

    name = f"{workload.model} on {workload.dataset} with {workload.optimizer}"
    study_url = request.page_of(study, **state.goal)
    urls = {axis: request.page_of(trial, **state.goal, axis=axis) for axis in (None, "log")}
    sql = statement("curves_of_trial", trial_id=trial.trial_id, **study.key())
    return Page(
        template="trial.html",
        title=f"Trial {trial.trial_id}, batch size {study.batch_size:,}: {name}",
        description=f"{answer} {place}".strip(),
        url=urls[None if state.axis == "linear" else state.axis],
        content={
            "trial": trial,
            "study_url": study_url,
            "study_facts": of_study,
            "facts": of_trial,
            "status": STATUS_WORDS[trials.status[row]],
            "looked": looked,
            "answer": answer,
            "place": place,
            "known_metrics": metrics,
            "known_goals": [each for each in goals_of(view, facts) if each.metric in metrics],
            "goals": list(goal_results(view, facts, index, row)),
            "metrics": list(metric_results(view, facts, index, row, drawn)),
            "settings": _settings(of_trial, of_study),
            "charts": charts,
            "axes": [("linear", urls[None]), ("log", urls["log"])],
            "files": data_files(view, facts, index),
            "take_away": take_away(
                request, "of-curves", "Every measurement", "/v1/curves", [("trial", str(trial))], sql
            ),
            "before": neighbour(row - 1),
            "after": neighbour(row + 1),
            "best": neighbour(trials.best),
            "state": state,
        },
        picture=charts[0] if charts else None,
        above=(
            ("Workloads", request.url("/workloads")),
            (name, request.page_of(workload, **state.goal)),
            (f"Batch size {study.batch_size:,}", study_url),
        ),
        styles=("study.css",),
        scripts=("study.js",),
        data=with_query("/v1/curves.json", [("trial", trial), ("release", view.number)]),
    )


def _settings(of_trial: Facts, of_study: Facts) -> Sequence[tuple[str, str, str, str]]:
    """Return, by name, the metaparameters of the trial: name, value in full, type, and the range it was drawn from."""
    space = search_space(of_study["parameter_configs"])
    settings = []
    for name, value in sorted(joined(of_trial["parameters"], of_trial["attributes"]).items()):
        text, kind = (value.text, value.kind) if isinstance(value, Text) else (_in_full(value), "number")
        settings.append((name, text, kind, space.get(name, "")))
    return settings


def _in_full(value: float) -> str:
    """Return a number with all of its digits."""
    return str(number_text(value)).removesuffix(".0")


TRIAL = PageKind("/trials/{name:path}", TrialParameters, trial_page)

"""The tables of the page, with a row for each batch size: its steps to the target, its best value within a budget."""

from __future__ import annotations

from typing import Any

from losslake.output.answer import Answer
from losslake.questions import best, metaparameters, quality, scaling
from losslake.questions.parameters import SelectionParameters
from losslake_schema.names import Study, Trial
from losslake_schema.tables import STATUSES
from losslake_service.web.workload.answer_words import as_sentences
from losslake_service.web.workload.key_figures import Row
from losslake_service.web.workload.request import WorkloadParameters, WorkloadRequest


def study_rows(request: WorkloadRequest, regimes: Answer) -> list[Row]:
    """Return the rows of `scaling` with regime, learning rate of the best trial, and trials that don't count.

    regimes: the answer to the same goal.
    """
    facts = request.facts
    uncounted = [
        facts.sums_by_study(facts.trials.status == STATUSES.index(status)).tolist()
        for status in ("INCOMPLETE", "INFEASIBLE")
    ]
    rows = scaling.answer(request.page.view, scaling.ScalingParameters(**request.of_goal)).table().to_pylist()
    columns = zip(rows, regimes.table()["regime"].to_pylist(), _learning_rates(request), *uncounted, strict=True)
    return [
        _linked(request, row)
        | {"regime": regime, "learning_rate": rate, "n_incomplete": n_incomplete, "n_infeasible": n_infeasible}
        for row, regime, rate, n_incomplete, n_infeasible in columns
    ]


def budget_shown(request: WorkloadRequest) -> dict[str, object]:
    """Return the best values within the budget of the request, and what large batch sizes lose by it."""
    given: WorkloadParameters = request.page.parameters
    budgets = {"step_budget": given.step_budget, "example_budget": given.example_budget}
    limits = [f"{count:,} {name.removesuffix('_budget')}s" for name, count in budgets.items() if count is not None]
    words = f" within {' and '.join(limits)}" if limits else ""
    query = [*request.metric_query, *((name, str(count)) for name, count in budgets.items() if count is not None)]
    title = f"Best {request.goal.metric} by batch size{words}"
    parameters = SelectionParameters(**(request.of_metric | budgets))
    rows = best.answer(request.page.view, parameters).table().to_pylist()
    return {
        **budgets,
        "words": words,
        "rows": [_linked(request, row) for row in rows],
        "conclusions": _conclusions(request, given),
        "chart": request.chart("best", title, "records_of_workload", query, height=360, is_sql_behind=True),
    }


def _linked(request: WorkloadRequest, row: Row) -> Row:
    """Return a row of an answer with the addresses of its study and its trial; the latter is empty without a trial."""
    study, number = Study(request.workload, row["batch_size"]), row["trial_id"]
    trial_url = "" if number is None else request.page_of(Trial(study, number))
    return row | {"url": request.page_of(study), "trial_url": trial_url}


def _learning_rates(request: WorkloadRequest) -> list[float | None]:
    """Return, by study, that of the trial with the fewest steps, where it is a number."""
    parameters = metaparameters.MetaparametersParameters(**request.of_goal, within=0)
    rows = metaparameters.answer(request.page.view, parameters).table().to_pylist()
    values: list[Any] = [dict(row["parameters"] or ()).get("learning_rate") for row in rows if row["rank"] in (None, 1)]
    return [value if isinstance(value, float) else None for value in values]


def _conclusions(request: WorkloadRequest, given: WorkloadParameters) -> list[tuple[str, str, bool]]:
    """Return each conclusion with the page of its budget and whether that is shown.

    For the budgets that are given, else for those that every batch size was trained for; and without a limit.
    """
    now = {"steps": given.step_budget, "examples": given.example_budget}
    steps, examples = ([] if count is None else [count] for count in now.values())
    parameters = quality.QualityParameters(**request.of_metric, step_budget=steps, example_budget=examples)
    facts = quality.answer(request.page.view, parameters).facts["conclusions"]
    sentences = as_sentences(request.workload, [fact["in_words"] for fact in facts])
    conclusions = []
    for fact, sentence in zip(facts, sentences, strict=True):
        budget = {kind: fact["budget"] if kind == fact["budget_kind"] else None for kind in now}
        url = request.page_of(request.workload, step_budget=budget["steps"], example_budget=budget["examples"])
        conclusions.append((sentence, f"{url}#budget", budget == now))
    return conclusions

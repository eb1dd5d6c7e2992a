"""The tables of the page, with a row for each batch size: steps to the target, and best value within a budget."""

from __future__ import annotations

from typing import Any

from losslake.output.answer import Answer
from losslake.questions import best, metaparameters, quality
from losslake.questions.declaration.parameters import BudgetParameters, SelectionParameters
from losslake.questions.release.workload_facts import workload_labels
from losslake_schema.names import CHANGES, Study, Trial, Workload
from losslake_schema.statuses import INCOMPLETE, INFEASIBLE, STATUSES
from losslake_service.web.workload.answer_words import as_sentences
from losslake_service.web.workload.key_figures import AnswerRow
from losslake_service.web.workload.request import WorkloadParameters, WorkloadRequest


def study_rows(request: WorkloadRequest, scaling: Answer, regimes: Answer | None) -> list[AnswerRow]:
    """Return the rows of /v1/scaling with regime, learning rate of their trial, and trials that don't count.

    The trial of a row, and its `amount` and `amount_steps`, are those of the least of what is counted.
    scaling, regimes: the answers for the goal; None where the page shows no regimes.
    """
    facts = request.facts
    uncounted = [
        facts.sums_by_study(facts.trials.status == STATUSES.index(status)).tolist()
        for status in (INCOMPLETE, INFEASIBLE)
    ]
    if facts.has_schedules:  # their trials are the first ones, and their row is the last one
        uncounted = [[*of_sizes, of_schedules] for of_schedules, *of_sizes in uncounted]
    rows = scaling.table().to_pylist()
    has_rates = request.is_whole and not request.measured
    rates = _learning_rates(request) if has_rates else [None] * len(rows)
    nothing = [{"regime": None, "is_dominated": False}] * len(rows)
    of_regimes = nothing if regimes is None else regimes.table().select([*nothing[0]]).to_pylist()
    of_regimes += nothing[len(of_regimes) :]
    least = {name: f"amount_{name}" for name in ("trial_id", "trial_workload")}
    return [
        _linked(request, row | {name: row[of] for name, of in least.items()})
        | regime
        | {"learning_rate": rate, "n_incomplete": n_incomplete, "n_infeasible": n_infeasible}
        for row, regime, rate, n_incomplete, n_infeasible in zip(rows, of_regimes, rates, *uncounted, strict=True)
    ]


def budget_section(request: WorkloadRequest) -> dict[str, object]:
    """Return the best values within the budget of the request, and the conclusions about batch sizes."""
    requested: WorkloadParameters = request.page.parameters
    budgets: dict[str, int | None] = {name: getattr(requested, name) for name in BudgetParameters.model_fields}
    limits = [f"{count:,} {name.removesuffix('_budget')}s" for name, count in budgets.items() if count is not None]
    words = f" within {' and '.join(limits)}" if limits else ""
    query = request.of_metric | budgets
    title = f"Best {request.goal.metric} by batch size{words}"
    answer = best.QUESTION.answer(request.page.view, SelectionParameters(**query))
    shows_conclusions = request.is_whole and (requested.conclusions or bool(limits))
    all_url = request.page_url(request.workload, conclusions="true") + "#budget"
    return {
        **budgets,
        "words": words,
        "rows": [_linked(request, row) for row in answer.table().to_pylist()],
        "conclusions": _conclusions(request, requested) if shows_conclusions else [],
        "conclusions_url": all_url if request.is_whole else "",
        "chart": request.chart("best", title, "records_of_workload", query, height=360, is_sql_behind=True),
    }


def _linked(request: WorkloadRequest, row: AnswerRow) -> AnswerRow:
    """Return a row with the addresses of its study and its trial, and what the trial is called.

    The addresses are empty without a trial, and the study's where a pool has several of the batch size.
    """
    number, name = row["trial_id"], row.get("trial_workload") or str(request.workload)
    study = Study(Workload.parse(name), row["batch_size"] or CHANGES)
    label = workload_labels([*map(str, request.facts.workloads)]).short.get(name, "")
    return row | {
        "size": f"{row['batch_size']:,}" if row["batch_size"] else request.page.view.schedule_name(request.facts),
        "url": "" if request.is_pool else request.page_url(study),
        "trial_url": "" if number is None else request.page_url(Trial(study, number)),
        "trial_label": f"{label} {number}" if label else f"trial {number}",
    }


def _learning_rates(request: WorkloadRequest) -> list[float | None]:
    """Return the learning rate of the best trial of each study; None if it isn't a number."""
    parameters = metaparameters.MetaparametersParameters(**request.of_goal, within=0)
    rows = metaparameters.QUESTION.answer(request.page.view, parameters).table().to_pylist()
    values: list[Any] = [dict(row["parameters"] or ()).get("learning_rate") for row in rows if row["rank"] in (None, 1)]
    if request.facts.has_schedules:  # as in the table, they are the last ones
        values = [*values[1:], values[0]]
    return [value if isinstance(value, float) else None for value in values]


def _conclusions(request: WorkloadRequest, requested: WorkloadParameters) -> list[tuple[str, str, bool]]:
    """Return each conclusion with the address of its budget and True if the page shows that budget.

    Budgets: those of the request, else those that every batch size was trained for; and no limit.
    """
    now = {"steps": requested.step_budget, "examples": requested.example_budget}
    steps, examples = ([] if count is None else [count] for count in now.values())
    parameters = quality.QualityParameters(**request.of_metric, step_budget=steps, example_budget=examples)
    facts = quality.QUESTION.answer(request.page.view, parameters).facts["conclusions"]
    sentences = as_sentences(request.workload, [fact["in_words"] for fact in facts])
    conclusions = []
    for fact, sentence in zip(facts, sentences, strict=True):
        budget = {kind: fact["budget"] if kind == fact["budget_kind"] else None for kind in now}
        url = request.page_url(
            request.workload, step_budget=budget["steps"], example_budget=budget["examples"], conclusions="true"
        )
        conclusions.append((sentence, f"{url}#budget", budget == now))
    return conclusions

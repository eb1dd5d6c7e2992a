"""The best value within a budget of steps or examples, and what large batch sizes lose by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from losslake.questions.analysis.quality import quality
from losslake.questions.best import best
from losslake_schema.names import Study, Trial
from losslake_service.web.chart import Chart
from losslake_service.web.templates import Query
from losslake_service.web.workload.answer_words import as_sentences
from losslake_service.web.workload.charts import RECORDS, statement_of
from losslake_service.web.workload.state import WorkloadAsked, WorkloadParameters
from losslake_service.web.workload.studies import TrialLink


@dataclass(frozen=True)
class BestShown:
    """The best value of a study within the budget; None if there is none."""

    batch_size: int
    url: str
    value: float | None
    trial: TrialLink | None
    step: int | None
    examples: int | None


@dataclass(frozen=True)
class Conclusion:
    """What large batch sizes lose within a budget, in a sentence; url: of the page with that budget."""

    sentence: str
    url: str
    is_shown: bool


@dataclass(frozen=True)
class BudgetShown:
    """The best values within the budget that is asked for."""

    words: str
    step_budget: int | None
    example_budget: int | None
    rows: tuple[BestShown, ...]
    conclusions: tuple[Conclusion, ...]
    chart: Chart


def budget_shown(asked: WorkloadAsked) -> BudgetShown:
    """Ask for the best values within the budget of the page."""
    given: WorkloadParameters = asked.page.parameters
    budgets = {"step_budget": given.step_budget, "example_budget": given.example_budget}
    selection = replace(asked.selection, step_budget=given.step_budget, example_budget=given.example_budget)
    query: Query = [*asked.metric_query, *((name, str(count)) for name, count in budgets.items() if count is not None)]
    words = _words(given.step_budget, given.example_budget)
    chart = Chart(
        name="best",
        kind="best",
        query=query,
        release=asked.page.view.number,
        title=f"Best {asked.goal.metric} by batch size{words}, {asked.workload}",
        address=asked.page.address,
        height=360,
        sql=statement_of(asked, RECORDS),
        is_sql_behind=True,
    )
    rows = best(asked.page.view, selection).table().to_pylist()
    return BudgetShown(words, given.step_budget, given.example_budget, _rows(asked, rows), _conclusions(asked), chart)


def _rows(asked: WorkloadAsked, rows: Sequence[dict[str, Any]]) -> tuple[BestShown, ...]:
    found = []
    for row in rows:
        study, number = Study(asked.workload, row["batch_size"]), row["trial_id"]
        found.append(
            BestShown(
                batch_size=study.batch_size,
                url=asked.page_of(study),
                value=row["best_value"],
                trial=None if number is None else TrialLink(number, asked.page_of(Trial(study, number))),
                step=row["step"],
                examples=row["examples"],
            )
        )
    return tuple(found)


def _conclusions(asked: WorkloadAsked) -> tuple[Conclusion, ...]:
    """For the budgets that are given, else for those that every batch size was trained for; and without a limit."""
    given: WorkloadParameters = asked.page.parameters
    now = (given.step_budget, given.example_budget)
    steps, examples = ([] if count is None else [count] for count in now)
    facts = quality(asked.page.view, asked.selection, steps, examples).facts["conclusions"]
    found = []
    for fact, sentence in zip(facts, as_sentences(asked.workload, [fact["in_words"] for fact in facts]), strict=True):
        kind, amount = fact["budget_kind"], fact["budget"]
        budget = (amount if kind == "steps" else None, amount if kind == "examples" else None)
        url = asked.page_of(asked.workload, step_budget=budget[0], example_budget=budget[1])
        found.append(Conclusion(sentence, f"{url}#budget", budget == now))
    return tuple(found)


def _words(steps: int | None, examples: int | None) -> str:
    limits = [f"{count:,} {unit}" for count, unit in ((steps, "steps"), (examples, "examples")) if count is not None]
    return f" within {' and '.join(limits)}" if limits else ""

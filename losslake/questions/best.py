"""The best value of a metric by batch size, within a budget of steps or examples."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from losslake.output.answer import Answer, Part
from losslake.output.columns import Nullable
from losslake.output.rows import Row, shown
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import SelectionParameters, is_of_one_workload
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import SelectionSummary
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.examples import examples_of_trials, shown_sizes
from losslake.questions.trials.search import Search, at, column_at, open_searches
from losslake_schema.reached import NEVER


class BestRow(Row):
    """A study."""

    workload: str
    batch_size: int | None
    best_value: float | None
    trial_id: Annotated[int | None, shown(17)]
    """The trial with the best value; ties go to the smallest step, then the lowest trial_id; null if none."""
    trial_workload: str | None
    step: Annotated[int | None, shown(1600, "steps")]
    """The first step at which that trial had the value; null without a value."""
    examples: Annotated[int | None, shown(102400, "batch_unit of the study, mostly examples")]
    """step times batch_size; null without a value, and beyond 64 bits."""
    n_trials: int
    n_measured: Annotated[int, shown(63, "trials")]
    """Number of these trials with a finite value within the budgets."""


def _answer(view: ReleaseView, parameters: SelectionParameters) -> Answer:
    """Return the best value by workload and batch size; raises UnknownName and BadParameter.

    Ties go to the smallest step, then to the lowest trial_id: METHODS 1.1, where the reference leaves them undefined.
    """
    searches = open_searches(view, parameters.selection(), with_schedules=True)
    return QUESTION.answered(view, parameters, [_rows(view, search) for search in searches], searches=searches)


QUESTION = Question(
    path="/v1/best",
    doc="The best value of a metric by batch size, within a budget of steps or examples.",
    parameters=SelectionParameters,
    row=BestRow,
    summary=SelectionSummary,
    compute=_answer,
    cost=lambda _: Cost(500, 50, 1),
    is_quick=is_of_one_workload,
)


def _rows(view: ReleaseView, search: Search) -> Part:
    """Return one row per study."""
    facts, rows = search.facts, search.best_trials()
    records = np.where(rows == NEVER, NEVER, at(search.best_records, rows))
    steps = at(search.records.step, records)
    columns = QUESTION.rows.of(
        {
            "workload": str(facts.workload),
            "batch_size": facts.batch_sizes,
            "best_value": lambda: column_at(search.records.value, records),
            "trial_id": lambda: column_at(facts.trials.trial_id, rows),
            "trial_workload": lambda: facts.workloads_of(rows),
            "step": Nullable(steps, records != NEVER),
            "examples": lambda: examples_of_trials(view, facts, steps, rows, rows != NEVER),
            "n_trials": search.n_admitted,
            "n_measured": lambda: facts.sums_by_study(search.best_records != NEVER),
        }
    )
    return shown_sizes(facts, columns)

"""Best: the best value of a metric by batch size, within a budget of steps or examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import pyarrow as pa

from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.parameters import SelectionParameters, is_of_one_workload
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at, examples_of, searches_of, selection_facts
from losslake.questions.summary import SelectionSummary
from losslake_schema.reached import NEVER


class BestRow(Row):
    """A study."""

    workload: str
    batch_size: int
    best_value: float | None
    trial_id: Annotated[int | None, shown(17)]
    """The trial with the best value, of several the one that had it at the least step, then the one with the lowest
    number; null if there is none."""
    step: Annotated[int | None, shown(1600, "steps")]
    """The first step at which that trial had the value; null if there is none."""
    examples: Annotated[int | None, shown(102400, "batch_unit of the study, mostly examples")]
    """step times batch_size; null if there is no value, or where it exceeds 64 bits."""
    n_trials: int
    n_measured: Annotated[int, shown(63, "trials")]
    """Of these, the trials with a finite value within the budgets."""


def answer(view: ReleaseView, parameters: SelectionParameters) -> Answer:
    """The best value by workload and batch size; raises UnknownName and BadParameter.

    Of several trials with that value the one that had it at the least step, then the one with the lowest number:
    METHODS 1.1, where the reference leaves ties undefined.
    """
    selection = parameters.selection()
    searches = searches_of(view, selection)
    facts = selection_facts(view, selection, searches[0].direction)
    return Answer(facts, QUESTION.rows.schema, iter([_rows(found) for found in searches]))


QUESTION = Question(
    path="/v1/best",
    doc="The best value of a metric by batch size, within a budget of steps or examples.",
    parameters=SelectionParameters,
    row=BestRow,
    summary=SelectionSummary,
    answer=answer,
    is_quick=is_of_one_workload,
)


def _rows(searched: Search) -> pa.RecordBatch:
    """One row per study."""
    rows = searched.best_trials()
    records = at(searched.best_records, rows)
    sizes = searched.facts.batch_sizes
    steps: list[int] = at(searched.records.step, records).tolist()
    is_there = (rows != NEVER).tolist()

    def where_there(values: Sequence[object]) -> list[object]:
        return [value if is_measured else None for value, is_measured in zip(values, is_there, strict=True)]

    columns: dict[str, Sequence[object]] = {
        "workload": [str(searched.facts.workload)] * len(sizes),
        "batch_size": sizes,
        "best_value": where_there(at(searched.records.value, records).tolist()),
        "trial_id": where_there(at(searched.facts.trials.trial_id, rows).tolist()),
        "step": where_there(steps),
        "examples": where_there([examples_of(step, size) for step, size in zip(steps, sizes, strict=True)]),
        "n_trials": searched.n_admitted.tolist(),
        "n_measured": searched.facts.sums_by_study(searched.best_records != NEVER).tolist(),
    }
    return pa.RecordBatch.from_pydict(columns, schema=QUESTION.rows.schema)

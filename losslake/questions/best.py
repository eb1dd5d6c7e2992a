"""Best: the best value of a metric by batch size, within a budget of steps or examples."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from losslake.output.answer import Answer, row_shape
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling import examples_of
from losslake.questions.search import Search, at, facts_of, search
from losslake.questions.selection import Selection
from losslake_schema.reached import NEVER

BEST = row_shape(
    "best", "workload", "batch_size", "best_value", "trial_id", "step", "examples", "n_trials", "n_measured"
)


def best(view: ReleaseView, selection: Selection) -> Answer:
    """The best value by workload and batch size; raises UnknownName and BadParameter.

    Of several trials with that value the one that had it at the least step, then the one with the lowest number:
    METHODS 1.1, where the reference leaves ties undefined.
    """
    searches = [search(view, selection, workload) for workload in selection.workloads]
    facts = facts_of(view, selection, searches[0].direction)
    return Answer(facts, BEST.schema, iter([_rows(found) for found in searches]))


def _rows(found: Search) -> pa.RecordBatch:
    """One row per study."""
    rows = found.best_trials()
    records = at(found.best_records, rows)
    sizes = found.facts.batch_sizes
    steps: list[int] = at(found.records.step, records).tolist()
    is_there = (rows != NEVER).tolist()

    def where_there(values: Sequence[object]) -> list[object]:
        return [value if is_measured else None for value, is_measured in zip(values, is_there, strict=True)]

    columns: dict[str, Sequence[object]] = {
        "workload": [str(found.facts.workload)] * len(sizes),
        "batch_size": sizes,
        "best_value": where_there(at(found.records.value, records).tolist()),
        "trial_id": where_there(at(found.facts.trials.trial_id, rows).tolist()),
        "step": where_there(steps),
        "examples": where_there([examples_of(step, size) for step, size in zip(steps, sizes, strict=True)]),
        "n_trials": found.n_admitted.tolist(),
        "n_measured": found.facts.sums_by_study(found.best_records != NEVER).tolist(),
    }
    return pa.RecordBatch.from_pydict(columns, schema=BEST.schema)

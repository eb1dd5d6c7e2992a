"""Metaparameters: with which ones the best trials reach a target, by batch size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from losslake.analysis.goal_region import WITHIN
from losslake.analysis.tuned_study import effective_learning_rate
from losslake.output.answer import Answer, begun, row_shape
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at, facts_of, search
from losslake.questions.selection import Goal, Selection
from losslake_schema.reached import NEVER

METAPARAMETERS = row_shape(
    "metaparameters", "workload", "batch_size", "rank", "trial_id", "steps", "steps_ratio", "parameters",
    "effective_learning_rate",
)  # fmt: skip


def metaparameters(view: ReleaseView, selection: Selection, goal: Goal, within: float = WITHIN) -> Answer:
    """The near-optimal trials by workload and batch size; raises UnknownName and BadParameter.

    within: trials whose steps to target are at most 1 + within times those of the best (METHODS 4: a single best trial
    jumps from batch size to batch size). A study in which no trial reached the target has one row of nulls.
    """
    if not 0 <= within <= 1000:
        raise BadParameter("within", f"within={within} is out of range: give 0 for the best trials only, up to 1000")
    searches = [search(view, selection, workload) for workload in selection.workloads]
    facts = facts_of(view, selection, searches[0].direction) | goal.facts() | {"within": within}
    return Answer(facts, METAPARAMETERS.schema, begun(_rows(view, found, goal, within) for found in searches))


def _rows(view: ReleaseView, found: Search, goal: Goal, within: float) -> pa.RecordBatch:
    facts = found.facts
    hits = found.first_hits(goal)
    steps = at(found.records.step, hits)
    of_trials = view.query(
        "parameters_of_trials", {"first_study": facts.first_study, "last_study": facts.last_study}
    ).fetchall()
    # A workload whose trials have no momentum is plain SGD.
    plain = None if any("momentum" in (parameters or {}) for *_, parameters in of_trials) else 0.0
    rows: list[dict[str, Any]] = []
    for study, batch_size in enumerate(facts.batch_sizes):
        own = facts.rows_of(study)
        reached = own.start + np.flatnonzero(hits[own] != NEVER)
        ordered = reached[np.argsort(steps[reached], kind="stable")]
        fewest = int(steps[ordered[0]]) if len(ordered) else 0
        near = [row for row in ordered.tolist() if steps[row] <= (1 + within) * fewest]
        key = {"workload": str(facts.workload), "batch_size": batch_size}
        for rank, row in enumerate(near, start=1):
            parameters = of_trials[row][2] or {}
            rows.append(
                key
                | {
                    "rank": rank,
                    "trial_id": int(facts.trials.trial_id[row]),
                    "steps": int(steps[row]),
                    "steps_ratio": int(steps[row]) / fewest if fewest else 1.0,
                    "parameters": list(parameters.items()),
                    "effective_learning_rate": effective_learning_rate(
                        parameters.get("learning_rate"), parameters.get("momentum", plain)
                    ),
                }
            )
        if not near:
            rows.append(key)
    return pa.RecordBatch.from_pylist(rows, METAPARAMETERS.schema)

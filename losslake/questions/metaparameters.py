"""Metaparameters: with which ones the best trials reach a target, by batch size."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from losslake.analysis.tuned_study import effective_learning_rate
from losslake.output.answer import Answer, begun
from losslake.output.rows import Row, shown
from losslake.questions.parameters import WithinParameters
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at, searches_of, selection_facts
from losslake.questions.selection import Goal
from losslake.questions.summary import WithinSummary
from losslake_schema.reached import NEVER


class MetaparametersParameters(WithinParameters):
    """With which metaparameters is a target reached soonest?"""


class MetaparametersRow(Row):
    """A near-optimal trial."""

    workload: str
    batch_size: int
    rank: Annotated[int | None, shown(1)]
    """1 for the best trial of its study, then counting up by steps and trial_id; null where none reached the target."""
    trial_id: Annotated[int | None, shown(17)]
    """A trial of the near-optimal set, by steps and then number; null in the one row of a study in which none reached
    the target."""
    steps: int | None
    steps_ratio: Annotated[float | None, shown(1.05, "none: a ratio")]
    """steps divided by those of the best trial of the study: at most 1 + within; null where none reached the target."""
    parameters: Annotated[dict[str, float] | None, shown({"learning_rate": 0.1, "momentum": 0.9}, "each its own")]
    """Numeric metaparameters of the trial, by name; null where none reached the target."""
    effective_learning_rate: Annotated[float | None, shown(1.0, "none")]
    """learning_rate / (1 - momentum), with momentum 0 if no trial of the workload has one (plain SGD); null where
    either is missing, or momentum is 1 or more."""


def answer(view: ReleaseView, parameters: MetaparametersParameters) -> Answer:
    """The near-optimal trials by workload and batch size; raises UnknownName and BadParameter.

    A single best trial jumps from batch size to batch size: METHODS 4. A study in which no trial reached the target has
    one row of nulls.
    """
    selection, goal, within = parameters.selection(), parameters.goal(), parameters.within
    searches = searches_of(view, selection)
    facts = selection_facts(view, selection, searches[0].direction) | goal.facts() | {"within": within}
    return Answer(facts, QUESTION.rows.schema, begun(_rows(view, found, goal, within) for found in searches))


QUESTION = Question(
    path="/v1/metaparameters",
    doc="The metaparameters of the best trials by batch size: of those near-optimal in steps to a target.",
    parameters=MetaparametersParameters,
    row=MetaparametersRow,
    summary=WithinSummary,
    answer=answer,
)


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
    return pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)

"""The metaparameters with which the best trials reach a target, by batch size."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from losslake.analysis.tuned_study import effective_learning_rate
from losslake.output.answer import Answer, prefetched
from losslake.output.rows import Row, shown
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import WithinParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import WithinSummary
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import Search, at, open_searches
from losslake.questions.trials.selection import Goal
from losslake_schema.reached import NEVER


class MetaparametersParameters(WithinParameters):
    """The parameters of the near-optimal metaparameters."""


class MetaparametersRow(Row):
    """A near-optimal trial."""

    workload: str
    batch_size: int | None
    rank: Annotated[int | None, shown(1)]
    """1 for the best trial of its study, counting up by steps, then trial_id; null if none reached the target."""
    trial_id: Annotated[int | None, shown(17)]
    """A near-optimal trial; null in the single row of a study in which no trial reached the target."""
    steps: int | None
    steps_ratio: Annotated[float | None, shown(1.05, "none: a ratio")]
    """steps divided by those of the study's best trial, at most 1 + within; null if none reached the target."""
    parameters: Annotated[dict[str, float] | None, shown({"learning_rate": 0.1, "momentum": 0.9}, "each its own")]
    """Numeric metaparameters of the trial, by name; null if none reached the target."""
    effective_learning_rate: Annotated[float | None, shown(1.0, "none")]
    """learning_rate / (1 - momentum), momentum 0 in plain SGD; null if either is missing, or momentum is 1 or more."""


def _answer(view: ReleaseView, parameters: MetaparametersParameters) -> Answer:
    """Return the near-optimal trials by workload and batch size; raises UnknownName and BadParameter.

    A single best trial would jump from batch size to batch size: METHODS 4. A study in which no trial reached the
    target has one row of nulls.
    """
    goal, searches = parameters.goal, open_searches(view, parameters.selection(), with_schedules=True)
    batches = prefetched(_rows(view, search, goal, parameters.within) for search in searches)
    return QUESTION.answered(view, parameters, batches, searches=searches)


QUESTION = Question(
    path="/v1/metaparameters",
    doc="The metaparameters of the best trials by batch size: those near-optimal in steps to a target.",
    parameters=MetaparametersParameters,
    row=MetaparametersRow,
    summary=WithinSummary,
    compute=_answer,
    cost=lambda parameters: Cost(500, 2000, 40 if parameters.within < 0.5 else 100),
)


def _rows(view: ReleaseView, search: Search, goal: Goal, within: float) -> pa.RecordBatch:
    facts = search.facts
    hits = search.first_hits(goal)
    steps = at(search.records.step, hits)
    of_trials = view.rows("parameters_of_trials", facts.study_ids)
    # A workload whose trials have no momentum is plain SGD.
    plain = None if any("momentum" in (parameters or {}) for *_, parameters in of_trials) else 0.0
    rows: list[dict[str, Any]] = []
    for batch_size, reached in zip(facts.batch_sizes, facts.rows_where(hits != NEVER), strict=True):
        ordered = reached[np.argsort(steps[reached], kind="stable")]
        fewest = int(steps[ordered[0]]) if len(ordered) else 0
        near = [row for row in ordered.tolist() if steps[row] <= (1 + within) * fewest]
        key = {"workload": str(facts.workload), "batch_size": batch_size or None}
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

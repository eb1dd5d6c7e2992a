"""The map of metaparameters: every trial with its learning rate, momentum and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.goal_region import OUTCOMES, fraction_reaching, goal_probability_of_others
from losslake.analysis.tuned_study import effective_learning_rates, places
from losslake.output.answer import Answer
from losslake.output.plain import finite
from losslake.output.rows import Row, shown
from losslake.questions.parameters import WORKLOAD, BatchSizeParameters, GoalParameters, Status, every_status
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at, of_batch_sizes, searches_of
from losslake.questions.study_optima import metaparameters_of, outcomes_of
from losslake.questions.summary import BatchSizesSummary, Finding, GoalSummary, Summary
from losslake_schema.reached import NEVER, Floats, Integers
from losslake_schema.tables import STATUSES

_DEFINITION = (
    "reached: COMPLETE and reached the target within the budgets; not reached: COMPLETE and did not; infeasible: "
    "diverged, whether or not it had reached the target; incomplete: stopped for an outside reason, a class that the "
    "scripts of Shallue et al. refuse. goal_probability: of the 10 trials of the study nearest to the trial, in "
    "standardized log space of learning_rate and 1 - momentum, the fraction that reached the target; neither the trial "
    "itself nor incomplete ones count. n_used counts trials."
)


class MetaparameterMapParameters(BatchSizeParameters, GoalParameters):
    """Where in the space of learning rate and momentum is a target reached?"""

    status: Annotated[list[Status], shown(["COMPLETE"])] = Field(default_factory=every_status)
    """Only trials of this status; may be repeated. Default: all."""


class MetaparameterMapRow(Row):
    """A trial."""

    workload: str
    batch_size: int
    trial_id: int
    status: str
    outcome: Annotated[str, shown("reached")]
    """reached, not reached, infeasible (diverged, whether or not it had reached the target) or incomplete (stopped for
    an outside reason)."""
    steps: int | None
    learning_rate: Annotated[float | None, shown(0.1)]
    """The trial's learning rate; null without one."""
    momentum: Annotated[float | None, shown(0.9)]
    """The trial's momentum, 0 if no trial of the workload has one (plain SGD); null where only this one lacks it."""
    one_minus_momentum: Annotated[float | None, shown(0.1)]
    """1 - momentum; null without one."""
    effective_learning_rate: Annotated[float | None, shown(1.0)]
    """learning_rate / (1 - momentum); null where either is missing, or momentum is 1 or more."""
    goal_probability: Annotated[float | None, shown(0.8, "none: a probability")]
    """Of the 10 other trials of the study nearest in learning rate and momentum, the fraction that reached the target;
    null for a trial that is nowhere on the map, or alone."""


class GoalRegion(Summary):
    """How many trials of a batch size ended in each class."""

    workload: Annotated[str, shown(WORKLOAD)]
    """The workload."""
    batch_size: Annotated[int, shown(64, "batch_unit of the study")]
    """Of the study."""
    n_reached: Annotated[int, shown(21, "trials")]
    """Trials that finished and reached the target."""
    n_not_reached: Annotated[int, shown(40, "trials")]
    """Trials that finished and did not."""
    n_infeasible: Annotated[int, shown(3, "trials")]
    """Trials that diverged."""
    n_incomplete: Annotated[int, shown(0, "trials")]
    """Trials stopped for an outside reason."""
    fraction_reaching: Annotated[float | None, shown(0.33, "none: a fraction")]
    """Reached over all but incomplete; null for none."""


class MetaparameterMapSummary(BatchSizesSummary, GoalSummary, Finding):
    """How the trials of each study ended."""

    goal_regions: list[GoalRegion]
    """By workload and batch size: how many trials are of each class."""


def answer(view: ReleaseView, parameters: MetaparameterMapParameters) -> Answer:
    """Every admitted trial by workload, batch size and trial_id; raises UnknownName and BadParameter."""
    goal, batch_sizes = parameters.goal(), parameters.batch_size
    searches = [of_batch_sizes(view, each, batch_sizes) for each in searches_of(view, parameters.selection())]
    batches, regions, warnings = [], [], []
    for found in searches:
        rows = np.flatnonzero(found.admitted)
        hits = found.first_hits(goal)
        classes = outcomes_of(found.facts, hits != NEVER, rows)
        regions += _regions(found, classes, rows, batch_sizes or found.facts.batch_sizes)
        batch = _rows(view, found, hits[rows], classes, rows)
        warnings += _warnings(found, batch)
        batches.append(batch)
    return QUESTION.analysis(
        view,
        parameters,
        searches[0].direction,
        batches,
        {"batch_sizes": list(batch_sizes), "goal_regions": regions},
        definition=_DEFINITION,
        n_used=sum(batch.num_rows for batch in batches),
        warnings=warnings,
    )


QUESTION = Question(
    path="/v1/analysis/metaparameter-map",
    doc="Every trial with learning rate, momentum and what became of it: the target reached or not, divergence.",
    parameters=MetaparameterMapParameters,
    row=MetaparameterMapRow,
    summary=MetaparameterMapSummary,
    answer=answer,
)


def _rows(view: ReleaseView, found: Search, hits: Integers, classes: Integers, rows: Integers) -> pa.RecordBatch:
    facts = found.facts
    metaparameters = metaparameters_of(view, facts)
    learning_rate, momentum = metaparameters.learning_rate[rows], metaparameters.momentum[rows]
    study = facts.study_of_trial[rows]
    return pa.RecordBatch.from_arrays(
        [
            pa.repeat(str(facts.workload), len(rows)),
            pa.array(np.asarray(facts.batch_sizes, np.int64)[study]),
            pa.array(facts.trials.trial_id[rows]),
            pa.array(STATUSES).take(pa.array(facts.trials.status[rows])),
            pa.array(OUTCOMES).take(pa.array(classes)),
            pa.array(at(found.records.step, hits), mask=hits == NEVER),
            finite(learning_rate),
            finite(momentum),
            finite(1 - momentum),
            finite(effective_learning_rates(learning_rate, momentum)),
            finite(_goal_probability(places(learning_rate, momentum), classes, study)),
        ],
        schema=QUESTION.rows.schema,
    )


def _goal_probability(at: Floats, classes: Integers, study: Integers) -> Floats:
    """By trial, of its nearest in its own study."""
    found = np.full(len(study), np.nan)
    for index in np.unique(study):
        own = study == index
        found[own] = goal_probability_of_others(at[own], classes[own])
    return found


def _regions(found: Search, classes: Integers, rows: Integers, wanted: Sequence[int]) -> list[dict[str, Any]]:
    """By study of the batch sizes that are wanted, how many trials are of each class."""
    study = found.facts.study_of_trial[rows]
    regions = []
    for index, batch_size in enumerate(found.facts.batch_sizes):
        if batch_size not in wanted:
            continue
        own = classes[study == index]
        counts: list[int] = np.bincount(own, minlength=len(OUTCOMES)).tolist()
        regions.append(
            {
                "workload": str(found.facts.workload),
                "batch_size": batch_size,
                **{f"n_{name.replace(' ', '_')}": count for name, count in zip(OUTCOMES, counts, strict=True)},
                "fraction_reaching": fraction_reaching(own),
            }
        )
    return regions


def _warnings(found: Search, batch: pa.RecordBatch) -> list[str]:
    n = batch.column("effective_learning_rate").null_count
    if not n:
        return []
    trials = f"{n} of {batch.num_rows} trial{'' if batch.num_rows == 1 else 's'}"
    return [f"{found.facts.workload}: {trials} without an effective learning rate, so nowhere on the map"]

"""The map of metaparameters: every trial with its learning rate, momentum and outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.goal_region import OUTCOMES, fraction_reaching, goal_probability_of_others
from losslake.analysis.tuned_study import effective_learning_rates, places
from losslake.output.answer import Answer
from losslake.output.plain import finite
from losslake.output.rows import Row, shown
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import WORKLOAD, BatchSizeParameters, GoalParameters, every_status
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import BatchSizesSummary, Finding, GoalSummary, Summary
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import Search, column_at, only_batch_sizes, open_searches
from losslake.questions.trials.tuned_trials import metaparameters_of, outcomes_of
from losslake_schema.quantities import plural
from losslake_schema.reached import Floats, Integers
from losslake_schema.statuses import STATUSES, Status


class MetaparameterMapParameters(BatchSizeParameters, GoalParameters):
    """The parameters of the map of metaparameters."""

    status: Annotated[list[Status], shown(["COMPLETE"])] = Field(default_factory=every_status)
    """Only trials of this status; may be repeated. Default: all."""


class MetaparameterMapRow(Row):
    """A trial."""

    workload: str
    batch_size: int
    trial_id: int
    status: str
    outcome: Annotated[str, shown("reached")]
    """reached, not reached, infeasible (diverged, even after reaching it) or incomplete (ended early, or
    earlier, at an easier goal of its own)."""
    steps: int | None
    learning_rate: Annotated[float | None, shown(0.1)]
    """The trial's learning rate; null without one."""
    momentum: Annotated[float | None, shown(0.9)]
    """The trial's momentum, 0 if no trial of the workload has one (plain SGD); null if only this one lacks it."""
    one_minus_momentum: Annotated[float | None, shown(0.1)]
    """1 - momentum; null without one."""
    effective_learning_rate: Annotated[float | None, shown(1.0)]
    """learning_rate / (1 - momentum); null if either is missing, or momentum is 1 or more."""
    goal_probability: Annotated[float | None, shown(0.8, "none: a probability")]
    """Share of the 10 nearest other trials of the study that reached the target; null if off the map, or alone."""


class GoalRegion(Summary):
    """The number of trials of a batch size in each class."""

    workload: Annotated[str, shown(WORKLOAD)]
    """The workload."""
    batch_size: Annotated[int, shown(64, "batch_unit of the study")]
    """Batch size of the study."""
    n_reached: Annotated[int, shown(21, "trials")]
    """Trials that finished and reached the target."""
    n_not_reached: Annotated[int, shown(40, "trials")]
    """Trials that finished without reaching the target."""
    n_infeasible: Annotated[int, shown(3, "trials")]
    """Trials that diverged."""
    n_incomplete: Annotated[int, shown(0, "trials")]
    """Trials that ended early, or at an easier goal of their own."""
    fraction_reaching: Annotated[float | None, shown(0.33, "none: a fraction")]
    """Reached, as a share of all but incomplete trials; null for none."""


class MetaparameterMapSummary(BatchSizesSummary, GoalSummary, Finding):
    """The outcomes of the trials of each study."""

    goal_regions: list[GoalRegion]
    """The number of trials of each class, by workload and batch size."""


def _answer(view: ReleaseView, parameters: MetaparameterMapParameters) -> Answer:
    """Return every admitted trial by workload, batch size and trial_id; raises UnknownName and BadParameter."""
    goal, batch_sizes = parameters.goal, parameters.batch_size
    searches = [only_batch_sizes(view, each, batch_sizes) for each in open_searches(view, parameters.selection())]
    batches: list[pa.RecordBatch] = []
    regions: list[dict[str, Any]] = []
    warnings: list[str] = []
    for search in searches:
        rows = np.flatnonzero(search.admitted)
        hits = search.first_hits(goal)
        classes = outcomes_of(search, goal, hits, rows)
        regions += _regions(search, classes, rows, batch_sizes or search.facts.batch_sizes)
        batch = _rows(view, search, hits[rows], classes, rows)
        warnings += _warnings(search, batch)
        batches.append(batch)
    return QUESTION.analysis(
        view,
        parameters,
        batches,
        {"batch_sizes": list(batch_sizes), "goal_regions": regions},
        n_used=sum(batch.num_rows for batch in batches),
        warnings=warnings,
    )


QUESTION = Question(
    path="/v1/analysis/metaparameter-map",
    doc="Every trial with its learning rate, momentum and outcome: target reached, not reached, or diverged.",
    parameters=MetaparameterMapParameters,
    row=MetaparameterMapRow,
    summary=MetaparameterMapSummary,
    compute=_answer,
    cost=lambda _: Cost(15_000, 400, 5),
)


def _rows(view: ReleaseView, search: Search, hits: Integers, classes: Integers, rows: Integers) -> pa.RecordBatch:
    facts = search.facts
    metaparameters = metaparameters_of(view, facts)
    learning_rate, momentum = metaparameters.learning_rate[rows], metaparameters.momentum[rows]
    study = facts.study_of_trial[rows]
    return QUESTION.rows.of(
        {
            "workload": str(facts.workload),
            "batch_size": np.asarray(facts.batch_sizes, np.int64)[study],
            "trial_id": facts.trials.trial_id[rows],
            "status": pa.array(STATUSES).take(pa.array(facts.trials.status[rows])),
            "outcome": pa.array(OUTCOMES).take(pa.array(classes)),
            "steps": column_at(search.records.step, hits),
            "learning_rate": finite(learning_rate),
            "momentum": finite(momentum),
            "one_minus_momentum": finite(1 - momentum),
            "effective_learning_rate": finite(effective_learning_rates(learning_rate, momentum)),
            "goal_probability": finite(_goal_probability(places(learning_rate, momentum), classes, study)),
        }
    ).batch()


def _goal_probability(at: Floats, classes: Integers, study: Integers) -> Floats:
    """Return the goal probability of each trial, from its nearest in the same study."""
    ends = np.flatnonzero(np.diff(study)) + 1
    studies = zip(np.split(at, ends), np.split(classes, ends), strict=True)
    return np.concatenate([goal_probability_of_others(*each) for each in studies])


def _regions(search: Search, classes: Integers, rows: Integers, wanted: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the number of trials of each class, by study of the wanted batch sizes."""
    study = search.facts.study_of_trial[rows]
    for index, batch_size in enumerate(search.facts.batch_sizes):
        if batch_size in wanted:
            study_classes = classes[study == index]
            counts: list[int] = np.bincount(study_classes, minlength=len(OUTCOMES)).tolist()
            yield {
                "workload": str(search.facts.workload),
                "batch_size": batch_size,
                **{f"n_{name.replace(' ', '_')}": count for name, count in zip(OUTCOMES, counts, strict=True)},
                "fraction_reaching": fraction_reaching(study_classes),
            }


def _warnings(search: Search, batch: pa.RecordBatch) -> Iterator[str]:
    if n := batch.column("effective_learning_rate").null_count:
        trials = f"{n} of {batch.num_rows} {plural('trial', batch.num_rows)}"
        yield f"{search.facts.workload}: {trials} without an effective learning rate, so not on the map"

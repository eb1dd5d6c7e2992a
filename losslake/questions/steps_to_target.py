"""Steps to target: when each trial reaches a target."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pyarrow as pa

from losslake.analysis.crossings import resolution
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.confirmation import FIRST, Confirmed, confirmed
from losslake.questions.parameters import BatchSizeParameters, CrossingParameters
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at, of_batch_sizes, searches_of, selection_facts
from losslake.questions.summary import BatchSizesSummary, CrossingSummary
from losslake.questions.wording import coarse_trials
from losslake_schema.reached import NEVER, NO_STEP, Integers
from losslake_schema.tables import STATUSES

_STATUSES = pa.array(STATUSES)


class StepsToTargetParameters(BatchSizeParameters, CrossingParameters):
    """When does each trial reach a target?"""


class StepsToTargetRow(Row):
    """A trial."""

    workload: str
    batch_size: int
    trial_id: int
    status: str
    steps: int | None
    value: Annotated[float | None, shown(0.0421, "unit of the metric")]
    """The metric at that step; null if the target was not reached."""
    previous_step: int | None
    last_step: int | None
    resolution: float | None
    censored_at: Annotated[int | None, shown(2000, "steps")]
    """Where the target was not reached: the step up to which the trial was seen within the budgets; null if it was
    reached, or never evaluated."""
    confirmed_steps: Annotated[int | None, shown(420, "steps")]
    """The same for the crossing asked for: the first hit that counts by it; with crossing=first this is steps. Null if
    none counts."""
    confirmed_previous_step: int | None


class StepsToTargetSummary(CrossingSummary, BatchSizesSummary):
    """What was asked for, and what to know of the rows."""

    warnings: Annotated[list[str], shown(["evaluations are far apart"])]
    """What to know before relying on the rows."""


def answer(view: ReleaseView, parameters: StepsToTargetParameters) -> Answer:
    """Steps to target by workload, batch size and trial; raises UnknownName and BadParameter."""
    selection, goal, crossing = parameters.selection(), parameters.goal(), parameters.crossing_rule()
    searches = [of_batch_sizes(view, each, parameters.batch_size) for each in searches_of(view, selection)]
    batches, warnings = [], []
    for searched in searches:
        hits = searched.first_hits(goal)
        steps, previous = at(searched.records.step, hits), at(searched.records.previous_step, hits)
        crossed = Confirmed(np.where(hits == NEVER, NEVER, steps), previous)
        if crossing != FIRST:
            crossed = confirmed(view, searched, goal, crossing, hits)
        batches.append(_rows(searched, hits, crossed))
        warnings += coarse_trials(searched, hits, steps, previous)
    facts = selection_facts(view, selection, searches[0].direction) | {"batch_sizes": list(parameters.batch_size)}
    facts |= goal.facts() | crossing.facts() | {"warnings": warnings}
    return Answer(facts, QUESTION.rows.schema, iter(batches))


QUESTION = Question(
    path="/v1/steps-to-target",
    doc="When each trial of a workload reaches a target.",
    parameters=StepsToTargetParameters,
    row=StepsToTargetRow,
    summary=StepsToTargetSummary,
    answer=answer,
)


def _rows(found: Search, hits: Integers, crossed: Confirmed) -> pa.RecordBatch:
    """One row per admitted trial."""
    trials, records, admitted = found.facts.trials, found.records, found.admitted
    hits = hits[admitted]
    never = hits == NEVER
    steps, previous_step = at(records.step, hits), at(records.previous_step, hits)
    last_step, seen = trials.last_step[admitted], found.observed_until[admitted]
    relative = resolution(steps, previous_step)
    confirmed_steps, confirmed_previous = crossed.steps[admitted], crossed.previous_steps[admitted]
    sizes = np.asarray(found.facts.batch_sizes, np.int64)[found.facts.study_of_trial]
    return pa.RecordBatch.from_arrays(
        [
            pa.repeat(str(found.facts.workload), len(hits)),
            pa.array(sizes[admitted]),
            pa.array(trials.trial_id[admitted]),
            _STATUSES.take(pa.array(trials.status[admitted])),
            pa.array(steps, mask=never),
            pa.array(at(records.value, hits), mask=never),
            pa.array(previous_step, mask=never | (previous_step == NO_STEP)),
            pa.array(last_step, mask=last_step < 0),
            pa.array(relative, mask=never | np.isinf(relative)),
            pa.array(seen, mask=~never | (seen == NEVER)),
            pa.array(confirmed_steps, mask=confirmed_steps == NEVER),
            pa.array(confirmed_previous, mask=(confirmed_steps == NEVER) | (confirmed_previous == NO_STEP)),
        ],
        schema=QUESTION.rows.schema,
    )

"""Steps to target: when each trial reaches a target."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from schema.record_curves import NO_STEP
from schema.tables import STATUSES
from service.answers.facts import facts_of
from service.answers.goal import Goal
from service.answers.search import NEVER, Search, at, search
from service.answers.selection import Selection
from service.release_view import ReleaseView
from service.tabular.answer import Answer, begun
from service.tabular.column import row_shape

STEPS_TO_TARGET = row_shape(
    "steps-to-target", "workload", "batch_size", "trial_id", "status", "steps", "value", "previous_step", "last_step"
)
_STATUSES = pa.array(STATUSES)


def steps_to_target(view: ReleaseView, selection: Selection, goal: Goal) -> Answer:
    """Steps to target by workload, batch size and trial; raises UnknownName and BadParameter."""
    searches = [search(view, selection, workload) for workload in selection.workloads]
    facts = facts_of(view, selection, searches[0].direction) | goal.facts()
    return Answer(facts, STEPS_TO_TARGET.schema, begun(_rows(found, goal) for found in searches))


def _rows(found: Search, goal: Goal) -> pa.RecordBatch:
    """One row per admitted trial."""
    trials, records, admitted = found.facts.trials, found.records, found.admitted
    hits = found.first_hits(goal)[admitted]
    never = hits == NEVER
    previous_step, last_step = at(records.previous_step, hits), trials.last_step[admitted]
    sizes = np.asarray(found.facts.batch_sizes, np.int64)[found.facts.study_of_trial]
    return pa.RecordBatch.from_arrays(
        [
            pa.repeat(str(found.facts.workload), len(hits)),
            pa.array(sizes[admitted]),
            pa.array(trials.trial_id[admitted]),
            _STATUSES.take(pa.array(trials.status[admitted])),
            pa.array(at(records.step, hits), mask=never),
            pa.array(at(records.value, hits), mask=never),
            pa.array(previous_step, mask=never | (previous_step == NO_STEP)),
            pa.array(last_step, mask=last_step < 0),
        ],
        schema=STEPS_TO_TARGET.schema,
    )

"""Steps to target: when each trial reaches a target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from losslake.analysis.crossings import resolution
from losslake.output.answer import Answer, row_shape
from losslake.questions.confirmation import FIRST, Confirmed, Crossing, confirmed
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at, facts_of, of_batch_sizes, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.wording import coarse_trials
from losslake_schema.reached import NEVER, NO_STEP, Integers
from losslake_schema.tables import STATUSES

STEPS_TO_TARGET = row_shape(
    "steps-to-target", "workload", "batch_size", "trial_id", "status", "steps", "value", "previous_step", "last_step",
    "resolution", "censored_at", "confirmed_steps", "confirmed_previous_step",
)  # fmt: skip
_STATUSES = pa.array(STATUSES)


def steps_to_target(
    view: ReleaseView,
    selection: Selection,
    goal: Goal,
    crossing: Crossing = FIRST,
    batch_sizes: Sequence[int] = (),
) -> Answer:
    """Steps to target by workload, batch size and trial; raises UnknownName and BadParameter.

    crossing: which hit the columns `confirmed_…` are about. batch_sizes: only trials of these; none for all.
    """
    searches = [
        of_batch_sizes(view, search(view, selection, workload), batch_sizes) for workload in selection.workloads
    ]
    batches, warnings = [], []
    for found in searches:
        hits = found.first_hits(goal)
        steps, previous = at(found.records.step, hits), at(found.records.previous_step, hits)
        crossed = Confirmed(np.where(hits == NEVER, NEVER, steps), previous)
        if crossing != FIRST:
            crossed = confirmed(view, found, goal, crossing, hits)
        batches.append(_rows(found, hits, crossed))
        warnings += coarse_trials(found, hits, steps, previous)
    facts = facts_of(view, selection, searches[0].direction) | {"batch_sizes": list(batch_sizes)}
    facts |= goal.facts() | crossing.facts() | {"warnings": warnings}
    return Answer(facts, STEPS_TO_TARGET.schema, iter(batches))


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
        schema=STEPS_TO_TARGET.schema,
    )

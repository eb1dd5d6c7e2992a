"""The examples in the first steps of trials: steps times batch size, or the sum over pieces where that changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from losslake.output.columns import Nullable, Rows
from losslake.questions.release.pool import Pool
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.batch_schedule import BatchSchedule, stored_schedule
from losslake_schema.names import CHANGES, LARGEST_INTEGER
from losslake_schema.reached import NEVER, Flags, Floats, Integers


def schedules_of(view: ReleaseView, facts: WorkloadFacts) -> Sequence[str | None]:
    """Return by trial its batch sizes by step, as JSON; None for one size."""
    if isinstance(facts, Pool):
        of_members = [pieces for member in facts.members for pieces in schedules_of(view, member)]
        return [of_members[row] for row in facts.rows_in_members.tolist()]
    if not facts.has_schedules:
        return [None] * len(facts.trials.trial_id)
    pieces: list[str | None] = view.table("batch_schedules", facts.study_ids)["pieces"].to_pylist()
    return pieces


def examples_of(view: ReleaseView, facts: WorkloadFacts, steps: Integers | Floats, trials: Integers) -> Floats:
    """Return the examples in the first steps of trials, as float64.

    trials: rows in facts.trials; undefined for NEVER.
    """
    sizes = np.asarray(facts.batch_sizes, np.float64)
    studies = facts.study_of_trial[trials] if len(facts.study_of_trial) else np.zeros(len(trials), np.int64)
    examples: Floats = steps * sizes[studies] if len(sizes) else np.zeros(len(trials))
    for schedule, places in _by_schedule(view, facts, trials):
        examples[places] = schedule.examples_at(np.asarray(steps[places], np.int64))
    return examples


def examples_column(steps: Integers, batch_sizes: Sequence[int], is_there: Flags) -> Nullable:
    """Return steps times batch size; null where not `is_there`, and beyond 64 bits."""
    sizes = np.asarray(batch_sizes, np.int64)
    fits = is_there & (steps <= LARGEST_INTEGER // np.maximum(sizes, 1))
    return Nullable(np.where(fits, steps, 0) * sizes, fits)


def examples_of_trials(
    view: ReleaseView, facts: WorkloadFacts, steps: Integers, trials: Integers, is_there: Flags
) -> Nullable:
    """Return the same, with the sum over its pieces of a batch size that changes.

    steps, trials: by study, those of its result.
    """
    column = examples_column(steps, facts.batch_sizes, is_there)
    examples, fits = column.values, column.is_there
    for schedule, places in _by_schedule(view, facts, trials):
        for place in places[is_there[places]].tolist():
            exact = schedule.examples(int(steps[place]))
            fits[place] = exact <= LARGEST_INTEGER
            examples[place] = exact if fits[place] else 0
    return column


def have_several_schedules(view: ReleaseView, facts: WorkloadFacts) -> bool:
    """Return True if trials of one study differ in how their batch size changes, and so in the examples of a step."""
    return facts.has_schedules and len(set(schedules_of(view, facts)) - {None}) > 1


def step_limits(view: ReleaseView, facts: WorkloadFacts, examples: int) -> Integers:
    """Return by trial the last step within a number of examples; LARGEST_INTEGER for a batch size of 0."""
    sizes = np.asarray(facts.batch_sizes, np.int64)
    limits = np.where(sizes > 0, examples // np.maximum(sizes, 1), LARGEST_INTEGER)[facts.study_of_trial]
    for schedule, places in _by_schedule(view, facts, np.arange(len(limits))):
        limits[places] = schedule.last_step_within(examples)
    return limits


def shown_sizes(facts: WorkloadFacts, part: Rows) -> Rows | pa.RecordBatch:
    """Return rows with null for each batch size that changes, after those of the other studies."""
    if not facts.has_schedules:
        return part
    import pyarrow.compute as pc  # here, since commands do without it: it takes 0.02 s to import

    rows = part.batch()
    changes = pc.equal(rows["batch_size"], CHANGES)
    place = rows.schema.get_field_index("batch_size")
    sizes = pc.if_else(changes, pa.scalar(None, pa.int64()), rows["batch_size"])
    rows = rows.set_column(place, rows.schema.field(place), sizes)
    return pa.concat_batches([rows.filter(pc.invert(changes)), rows.filter(changes)])


def _by_schedule(view: ReleaseView, facts: WorkloadFacts, trials: Integers) -> Iterator[tuple[BatchSchedule, Integers]]:
    """Yield each schedule of these trials, and which of them have it."""
    if not facts.has_schedules:
        return
    pieces = schedules_of(view, facts)
    of_each = [None if row == NEVER else pieces[row] for row in trials.tolist()]
    for text in dict.fromkeys(each for each in of_each if each is not None):
        yield stored_schedule(text), np.flatnonzero([each == text for each in of_each])

"""Which trial of a study reaches a target first, and when the next one does, for every target at once.

All that a question about the fewest steps needs of a study are two staircases: the best value of any trial so far, step
by step, and the best of any trial but the one that holds it. Beside them, how far each trial gets says how many reach a
target. A search in these three short lists takes as long for a thousand trials as for a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from losslake.index.records import FLOAT_LISTS, INTEGER_LISTS, TrialRecords, lists, offsets_of
from losslake_schema.reached import Flags, Floats, Integers

# The statuses of the trials that a question takes unless it says otherwise.
COUNTED = ("COMPLETE",)


@dataclass(frozen=True)
class Staircase:
    """By study, steps in ascending order, equal ones possible, and strictly rising merits.

    merit: the value, or its negative to minimize. offsets: entries of study i are offsets[i] up to offsets[i+1].
    """

    offsets: Integers
    step: Integers
    merit: Floats


@dataclass(frozen=True)
class Frontiers:
    """The frontiers of a workload's studies in one metric, over some of its trials.

    best: entries of the trial that has reached a merit first, of several at one step of that with the lower trial_id;
    with row, which of the workload's trials it is, and previous_step, where that was measured before. runner_up: the
    best merit of any other trial. reach: the best merit of each trial, ascending within a study, by reach_offsets.
    """

    best: Staircase
    row: Integers
    previous_step: Integers
    runner_up: Staircase
    reach_offsets: Integers
    reach: Floats


@dataclass(frozen=True)
class _Study:
    """A study's part of Frontiers."""

    entries: Integers
    runner_up: tuple[list[int], list[float]]
    reach: Floats


def frontiers(records: TrialRecords, counts: Flags, bounds: Integers, sign: float) -> Frontiers:
    """The frontiers of some trials of a workload.

    counts: of each trial with records, whether it is one of them.
    bounds: trials of study i are those whose rows are bounds[i] up to bounds[i+1]. sign: 1 to minimize, -1 to maximize.
    """
    rows, offsets = records.rows, records.offsets
    merit = records.value * -sign
    found = []
    for first, end in pairwise(np.searchsorted(rows, bounds).tolist()):
        trials = first + np.flatnonzero(counts[first:end])
        found.append(_of_study(records.step, merit, offsets[trials], offsets[trials + 1]))
    entries = np.concatenate([np.zeros(0, np.int64), *(study.entries for study in found)])
    trial = np.searchsorted(offsets, entries, side="right") - 1
    return Frontiers(
        best=Staircase(_offsets([len(study.entries) for study in found]), records.step[entries], merit[entries]),
        row=rows[trial],
        previous_step=records.previous_step[entries],
        runner_up=Staircase(
            _offsets([len(study.runner_up[0]) for study in found]),
            np.array([step for study in found for step in study.runner_up[0]], np.int64),
            np.array([merit for study in found for merit in study.runner_up[1]], np.float64),
        ),
        reach_offsets=_offsets([len(study.reach) for study in found]),
        reach=np.concatenate([np.zeros(0), *(study.reach for study in found)]),
    )


def _of_study(step: Integers, merit: Floats, starts: Integers, ends: Integers) -> _Study:
    """starts, ends: of each trial, its records; in the order of trial_id."""
    sizes = ends - starts
    trial = np.repeat(np.arange(len(starts)), sizes)
    record = np.arange(len(trial)) + (starts - (np.cumsum(sizes) - sizes))[trial]
    # Trials come in the order of trial_id, so a stable sort leaves the lower one first among equal steps.
    order = np.argsort(step[record], kind="stable")
    record, trial = record[order], trial[order]
    merits = merit[record]
    is_best = merits > _best_before(merits)
    is_holder = np.zeros(len(starts), np.bool_)
    is_holder[trial[is_best]] = True
    # What does not better the trials that never hold the best betters neither staircase.
    matters = np.flatnonzero(merits > _best_before(np.where(is_holder[trial], -np.inf, merits)))
    runner_up = _runner_up(step[record[matters]].tolist(), merits[matters].tolist(), trial[matters].tolist())
    return _Study(record[is_best], runner_up, np.sort(merit[ends - 1]))


def _best_before(merits: Floats) -> Floats:
    before = np.full(len(merits), -np.inf)
    np.maximum.accumulate(merits[:-1], out=before[1:])
    return before


def _runner_up(steps: list[int], merits: list[float], trials: list[int]) -> tuple[list[int], list[float]]:
    """The best of any trial but the one with the best: where it betters, and to what."""
    best = second = -np.inf
    holder = None
    found_steps, found_merits = [], []
    for step, merit, trial in zip(steps, merits, trials, strict=True):
        before = second
        if trial == holder:
            best = max(best, merit)
        elif merit > best:
            best, second, holder = merit, best, trial
        else:
            second = max(second, merit)
        if second > before:
            found_steps.append(step)
            found_merits.append(second)
    return found_steps, found_merits


def _offsets(sizes: list[int]) -> Integers:
    return np.cumsum([0, *sizes])


FRONTIERS = pa.schema(
    [
        ("best_step", INTEGER_LISTS),
        ("best_merit", FLOAT_LISTS),
        ("row", INTEGER_LISTS),
        ("previous_step", INTEGER_LISTS),
        ("runner_up_step", INTEGER_LISTS),
        ("runner_up_merit", FLOAT_LISTS),
        ("reach", FLOAT_LISTS),
    ]
)


def batch_of_frontiers(workload: Frontiers) -> pa.RecordBatch:
    """Return the frontiers as one row per study."""
    best, runner_up = workload.best, workload.runner_up
    columns = [
        *(lists(best.offsets, values) for values in (best.step, best.merit, workload.row, workload.previous_step)),
        *(lists(runner_up.offsets, values) for values in (runner_up.step, runner_up.merit)),
        lists(workload.reach_offsets, workload.reach),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=FRONTIERS)


def frontiers_of_batch(batch: pa.RecordBatch) -> Frontiers:
    """Return what `batch_of_frontiers` made into this batch, without a copy."""
    step, merit, row, previous_step, next_step, next_merit, reach = (each.values.to_numpy() for each in batch.columns)
    best = Staircase(offsets_of(batch["best_step"]), step, merit)
    runner_up = Staircase(offsets_of(batch["runner_up_step"]), next_step, next_merit)
    return Frontiers(best, row, previous_step, runner_up, offsets_of(batch["reach"]), reach)

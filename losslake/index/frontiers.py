"""The frontiers of studies: the first trial to reach a target and the runner-up, for every target at once.

Questions about the fewest steps need two step functions per study: the best value of any trial so far, and the best of
any trial but the one that holds it. The best value of each trial gives the number of trials that reach a target.
Bisecting these three short lists takes as long for a thousand trials as for a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from losslake.index.records import FLOAT_LISTS, INTEGER_LISTS, TrialRecords, lists, offsets_of
from losslake_schema.reached import Flags, Floats, Integers, best_before
from losslake_schema.statuses import COMPLETE, MISSED, Status

# The trial statuses that questions use by default.
COUNTED: tuple[Status, ...] = (COMPLETE, MISSED)


@dataclass(frozen=True)
class Staircase:
    """The step functions of studies: steps ascend, not strictly, and merits rise strictly.

    merit: the value, negated to minimize. offsets: study i has the entries offsets[i]:offsets[i + 1].
    """

    offsets: Integers
    step: Integers
    merit: Floats


@dataclass(frozen=True)
class Frontiers:
    """The frontiers of a workload's studies in one metric, over some of its trials.

    best: the best merit of any trial; at equal steps the lower trial_id goes first. row: the workload's trial that
    holds each entry of best. previous_step: its evaluation before. runner_up: the best merit of any other trial.
    reach: the best merit of each trial, ascending within a study; study i has reach_offsets[i]:reach_offsets[i + 1].
    """

    best: Staircase
    row: Integers
    previous_step: Integers
    runner_up: Staircase
    reach_offsets: Integers
    reach: Floats


@dataclass(frozen=True)
class _Study:
    """The frontiers of one study."""

    entries: Integers
    runner_up: tuple[list[int], list[float]]
    reach: Floats


def frontiers(records: TrialRecords, counts: Flags, bounds: Integers, sign: float) -> Frontiers:
    """Return the frontiers of some trials of a workload.

    counts: for each trial with records, True if it is included. bounds: the trials of study i have the rows
    bounds[i]:bounds[i + 1]. sign: 1 to minimize, -1 to maximize.
    """
    rows, offsets = records.rows, records.offsets
    merit = records.value * -sign
    studies = []
    for first, end in pairwise(np.searchsorted(rows, bounds).tolist()):
        trials = first + np.flatnonzero(counts[first:end])
        studies.append(_of_study(records.step, merit, offsets[trials], offsets[trials + 1]))
    entries = np.concatenate([np.zeros(0, np.int64), *(study.entries for study in studies)])
    trial = np.searchsorted(offsets, entries, side="right") - 1
    return Frontiers(
        best=Staircase(_offsets([len(study.entries) for study in studies]), records.step[entries], merit[entries]),
        row=rows[trial],
        previous_step=records.previous_step[entries],
        runner_up=Staircase(
            _offsets([len(study.runner_up[0]) for study in studies]),
            np.array([step for study in studies for step in study.runner_up[0]], np.int64),
            np.array([merit for study in studies for merit in study.runner_up[1]], np.float64),
        ),
        reach_offsets=_offsets([len(study.reach) for study in studies]),
        reach=np.concatenate([np.zeros(0), *(study.reach for study in studies)]),
    )


def _of_study(step: Integers, merit: Floats, starts: Integers, ends: Integers) -> _Study:
    """Return the frontiers of one study; trial i, by trial_id, has the records starts[i]:ends[i]."""
    sizes = ends - starts
    trial = np.repeat(np.arange(len(starts)), sizes)
    record = np.arange(len(trial)) + (starts - (np.cumsum(sizes) - sizes))[trial]
    # Trials are in the order of trial_id, so a stable sort keeps the lower one first among equal steps.
    order = np.argsort(step[record], kind="stable")
    record, trial = record[order], trial[order]
    merits = merit[record]
    losses = -merits
    is_best = losses < best_before(losses)
    is_holder = np.zeros(len(starts), np.bool_)
    is_holder[trial[is_best]] = True
    # A record that is no better than an earlier one of a trial that never holds the best changes neither function.
    matters = np.flatnonzero(losses < best_before(np.where(is_holder[trial], np.inf, losses)))
    runner_up = _runner_up(step[record[matters]].tolist(), merits[matters].tolist(), trial[matters].tolist())
    return _Study(record[is_best], runner_up, np.sort(merit[ends - 1]))


def _runner_up(steps: list[int], merits: list[float], trials: list[int]) -> tuple[list[int], list[float]]:
    """Return the steps at which the best merit of any trial but the holder of the best improves, and these merits."""
    best = second = -np.inf
    holder = None
    new_steps, new_merits = [], []
    for step, merit, trial in zip(steps, merits, trials, strict=True):
        before = second
        if trial == holder:
            best = max(best, merit)
        elif merit > best:
            best, second, holder = merit, best, trial
        else:
            second = max(second, merit)
        if second > before:
            new_steps.append(step)
            new_merits.append(second)
    return new_steps, new_merits


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
    """Return the frontiers that `batch_of_frontiers` wrote into a batch, without a copy."""
    step, merit, row, previous_step, next_step, next_merit, reach = (each.values.to_numpy() for each in batch.columns)
    best = Staircase(offsets_of(batch["best_step"]), step, merit)
    runner_up = Staircase(offsets_of(batch["runner_up_step"]), next_step, next_merit)
    return Frontiers(best, row, previous_step, runner_up, offsets_of(batch["reach"]), reach)

"""Steps from whatever a log counts: steps themselves, examples or epochs.

steps = examples / batch_size and examples = epochs x epoch_size, to the nearest integer; the axis that was used is kept
with the trial, so that nobody mistakes a computed step for a logged one.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from losslake_ingest.mapping.mapping import Axis
from losslake_ingest.mapping.refusal import Lack, Refusal
from losslake_ingest.mapping.template import UnknownField
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import LoggedRows, Scalar
from losslake_ingest.study import LARGEST_EXACT_INTEGER
from losslake_schema.reached import Flags, Floats, Integers


@dataclass(frozen=True)
class Steps:
    """The steps of some rows, the rows that have one, and the formula with its numbers if they are not as logged."""

    steps: Integers
    known: Flags
    computed: str | None = None


def axis_for(column: str, rows: LoggedRows, axes: Sequence[Axis]) -> Axis | None:
    """The first axis of the mapping that these rows have and that holds for a logged column."""
    for axis in axes:
        holds = not axis.metrics or any(fnmatch.fnmatchcase(column, pattern) for pattern in axis.metrics)
        if holds and axis.column in rows.columns and axis.column != column:
            return axis
    return None


def steps_of(rows: LoggedRows, axis: Axis, batch_size: int, fields: Mapping[str, Scalar]) -> Steps:
    """The steps of rows by an axis; raises Refusal when a position is no step or the epoch's size is unknown."""
    positions = rows.columns[axis.column]
    missing = rows.missing.get(axis.column)
    known = ~missing if missing is not None else np.ones(len(positions), np.bool_)
    computed = None
    if axis.counts == "steps":
        steps = positions
    elif axis.counts == "examples":
        steps = np.floor(positions / batch_size + 0.5)
        computed = f"{axis.column} / {batch_size}"
    else:
        size = _epoch_size(axis, fields)
        with np.errstate(over="ignore"):
            steps = np.floor(positions * size / batch_size + 0.5)
        computed = f"{axis.column} x {size:.17g} / {batch_size}"
    return Steps(_checked(steps, positions, known, axis), known, computed)


def _checked(steps: Floats, positions: Floats, known: Flags, axis: Axis) -> Integers:
    good = (steps >= 0) & (steps < LARGEST_EXACT_INTEGER) & (steps == np.floor(steps))
    bad = np.flatnonzero(known & ~good)
    if len(bad):
        row = int(bad[0])
        position = float(positions[row])
        rule = Rule.NEGATIVE_STEP if position < 0 else Rule.BAD_STEP
        message = f"{axis.column} is {position:g} in row {row + 1:,}: this is no step from 0 to 2^53"
        raise Refusal(rule, f"{message}; choose another [[axis]] in the mapping")
    return np.where(known, steps, 0).astype(np.int64)


def _epoch_size(axis: Axis, fields: Mapping[str, Scalar]) -> float:
    assert axis.epoch_size is not None
    try:
        size = float(axis.epoch_size.fill(fields))
    except UnknownField as unknown:
        add = f"{unknown.alternatives[0]} = NUMBER   # under [fields]: examples in an epoch"
        what = f"{axis.column} counts epochs, and nothing says how many examples are in one"
        raise Refusal(Rule.STEP_UNKNOWN, f"{what}: add to the mapping: {add}", (Lack(what, add),)) from None
    except ValueError:
        size = 0.0
    if not (np.isfinite(size) and size > 0):
        raise Refusal(Rule.BAD_FACT, f"the epoch_size of the axis {axis.column} is not a number above 0")
    return size

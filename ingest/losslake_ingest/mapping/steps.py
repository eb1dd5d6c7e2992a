"""Conversion of logged positions (steps, examples, epochs) to training steps, in exact arithmetic.

A position is scale x column + offset. steps = examples / batch_size, rounded to the nearest integer or up; an epoch is
epoch_size / batch_size steps, of which the last batch is kept, dropped, or shared with the next epoch (fractional).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from losslake_ingest.contracts.rules import Refusal, Rule, mapping_lacks, shown
from losslake_ingest.contracts.run_log import Fields, Scalar
from losslake_ingest.contracts.study import LARGEST_EXACT_INTEGER
from losslake_ingest.mapping.mapping import LAST_BATCHES, Axis
from losslake_ingest.mapping.template import Template, UnknownField, fill_if_known, finite_number
from losslake_ingest.mapping.toml import toml_key, toml_string
from losslake_schema.names import CHANGES
from losslake_schema.reached import Flags, Floats, Integers

ROUNDED = ("examples", "epochs")  # what such an axis counts needn't be whole steps
_SAFE = 2**60  # below it, twice a product is an int64


@dataclass(frozen=True)
class StepRule:
    """The conversion of positions on an axis to steps: slope x column + shift.

    Steps of examples and epochs are rounded as the axis says; all others must be integers. formula: None if logged
    steps are used unchanged. warning: what the mapping should state, if anything. is_unstated: nothing states the
    offset, of epochs or of a counter whose steps are assumed. are_calls: calls of a logger, and nothing states the
    updates between two.
    """

    axis: Axis
    slope: Fraction
    shift: Fraction
    formula: str | None
    warning: str | None = None
    is_unstated: bool = False
    are_calls: bool = False

    def steps(self, positions: Floats, has_step: Flags) -> Integers:
        """Return the steps of positions, 0 where unknown. Raises Refusal."""
        if self.formula is None:
            return _whole_steps(positions, positions, has_step, self.axis)
        unique, inverse = np.unique(positions, return_inverse=True)
        return _whole_steps(self._exact_steps(unique)[inverse], positions, has_step, self.axis)

    def _exact_steps(self, positions: Floats) -> Floats:
        """Return the steps of positions, as the decimal numbers that were logged; NaN where there is none."""
        is_rounded = self.axis.counts in ROUNDED
        below = math.lcm(self.slope.denominator, self.shift.denominator)
        factor, term = int(self.slope * below), int(self.shift * below)
        steps = np.full(len(positions), np.nan)
        finite = np.isfinite(positions)
        logged: Integers | np.ndarray[Any, np.dtype[np.object_]]
        parts: int | np.ndarray[Any, np.dtype[np.object_]] = 1
        largest = max(map(abs, positions[finite].tolist()), default=0.0)
        if (positions[finite] == np.floor(positions[finite])).all() and largest * factor + abs(term) + below < _SAFE:
            logged = positions[finite].astype(np.int64)
        else:
            decimals = [_exact(position) for position in positions[finite].tolist()]
            logged = np.array([number.numerator for number in decimals], np.object_)
            parts = np.array([number.denominator for number in decimals], np.object_)
        total, unit = factor * logged + term * parts, below * parts
        if self.axis.rounding == "up":
            whole = -(-total // unit)
        else:
            whole = (2 * total + unit) // (2 * unit) if is_rounded else total // unit
        good = (total >= 0) & (whole < LARGEST_EXACT_INTEGER) & (is_rounded | (whole * unit == total))
        steps[finite] = np.where(good, whole, np.nan).astype(np.float64)
        return steps


def step_rule(axis: Axis, batch_size: int, fields: Fields) -> StepRule:
    """Return the rule of an axis for a run. Raises Refusal if it isn't stated."""
    scale = stated_number(axis.scale, "scale", f"axis {axis.column}", fields)
    offset = stated_number(axis.offset, "offset", f"axis {axis.column}", fields)
    is_unstated = offset is None and (axis.counts == "epochs" or axis.assumed)
    if axis.counts == "updates_from_zero":
        offset, is_unstated = Fraction(1), False
    are_calls = axis.counts == "calls" and scale is None
    scale, offset = Fraction(1) if scale is None else scale, offset or Fraction(0)
    name = axis.column if scale == 1 else f"{axis.column} x {shown_number(scale)}"
    if offset:
        name = f"({name} {'+' if offset > 0 else '-'} {shown_number(abs(offset))})"
    if axis.counts not in ROUNDED:
        formula = None if scale == 1 and not offset else name
        return StepRule(axis, scale, offset, formula, None, is_unstated, are_calls)
    if batch_size == CHANGES:
        why = f"{axis.column} counts {axis.counts}, from which no steps are computed where the batch size changes"
        add = '[[axis]]\ncolumn = "…"\ncounts = "updates"   # above other [[axis]]: a column with the steps'
        raise mapping_lacks(Rule.STEP_UNKNOWN, why, add)
    if axis.counts == "examples":
        ratio = f"{name} / {batch_size}"
        formula = f"ceil({ratio})" if axis.rounding == "up" else ratio
        return StepRule(axis, scale / batch_size, offset / batch_size, formula)
    size = _epoch_size(axis, fields)
    stated = _last_batch(axis, fields)
    ratio = f"{shown_number(size)} / {batch_size}"
    rate = size / batch_size
    warning = None
    if stated == "kept":
        rate, ratio = Fraction(math.ceil(rate)), f"ceil({ratio})"
    elif stated == "dropped":
        rate, ratio = Fraction(math.floor(rate)), f"floor({ratio})"
        if not rate:
            what = f"an epoch of {shown_number(size)} examples has no complete batch of {batch_size}"
            message = f"{what}, and the incomplete one is dropped"
            raise Refusal(Rule.BAD_FACT, f"{message}: correct epoch_size or last_batch of the axis {axis.column}")
    elif stated is None and rate.denominator != 1:
        ways = f'"kept" ({math.ceil(rate)} steps), "dropped" ({math.floor(rate)}) or "fractional"'
        batches = f"{float(rate):.6g} batches of {batch_size}"
        warning = (
            f"an epoch of {shown_number(size)} examples is counted as {batches}: say under [[axis]] last_batch = {ways}"
        )
    return StepRule(axis, rate * scale, rate * offset, f"{name} x {ratio}", warning, is_unstated)


def are_counted_from_0(positions: Floats) -> bool:
    """Return True if whole epochs begin at 0, or positions seem to be every nth one counted from 0, such as 4, 9, 14.

    Positions from 1 never do: 1, 3, 5 are the first, third and fifth.
    """
    unique = np.unique(positions[np.isfinite(positions)])
    if not len(unique) or (unique != np.floor(unique)).any():
        return False
    first, gaps = unique[0], np.diff(unique)
    is_regular = len(gaps) > 0 and bool((gaps[:-1] == gaps[0]).all()) and gaps[-1] <= gaps[0]
    return bool(first <= 0 or (is_regular and first == gaps[0] - 1 and first > 1))


def may_be_nth(positions: Floats) -> bool:
    """Return False if the first two positions can't be of every nth one counted from 0, without reading the others."""
    if len(positions) < 2:
        return True
    first, second = positions[:2].tolist()
    return bool(second - first == first + 1 or second <= first)


def check_first(axis: Axis, column: str, positions: Floats, is_doubtful: bool) -> None:
    """Raise Refusal if positions are or may be counted from 0, and nothing says what had been trained at 0.

    positions: those at which one logged column is measured. Fractions of others say nothing of it. is_doubtful: the
    column is named as by a writer that counts epochs from 0, but doesn't begin so.
    """
    if axis.counts == "epochs":
        _check_first_epoch(axis, column, positions, is_doubtful)
    elif len(positions) and positions.min() > 0 and are_counted_from_0(positions):
        written = ", ".join(f"{position:g}" for position in np.unique(positions)[:3])
        what = f"{column} is at {axis.column} {written}, and it's unknown whether {axis.column} counts updates from 0"
        add = f'[[axis]]\ncolumn = {toml_string(axis.column)}\ncounts = "updates_from_zero"   # or "updates"'
        raise mapping_lacks(Rule.STEP_UNKNOWN, what, add)


def _check_first_epoch(axis: Axis, column: str, positions: Floats, is_doubtful: bool) -> None:
    if not (are_counted_from_0(positions) or (is_doubtful and len(positions))):
        return
    first = float(positions.min())
    at = f"the first value of {column} is at {axis.column} {first:g}"
    why = "it's unknown whether an epoch had been trained before"
    ways = f"{1 - first:g}", f"{0 - first:g} if it was before training"
    if first > 0:
        why = "it's unknown whether epochs are counted from 0, so that one more had been trained"
        ways = "1", "0 if they are counted from 1"
    what = f"{at}, and {why}"
    names = axis.offset.names if axis.offset is not None else []
    key, place = (names[0], "[fields]") if names else ("offset", f"[[axis]] of {shown(axis.column)}")
    add = f"{toml_key(key)} = {ways[0]}   # under {place}; {ways[1]}"
    raise mapping_lacks(Rule.STEP_UNKNOWN, what, add, may_differ=True)


def _exact(number: float) -> Fraction:
    """Return the decimal number that a float64 stands for: 0.1 is one tenth."""
    return Fraction(*Decimal(repr(number)).as_integer_ratio())


def shown_number(number: Fraction) -> str:
    """Return a number for a formula."""
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.17g}"


def stated_number(template: Template | None, key: str, owner: str, fields: Fields) -> Fraction | None:
    """Return the number of a key of an axis or column, None if it is unstated. Raises Refusal."""
    value = fill_if_known(template, fields)
    if value is None:
        return None
    number = None if isinstance(value, bool) else finite_number(value)
    if number is None or (number == 0 and key == "scale"):
        raise Refusal(Rule.BAD_FACT, f"the {key} of the {owner} is {shown(value)}, not a number")
    return _exact(number)


def _last_batch(axis: Axis, fields: Fields) -> Scalar | None:
    """Return what becomes of the last batch of an epoch, None if it is unstated. Raises Refusal."""
    value = fill_if_known(axis.last_batch, fields)
    if value is not None and value not in LAST_BATCHES:
        message = f"the last_batch of the axis {axis.column} is {shown(value)}, not one of {', '.join(LAST_BATCHES)}"
        raise Refusal(Rule.BAD_FACT, message)
    return value


def _epoch_size(axis: Axis, fields: Fields) -> Fraction:
    assert axis.epoch_size is not None
    try:
        size = finite_number(axis.epoch_size.fill(fields))
    except UnknownField as unknown:
        add = f'{toml_key(unknown.alternatives[0])} = "…"   # under [fields]: the number of examples per epoch'
        what = f"{axis.column} counts epochs, and the number of examples per epoch is unknown"
        raise mapping_lacks(Rule.STEP_UNKNOWN, what, add, may_differ=True) from None
    if size is None or size <= 0:
        raise Refusal(Rule.BAD_FACT, f"the epoch_size of the axis {axis.column} is not a number above 0")
    return _exact(size)


def _whole_steps(steps: Floats, positions: Floats, has_step: Flags, axis: Axis) -> Integers:
    """Return the steps as integers, 0 if unknown. Raises Refusal."""
    good = (steps >= 0) & (steps < LARGEST_EXACT_INTEGER) & (steps == np.floor(steps))
    bad = np.flatnonzero(has_step & ~good)
    if len(bad):
        row = int(bad[0])
        position = float(positions[row])
        rule = Rule.NEGATIVE_STEP if position < 0 else Rule.BAD_STEP
        message = f"{axis.column} is {position:g} in row {row + 1:,}: not an integer step from 0 to 2^53"
        raise Refusal(rule, f"{message}; choose another [[axis]] in the mapping, or its offset and scale")
    return np.where(has_step, steps, 0).astype(np.int64)

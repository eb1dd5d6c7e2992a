"""Values as the decimals that a log's text has: an integer of few digits, and the power of ten that divides it.

Logs print six digits or so. Those digits take two bytes a value, the float64 that they stand for seven. The division
gives exactly that float64 again: digits below 2^53 and powers of ten up to 10^22 are exact, and IEEE 754 rounds their
quotient to the nearest float64, as reading the text does (Clinger 1990, "How to read floating point numbers
accurately"). Where it doesn't give the same number, NaN and infinities included, a value stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake_schema.reached import Flags, Floats, Integers

LARGEST_DIGITS = 2.0**53
LARGEST_EXPONENT = 22
MOST_DIGITS = 12
_POWERS = np.array([10.0**exponent for exponent in range(LARGEST_EXPONENT + 1)])
_SAMPLE = 1024
_ROWS_IN_CACHE = 1 << 13
_MOST_EXCEPTIONS = 0.1
_SPREAD_WORTH_FLOATING = 1.5


@dataclass(frozen=True)
class Decimals:
    """Values by row: digits / divisor where is_exact says so; is_exact is None when it is everywhere."""

    digits: Floats
    divisor: Floats
    is_exact: Flags | None


@dataclass(frozen=True)
class Notation:
    """How a column of numbers was printed.

    decimals: after the point, the same for all values; None: so many that each value has `significant` digits.
    """

    significant: int
    decimals: int | None

    def decimals_of(self, values: Floats) -> Integers | int:
        """How many digits after the point each value is to be read with."""
        if self.decimals is not None:
            return self.decimals
        with np.errstate(divide="ignore"):
            leading = np.floor(np.log10(np.abs(values)))
        wanted = np.clip(self.significant - 1 - leading, 0, LARGEST_EXPONENT)
        exponents: Integers = np.nan_to_num(wanted, nan=0.0).astype(np.int64)
        return exponents


def decimals(values: Floats) -> Decimals | None:
    """The values as decimals; None where most of them aren't, or have too many digits to be worth it."""
    notation = notation_of(values)
    if notation is None:
        return None
    digits, divisor = np.empty_like(values), np.empty_like(values)
    is_exact = np.empty(len(values), np.bool_)
    for start in range(0, len(values), _ROWS_IN_CACHE):
        rows = slice(start, start + _ROWS_IN_CACHE)
        _divide_up(values[rows], notation, digits[rows], divisor[rows], is_exact[rows])
    return Decimals(digits, divisor, None if is_exact.all() else is_exact)


def _divide_up(values: Floats, notation: Notation, digits: Floats, divisor: Floats, is_exact: Flags) -> None:
    """Fill in digits, divisor and is_exact of these values."""
    divisor[:] = _POWERS[notation.decimals_of(values)]
    with np.errstate(over="ignore", invalid="ignore"):
        np.rint(values * divisor, out=digits)
        np.equal(digits / divisor, values, out=is_exact)
        is_exact &= np.abs(digits) < LARGEST_DIGITS


def notation_of(values: Floats) -> Notation | None:
    """How most of the values were printed, by a sample of them."""
    sample = values[:: max(1, len(values) // _SAMPLE)]
    sample = np.abs(sample[np.isfinite(sample)])
    needed = _decimals_needed(sample)
    found = needed >= 0
    if not len(sample) or np.count_nonzero(~found) > _MOST_EXCEPTIONS * len(sample):
        return None
    sample, needed = sample[found], needed[found]
    shown = sample * _POWERS[needed]
    significant = len(f"{int(shown.max()):d}")
    if significant > MOST_DIGITS:
        return None
    fixed = int(needed.max())
    with np.errstate(over="ignore"):
        is_narrow = np.quantile(sample, 0.9) * _POWERS[fixed] < _SPREAD_WORTH_FLOATING * 10.0**significant
    return Notation(significant, fixed if is_narrow else None)


def _decimals_needed(values: Floats) -> Integers:
    """The fewest decimals with which each value can be written exactly; -1 where none will do."""
    needed = np.full(len(values), -1, np.int64)
    for exponent in range(LARGEST_EXPONENT, -1, -1):
        with np.errstate(over="ignore", invalid="ignore"):
            digits = np.rint(values * _POWERS[exponent])
            is_exact = (digits / _POWERS[exponent] == values) & (digits < LARGEST_DIGITS)
        needed[is_exact] = exponent
    return needed

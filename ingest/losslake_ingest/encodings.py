"""How columns of numbers lie in a Parquet file: values as decimals, and the encoding that takes the fewest bytes.

Logs print six digits or so. Those digits take two bytes a value, the float64 that they stand for seven. So a value is
stored as an integer of few digits and the power of ten that divides it. The division gives exactly that float64 again:
digits below 2^53 and powers of ten up to 10^22 are exact, and IEEE 754 rounds their quotient to the nearest float64, as
reading the text does (Clinger 1990, "How to read floating point numbers accurately"). Where it doesn't give the same
number, NaN and infinities included, a value stays as it is. Which encoding is the smallest is tried on a sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from losslake_schema.reached import Flags, Floats, Integers

LARGEST_DIGITS = 2.0**53
LARGEST_EXPONENT = 22
MOST_DIGITS = 12
_POWERS = np.array([10.0**exponent for exponent in range(LARGEST_EXPONENT + 1)])
_NOTATION_SAMPLE = 1024
_ROWS_IN_CACHE = 1 << 13
_MOST_EXCEPTIONS = 0.1
_SPREAD_WORTH_FLOATING = 1.5


@dataclass(frozen=True)
class Decimals:
    """Values by row: digits / divisor where is_exact says so; is_exact is None when it is everywhere."""

    digits: Floats
    divisor: Floats
    is_exact: Flags | None


def decimals(values: Floats) -> Decimals | None:
    """Return the values as decimals; None where most of them aren't, or have too many digits to be worth it."""
    notation = notation_of(values)
    if notation is None:
        return None
    digits, divisor = np.empty_like(values), np.empty_like(values)
    is_exact = np.empty(len(values), np.bool_)
    for start in range(0, len(values), _ROWS_IN_CACHE):
        rows = slice(start, start + _ROWS_IN_CACHE)
        divisor[rows] = _POWERS[notation.decimals_of(values[rows])]
        with np.errstate(over="ignore", invalid="ignore"):
            np.rint(values[rows] * divisor[rows], out=digits[rows])
            np.equal(digits[rows] / divisor[rows], values[rows], out=is_exact[rows])
            is_exact[rows] &= np.abs(digits[rows]) < LARGEST_DIGITS
    return Decimals(digits, divisor, None if is_exact.all() else is_exact)


@dataclass(frozen=True)
class Notation:
    """How a column of numbers was printed.

    decimals: after the point, the same for all values; None: so many that each value has `significant` digits.
    """

    significant: int
    decimals: int | None

    def decimals_of(self, values: Floats) -> Integers | int:
        """Return how many digits after the point each value is to be read with."""
        if self.decimals is not None:
            return self.decimals
        with np.errstate(divide="ignore"):
            leading = np.floor(np.log10(np.abs(values)))
        wanted = np.clip(self.significant - 1 - leading, 0, LARGEST_EXPONENT)
        exponents: Integers = np.nan_to_num(wanted, nan=0.0).astype(np.int64)
        return exponents


def notation_of(values: Floats) -> Notation | None:
    """Return how most of the values were printed, by a sample of them."""
    sample = values[:: max(1, len(values) // _NOTATION_SAMPLE)]
    sample = np.abs(sample[np.isfinite(sample)])
    needed = _decimals_needed(sample)
    is_decimal = needed >= 0
    if not len(sample) or np.count_nonzero(~is_decimal) > _MOST_EXCEPTIONS * len(sample):
        return None
    sample, needed = sample[is_decimal], needed[is_decimal]
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


DICTIONARY = "DICTIONARY"
_SAMPLE = 1 << 13
_SPREAD_SAMPLE = 1 << 11
_BYTES_OF_AN_ENTRY = 3.0
_DICTIONARY_HAS_TO_SAVE = 1.2


@dataclass(frozen=True)
class Encoding:
    """A Parquet encoding, and the level at which zstd compresses it."""

    name: str
    level: int


# Trials that are evaluated at the same steps repeat each other, which plain bytes show and deltas hide.
STEPS = (Encoding("PLAIN", 3), Encoding("DELTA_BINARY_PACKED", 1))
INTERVALS = (Encoding(DICTIONARY, 3), Encoding("DELTA_BINARY_PACKED", 1))
DIGITS = (Encoding("BYTE_STREAM_SPLIT", 1), Encoding(DICTIONARY, 1))
# The low bytes of a float64 that is no decimal are noise: a higher level takes 1.6 times as long to save 1.5%.
VALUES = (Encoding("BYTE_STREAM_SPLIT", -5), Encoding(DICTIONARY, 1))


def smallest(column: npt.NDArray[Any], candidates: Sequence[Encoding]) -> Encoding:
    """Return the candidate with which rows from the middle of a column take the fewest bytes; the first of equals."""
    sample = _from_the_middle(column)
    return min(candidates, key=lambda encoding: _bytes(sample, encoding))


def for_numbers(column: npt.NDArray[Any], split: Encoding, dictionary: Encoding, group: int) -> Encoding:
    """Return `split`, which splits the bytes of float64, or `dictionary` where that takes clearly less.

    group: rows in a row group, each of which has a dictionary of its own. A short sample can't be written as a
    dictionary to see, since most of a dictionary is its entries: their number d is estimated from the repeats r in a
    sample of k rows from everywhere, about k^2 / (2 r).
    """
    sample = column[:: max(1, len(column) // _SPREAD_SAMPLE)]
    distinct: float = len(np.unique(sample))
    if distinct == len(sample):
        return split
    if len(column) >= 2 * _SPREAD_SAMPLE:
        distinct = len(sample) ** 2 / (2 * (len(sample) - distinct))
    by_dictionary = _BYTES_OF_AN_ENTRY * distinct / min(len(column), group) + math.log2(max(2, distinct)) / 8
    middle = _from_the_middle(column)
    return dictionary if _DICTIONARY_HAS_TO_SAVE * by_dictionary * len(middle) < _bytes(middle, split) else split


def options(columns: dict[str, Encoding]) -> dict[str, Any]:
    """Return the options of a Parquet writer that give each column its encoding."""
    return {
        "use_dictionary": [name for name, encoding in columns.items() if encoding.name == DICTIONARY],
        "column_encoding": {name: each.name for name, each in columns.items() if each.name != DICTIONARY},
        "compression": "zstd",
        "compression_level": {name: encoding.level for name, encoding in columns.items()},
        "store_schema": False,
    }


def _from_the_middle(column: npt.NDArray[Any]) -> pa.Table:
    start = max(0, (len(column) - _SAMPLE) // 2)
    return pa.table({"sample": np.ascontiguousarray(column[start : start + _SAMPLE])})


def _bytes(sample: pa.Table, encoding: Encoding) -> int:
    sink = pa.BufferOutputStream()
    pq.write_table(sample, sink, write_statistics=False, **options({"sample": encoding}))
    return int(sink.getvalue().size)

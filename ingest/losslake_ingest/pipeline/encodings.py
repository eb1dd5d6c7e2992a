"""The smallest encoding of each number column in Parquet files, among standard ones, determined on a sample.

A float64 whose text has six digits holds about 20 bits of information in 52 bits of mantissa, which look like noise.
Splitting its bytes saves the exponent only; values that repeat are better as entries of a dictionary, or plain, where
zstd finds the repeats.
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

from losslake_schema.reached import Floats

DICTIONARY = "DICTIONARY"
_SAMPLE = 1 << 12
_SPREAD_SAMPLE = 1 << 11
_BYTES_OF_AN_ENTRY = 6.5


@dataclass(frozen=True)
class Encoding:
    """A Parquet encoding, and the level at which zstd compresses it."""

    name: str
    level: int


# Trials evaluated at the same steps repeat each other: zstd sees that in plain bytes but not in deltas. Splitting the
# bytes of integers would take a fifth less, but DuckDB 1 can't read it.
STEPS = (Encoding("PLAIN", 3), Encoding("DELTA_BINARY_PACKED", 1))
# The low bytes of a float64 are noise: a higher level takes 1.6 times as long to save 1.5%.
SPLIT = Encoding("BYTE_STREAM_SPLIT", 1)
VALUES = (SPLIT, Encoding("PLAIN", 3), Encoding(DICTIONARY, 1))


def smallest(column: npt.NDArray[Any], candidates: Sequence[Encoding]) -> Encoding:
    """Return the candidate that encodes rows from the middle of a column in the fewest bytes; the first if equal."""
    sample = _from_the_middle(column)
    return min(candidates, key=lambda encoding: _bytes(sample, encoding))


def for_values(column: Floats, group: int) -> Encoding:
    """Return the encoding of VALUES that takes the fewest bytes for this column.

    group: rows in a row group; each has its own dictionary. A short sample written as a dictionary would be misleading,
    since most of it would be the dictionary's entries. Their number d is estimated from the repeats r in a sample of k
    rows from the whole column: d = k^2 / (2 r).
    """
    sample = column[:: max(1, len(column) // _SPREAD_SAMPLE)]
    distinct: float = len(np.unique(sample))
    if distinct == len(sample):
        return SPLIT
    if len(column) >= 2 * _SPREAD_SAMPLE:
        distinct = len(sample) ** 2 / (2 * (len(sample) - distinct))
    *others, dictionary = VALUES
    middle = _from_the_middle(column)
    by_dictionary = _BYTES_OF_AN_ENTRY * distinct / min(len(column), group) + math.log2(max(2, distinct)) / 8
    sizes = {encoding: _bytes(middle, encoding) for encoding in others}
    best = min(others, key=sizes.__getitem__)
    return dictionary if by_dictionary * len(middle) < sizes[best] else best


def options(columns: dict[str, Encoding]) -> dict[str, Any]:
    """Return the options of a Parquet writer that set the encoding of each column."""
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

"""How columns of numbers lie in a Parquet file: which encoding takes the fewest bytes is tried on a sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

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
    """The candidate under which rows from the middle of a column take the fewest bytes; the first of equals."""
    sample = _from_the_middle(column)
    return min(candidates, key=lambda encoding: _bytes(sample, encoding))


def for_numbers(column: npt.NDArray[Any], split: Encoding, dictionary: Encoding, group: int) -> Encoding:
    """Whether the bytes of float64 are to be split, or a dictionary takes clearly less.

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
    """The options of a Parquet writer that give each column its encoding."""
    encodings = {name: encoding.name for name, encoding in columns.items() if encoding.name != DICTIONARY}
    return {
        "use_dictionary": [name for name, encoding in columns.items() if encoding.name == DICTIONARY],
        "column_encoding": encodings,
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

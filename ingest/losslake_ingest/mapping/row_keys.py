"""Keys of rows: columns whose name or words say that they tell rows apart, such as `split`, `seed` and `rank`."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum

from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.mapping.metrics import SPLITS, split_of
from losslake_ingest.mapping.toml import names_of

FLAG_WORDS = ("true", "false", "yes", "no")


class RowKey(Enum):
    """The kind of a key column.

    Rows without a value of SPLIT are a split of their own. Values of PHASE may follow each other.
    """

    SPLIT = "split"
    PHASE = "phase"
    RUN = "run"
    RANK = "rank"


_KEYS = {name: RowKey(key) for key, names in names_of("row_keys").items() for name in names}
_BESIDE_SPLITS = {"is", "in", "mode", "flag", "phase", "set", "split"}
_WORD = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def named_key(column: str) -> RowKey | None:
    """Return what a column tells apart by its name alone, as far as the name says it; None if it is a metric's."""
    if column.partition("/")[0] in SPLITS and "/" in column:
        return None
    words = _words(column)
    return _KEYS.get("_".join(words)) or (RowKey.SPLIT if _is_split_flag(words) else None)


def row_key(column: str, values: Collection[Scalar]) -> RowKey | None:
    """Return what a column with these values tells apart, None if nothing says that it does."""
    words = [value.lower() for value in values if isinstance(value, str)]
    are_flags = all(str(value).lower() in (*FLAG_WORDS, "0", "1") for value in values)
    key = named_key(column)
    if key is RowKey.SPLIT and "_".join(_words(column)) not in _KEYS and not are_flags:
        key = None
    if key is RowKey.PHASE and (any(map(split_of, words)) or not words):
        return RowKey.SPLIT
    if key is None and words and all(map(split_of, words)) and len(words) == len(values):
        return RowKey.PHASE
    return key


def split_named(column: str, value: Scalar) -> str | None:
    """Return the split of a metric that a value of a column names: `val` of `split = "valid"` and `is_val = true`."""
    text = str(value).lower()
    if text in (*FLAG_WORDS, "0", "1"):
        splits = [split for word in _words(column) if (split := split_of(word))]
        if not splits or text not in ("true", "yes", "1"):
            return "train" if splits and splits[0] != "train" else None
        return splits[0]
    return split_of(text)


def columns_used(mapping: LogMapping) -> frozenset[str]:
    """Return the columns that tell no rows apart, as a mapping says what else they are: runs, axes, times, metrics.

    A column that a line of [metrics] leaves out is one, unless a condition or the metric of another column names it.
    """
    used = {mapping.run.column, *mapping.run.within}
    fields: set[str] = set()
    for sections in (mapping, *mapping.when):
        used |= {*sections.metrics, *(axis.column for axis in sections.axis)}
        used |= {*sections.time.columns}
        fields |= {name for line in sections.metrics.values() if line.metric for name in line.metric.names}
    fields |= {name for when in mapping.when for name in when.condition}
    return frozenset(name for name in used if name) - fields


def _words(column: str) -> list[str]:
    """Return the words of the last part of a column's name: is, val of `flags.isVal`."""
    return [word.lower() for word in _WORD.findall(re.split("[./]", column)[-1])]


def _is_split_flag(words: Collection[str]) -> bool:
    return any(map(split_of, words)) and all(split_of(word) or word in _BESIDE_SPLITS for word in words)

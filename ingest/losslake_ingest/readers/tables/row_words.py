"""Rows of a run by the words beside their numbers: fields of these rows, by which a mapping can tell them apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from losslake_ingest.contracts.run_log import LoggedRows
from losslake_ingest.readers.tables.table import Numbers, Words
from losslake_schema.reached import Integers

MOST_KINDS = 20
MOST_COMBINATIONS = 100


def rows_by_words(
    logged: LoggedRows, columns: Mapping[str, Words]
) -> tuple[list[tuple[Integers, LoggedRows]], list[str]]:
    """Return the positions and the rows with each combination of words, and the columns that have too many.

    columns: the words of these rows. The combinations are in the order of their first rows. An empty cell is no field.
    """
    n_rows = len(next(iter(logged.columns.values())))
    which = np.zeros(n_rows, np.int64)
    used, too_many = [], []
    for name, column in columns.items():
        kinds, numbers = np.unique(column.codes, return_inverse=True)
        combinations, combined = np.unique(which * len(kinds) + numbers, return_inverse=True)
        if np.count_nonzero(kinds >= 0) > MOST_KINDS or len(combinations) > MOST_COMBINATIONS:
            too_many.append(name)
        else:
            which = combined
            used.append(name)
    if not used:
        return [(np.arange(n_rows), logged)], too_many
    parts = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    split = []
    for at in sorted(parts, key=lambda part: int(part[0])):
        row = int(at[0])
        fields = {name: columns[name].words[code] for name in used if (code := int(columns[name].codes[row])) >= 0}
        split.append((at, replace(logged.at(at), fields=fields)))
    return split, too_many


def whole_numbers(numbers: Numbers) -> Words | None:
    """Return the numbers of a column as its words, None if some aren't whole. NaN is an empty cell."""
    is_finite = np.isfinite(numbers.values)
    if numbers.missing is not None:
        is_finite &= ~numbers.missing
    finite = numbers.values[is_finite]
    if not (finite == np.floor(finite)).all():
        return None
    kinds, at = np.unique(finite, return_inverse=True)
    codes = np.full(len(is_finite), -1, np.int32)
    codes[is_finite] = at
    return Words(codes, [int(kind) for kind in kinds.tolist()])


def joined(words: Words | None, numbers: Words | None) -> Words | None:
    """Return the words and the numbers of one column."""
    if words is None or numbers is None:
        return words or numbers
    of_numbers = np.where(numbers.codes >= 0, numbers.codes + np.int32(len(words.words)), -1)
    codes = np.where(words.codes >= 0, words.codes, of_numbers)
    return Words(codes.astype(np.int32), [*words.words, *numbers.words])

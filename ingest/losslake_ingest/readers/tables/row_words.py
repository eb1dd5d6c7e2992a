"""Rows of a run by the words beside their numbers: fields of these rows, by which a mapping can tell them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from losslake_ingest.contracts.run_log import LoggedRows, Scalar
from losslake_schema.reached import Flags, Floats, Integers

MOST_KINDS = 20
MOST_COMBINATIONS = 100
# The words of a column, and the number of each row's word among them, -1 for an empty cell.
Column = tuple[Sequence[Scalar], npt.NDArray[np.int32]]


def rows_by_words(
    logged: LoggedRows, columns: Mapping[str, Column]
) -> tuple[list[tuple[Integers, LoggedRows]], list[str]]:
    """Return the positions and the rows with each combination of words, and the columns that have too many.

    columns: the words of these rows. The combinations are in the order of their first rows. An empty cell is no field.
    """
    n_rows = len(next(iter(logged.columns.values())))
    which = np.zeros(n_rows, np.int64)
    used, too_many = [], []
    for name, (_, codes) in columns.items():
        kinds, numbers = np.unique(codes, return_inverse=True)
        combinations, combined = np.unique(which * len(kinds) + numbers, return_inverse=True)
        if np.count_nonzero(kinds >= 0) > MOST_KINDS or len(combinations) > MOST_COMBINATIONS:
            too_many.append(name)
        else:
            which = combined
            used.append(name)
    if not used:
        return [(np.arange(n_rows), logged)], too_many
    parts = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    found = []
    for at in sorted(parts, key=lambda part: int(part[0])):
        row = int(at[0])
        fields = {name: columns[name][0][code] for name in used if (code := int(columns[name][1][row])) >= 0}
        found.append((at, _some_of(logged, at, fields)))
    return found, too_many


def whole_numbers(values: Floats, missing: Flags | None) -> Column | None:
    """Return the numbers of a column as its words, None if some aren't whole. NaN is an empty cell."""
    known = np.isfinite(values) if missing is None else np.isfinite(values) & ~missing
    numbers = values[known]
    if not (numbers == np.floor(numbers)).all():
        return None
    kinds, at = np.unique(numbers, return_inverse=True)
    codes = np.full(len(values), -1, np.int32)
    codes[known] = at
    return [int(kind) for kind in kinds.tolist()], codes


def joined(words: Column | None, numbers: Column | None) -> Column | None:
    """Return the words and the numbers of one column."""
    if words is None or numbers is None:
        return words or numbers
    codes = np.where(words[1] >= 0, words[1], np.where(numbers[1] >= 0, numbers[1] + np.int32(len(words[0])), -1))
    return [*words[0], *numbers[0]], codes.astype(np.int32)


def _some_of(logged: LoggedRows, at: Integers, fields: Mapping[str, Scalar]) -> LoggedRows:
    columns: dict[str, Floats] = {name: values[at] for name, values in logged.columns.items()}
    missing: dict[str, Flags] = {name: flags[at] for name, flags in logged.missing.items()}
    return replace(logged, columns=columns, missing=missing, fields=fields)

"""Positions that rows of a table have from a row above, where a log writes them on some rows only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.mapping.mapping import is_among
from losslake_ingest.readers.tables.table import Numbers, Table
from losslake_schema.reached import Flags, Integers


def carry(table: Table, starts: Integers, column: str, condition: Mapping[str, Scalar | list[Scalar]]) -> None:
    """Give rows without a number of a column that of the nearest row above, in the same run, that fits a condition.

    Numbers of rows that don't fit are none. starts: the first row of each run. Raises Refusal if the condition names
    no column.
    """
    numbers = table.numbers.get(column)
    if numbers is None:
        return
    is_source = np.ones(table.n_rows, np.bool_) if numbers.missing is None else ~numbers.missing
    for name, among in condition.items():
        is_source &= _fitting(table, name, among)
    rows = np.arange(table.n_rows)
    nearest = np.maximum.accumulate(np.where(is_source, rows, -1))
    missing = nearest < np.repeat(starts, np.diff(np.append(starts, table.n_rows)))
    table.numbers[column] = Numbers(numbers.values[np.maximum(nearest, 0)], missing if missing.any() else None)


def _fitting(table: Table, name: str, among: Scalar | list[Scalar]) -> Flags:
    words, numbers = table.words.get(name), table.numbers.get(name)
    if words is None and numbers is None:
        message = f"there is no column {shown(name)}, which the mapping names under carried: correct it"
        raise Refusal(Rule.MISSING_FACT, message)
    fits = np.zeros(table.n_rows, np.bool_)
    if words is not None:
        fits |= np.array([*(is_among(word, among) for word in words.words), False], np.bool_)[words.codes]
    if numbers is not None:
        is_filled = True if numbers.missing is None else ~numbers.missing
        for value in among if isinstance(among, list) else [among]:
            if not isinstance(value, str):
                fits |= (numbers.values == value) & is_filled
    return fits

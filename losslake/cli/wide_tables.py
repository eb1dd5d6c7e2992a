"""Tables that may be wider than the terminal: all columns, whole, in as many parts as it takes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from losslake.cli.console import cell_text, is_number_column, shown

_KEYS = frozenset(
    {
        "workload", "competitor", "definition", "name", "population", "budget_kind", "budget", "batch_size", "target",
        "trial_id", "step", "factor", "break_point", "variant",
    }
)  # fmt: skip
"""Columns that say which row it is, where they come first: every part of a table has them."""

_TEXT_WIDTH = 40
_FEW_ROWS = 4


@dataclass(frozen=True)
class _Column:
    """A column as it is shown. heading: its lines. cells: the lines of each cell. width: in characters."""

    name: str
    heading: list[str]
    cells: list[list[str]]
    is_number: bool
    width: int


def wide_table(columns: Sequence[str], rows: Sequence[Sequence[object]], space: int) -> Iterator[str]:
    """Lines of at most `space` characters, if the widest cells allow it.

    A table that is too wide is parted, and each part begins with the columns that say which row it is; but up to four
    rows with more columns than fit are shown as columns, with a line for each name.
    """
    shown_columns = [_column(name, [row[at] for row in rows]) for at, name in enumerate(columns)]
    parts = list(_parts(shown_columns, space))
    if len(parts) > 1 and len(rows) <= _FEW_ROWS:
        turned = list(_turned(shown_columns))
        if max(map(len, turned)) <= space:
            yield from turned
            return
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield from _lines(part)


def _column(name: str, values: Sequence[object]) -> _Column:
    heading = shown(name).replace("_", "_\n").split("\n")
    cells = [textwrap.wrap(cell_text(value), _TEXT_WIDTH) or [""] for value in values]
    width = max(len(line) for lines in (heading, *cells) for line in lines)
    return _Column(shown(name), heading, cells, is_number_column(values), width)


def _parts(columns: Sequence[_Column], space: int) -> Iterator[list[_Column]]:
    """The columns of each part: the keys, and as many others as fit, at least one."""
    n_keys = next((at for at, column in enumerate(columns) if column.name not in _KEYS), len(columns)) or 1
    part = list(columns[:n_keys])
    for column in columns[n_keys:]:
        if len(part) > n_keys and sum(each.width + 1 for each in part) + column.width > space:
            yield part
            part = list(columns[:n_keys])
        part.append(column)
    yield part


def _lines(columns: Sequence[_Column]) -> Iterator[str]:
    height = max(len(column.heading) for column in columns)
    headings = ([""] * (height - len(column.heading)) + column.heading for column in columns)
    for texts in zip(*headings, strict=True):
        yield _line(columns, texts)
    yield " ".join("─" * column.width for column in columns)
    for cells in zip(*(column.cells for column in columns), strict=True):
        for texts in zip_longest(*cells, fillvalue=""):
            yield _line(columns, texts)


def _line(columns: Sequence[_Column], texts: Sequence[str]) -> str:
    padded = (
        f"{text:>{column.width}}" if column.is_number else f"{text:{column.width}}"
        for column, text in zip(columns, texts, strict=True)
    )
    return " ".join(padded).rstrip()


def _turned(columns: Sequence[_Column]) -> Iterator[str]:
    """A line for each column, in which each row is a column."""
    left = max(len(column.name) for column in columns)
    rows = list(zip(*([" ".join(lines) for lines in column.cells] for column in columns), strict=True))
    widths = [max(map(len, row)) for row in rows]
    for column, texts in zip(columns, zip(*rows, strict=True), strict=True):
        cells = "  ".join(f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))
        yield f"{column.name:{left}}  {cells}".rstrip()

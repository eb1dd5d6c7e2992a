"""Tables on the terminal, without Rich, whose import takes longer than most answers."""

from __future__ import annotations

import json
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import typer

from losslake_cli.console import TextFormat, echo, printable, write_csv

_GAP, _NARROW_GAP = 3, 1
# In characters; texts are not shortened below this, and columns are left out instead.
_SHORTEST_TEXT = 24
# A float64 holds these integers exactly; from here on, six digits would hide digits of the integer.
_MOST_DIGITS, _SIX_DIGITS = 1e15, 1e6


def print_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    format: TextFormat,  # noqa: A002
    is_wide: bool | None = None,
    whole: str | None = None,
) -> None:
    """Print rows as CSV, as JSON, or as a table for people. is_wide, whole: as for `show_table`."""
    if format == "json":
        typer.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=2))
    elif format == "csv":
        write_csv(sys.stdout, columns, rows)
    else:
        show_table(columns, list(rows), is_wide, whole)


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    is_wide: bool | None = None,
    whole: str | None = None,
) -> None:
    """Print rows under headings; numbers are right-aligned, None is empty.

    In a terminal that is too narrow, headings are wrapped at underscores, then long texts are shortened in the middle
    as far as needed, then the last columns are left out, which a line says. is_wide: the option --wide, which prints
    everything; None for a command without it. whole: a column whose texts are never shortened, since people copy them.
    """
    values = list(rows)
    space = None if is_wide else terminal_width()
    headings = [[printable(name)] for name in columns]
    cells = [[cell_text(value) for value in row] for row in values]
    widths, gap, n_shown = _widths(headings, cells), _GAP, len(columns)
    if space is not None and _total(widths, gap) > space:
        gap = _NARROW_GAP
        headings = [split_heading(heading) for (heading,) in headings]
        can_shorten = [
            name != whole and any(isinstance(row[at], str) for row in values) for at, name in enumerate(columns)
        ]
        widths, n_shown = _fitting(_widths(headings, cells), can_shorten, space)
        cells = [
            [
                _shortened(text, width) if is_text else text
                for text, width, is_text in zip(row, widths, can_shorten, strict=False)
            ]
            for row in cells
        ]
    are_numbers = [is_number_column([row[at] for row in values]) for at in range(n_shown)]

    def line(texts: Iterable[str]) -> str:
        each = zip(texts, widths, are_numbers, strict=False)
        return (" " * gap).join(_padded(text, width, is_number) for text, width, is_number in each).rstrip()

    for texts in heading_lines(headings[:n_shown]):
        echo(line(texts))
    ruled = _total(widths[:n_shown], gap)
    echo("─" * (ruled if space is None else min(ruled, space)))
    for row in cells:
        echo(line(row))
    if n_shown < len(columns):
        how = "a wider terminal shows them" if is_wide is None else "--wide shows them"
        echo(f"left out: {', '.join(columns[n_shown:])}; {how}")


def split_heading(name: str) -> list[str]:
    """Return the lines of a heading that is wrapped at underscores."""
    return name.replace("_", "_\n").split("\n")


def heading_lines(headings: Sequence[list[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the texts in each line above a table; the last lines of all headings are side by side."""
    height = max(map(len, headings), default=0)
    return zip(*([""] * (height - len(lines)) + lines for lines in headings), strict=True)


def _fitting(widths: Sequence[int], can_shorten: Sequence[bool], space: int) -> tuple[list[int], int]:
    """Return the widths of columns that fit the space, and how many do: at least one.

    The texts that can be shortened get the same width, or less if they need less, as large as possible.
    """
    for n_shown in range(len(widths), 0, -1):
        shown = list(zip(widths[:n_shown], can_shorten, strict=False))
        for most in range(space, (_SHORTEST_TEXT if n_shown > 1 else space) - 1, -1):
            fitting = [min(width, most) if is_text else width for width, is_text in shown]
            if _total(fitting, _NARROW_GAP) <= space:
                return fitting, n_shown
    return list(widths[:1]), 1


def _shortened(text: str, most: int) -> str:
    """Return a text with … in the place of its middle if it is wider than `most` characters."""
    if _width(text) <= most:
        return text
    kept = most - 1
    while kept > 0 and _width(text[: kept - kept // 2] + text[len(text) - kept // 2 :]) >= most:
        kept -= 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def terminal_width() -> int | None:
    """Return the width of the terminal in characters, or None if standard output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def is_number_column(values: Iterable[object]) -> bool:
    """Return True if all values except None are numbers, and there is one."""
    present = [value for value in values if value is not None]
    return bool(present) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in present)


def cell_text(value: object) -> str:
    """Return the text of a cell in a table, empty for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    return _number_text(value) if isinstance(value, float) else printable(value)


def _number_text(value: float) -> str:
    """Return a number with six digits, or all those of its integer part."""
    if abs(value) < _MOST_DIGITS and (value.is_integer() or abs(value) >= _SIX_DIGITS):
        return f"{value:,.0f}"
    return f"{value:,.6g}"


def _widths(headings: Sequence[Sequence[str]], cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(_width, [*lines, *(row[at] for row in cells)])) for at, lines in enumerate(headings)]


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _padded(text: str, width: int, is_number: bool) -> str:
    blank = " " * (width - _width(text))
    return blank + text if is_number else text + blank


def _width(text: str) -> int:
    """Return the number of cells of a terminal that a text takes: two for wide characters, none for marks."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)

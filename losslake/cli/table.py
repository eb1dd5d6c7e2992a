"""Tables on the terminal, without Rich, whose import takes longer than most answers."""

from __future__ import annotations

import json
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence

import typer

from losslake.cli.console import TextFormat, echo, printable, write_csv

_GAP, _NARROW_GAP = 3, 1
# Of the width of a terminal; a shorter text is never shortened.
_SHARE_OF_A_TEXT, _SHORTEST_TEXT = 3, 24


def print_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    format: TextFormat,  # noqa: A002
    is_wide: bool | None = None,
) -> None:
    """Print rows as CSV, as JSON, or as a table for people. is_wide: as for `show_table`."""
    if format == "json":
        typer.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=2))
    elif format == "csv":
        write_csv(sys.stdout, columns, rows)
    else:
        show_table(columns, list(rows), is_wide)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]], is_wide: bool | None = None) -> None:
    """Print rows under headings; numbers are right-aligned, None is empty.

    In a terminal that is too narrow, headings are wrapped at underscores, then long texts are shortened in the middle,
    then the last columns are left out, which a line says. is_wide: the option --wide, which prints everything; None for
    a command without it.
    """
    values = list(rows)
    space = None if is_wide else terminal_width()
    headings = [[printable(name)] for name in columns]
    cells = [[cell_text(value) for value in row] for row in values]
    widths, gap, n_shown = _widths(headings, cells), _GAP, len(columns)
    if space is not None and _total(widths, gap) > space:
        gap = _NARROW_GAP
        headings = [heading.replace("_", "_\n").split("\n") for (heading,) in headings]
        widths = _widths(headings, cells)
        if _total(widths, gap) > space:
            cells = [[cell_text(_shortened(value, space // _SHARE_OF_A_TEXT)) for value in row] for row in values]
            widths = _widths(headings, cells)
        while n_shown > 1 and _total(widths[:n_shown], gap) > space:
            n_shown -= 1
    are_numbers = [is_number_column([row[at] for row in values]) for at in range(n_shown)]
    height = max(map(len, headings[:n_shown]), default=0)
    top = [[""] * (height - len(heading)) + heading for heading in headings[:n_shown]]

    def line(texts: Iterable[str]) -> str:
        each = zip(texts, widths, are_numbers, strict=False)
        return (" " * gap).join(_padded(text, width, is_number) for text, width, is_number in each).rstrip()

    for texts in zip(*top, strict=True):
        echo(line(texts))
    echo("─" * _total(widths[:n_shown], gap))
    for row in cells:
        echo(line(row))
    if n_shown < len(columns):
        how = "a wider terminal shows them" if is_wide is None else "--wide shows them"
        echo(f"left out: {', '.join(columns[n_shown:])}; {how}")


def _shortened(value: object, most: int) -> object:
    """Return a text with … in the place of its middle if it is longer than `most` characters."""
    if not isinstance(value, str) or len(value) <= max(most, _SHORTEST_TEXT):
        return value
    kept = max(most, _SHORTEST_TEXT) - 1
    return f"{value[: kept - kept // 2]}…{value[-(kept // 2) :]}"


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
    return f"{value:.6g}" if isinstance(value, float) else printable(value)


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

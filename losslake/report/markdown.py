"""Parts of a Markdown document: texts of logs without markup, tables, code, and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

NOTHING = "-"
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
_LONGEST = 120


def plain(text: object) -> str:
    """Return a text on one line, in which nothing is markup: names and messages may come from logs."""
    return _MARKS.sub(r"\\\1", _on_one_line(text))


def code(text: object) -> str:
    """Return a text on one line as code, also within a table."""
    shown = _on_one_line(text)
    if "`" in shown or "|" in shown or not shown:
        return plain(shown)
    return f"`{shown}`"


def block(text: str, language: str = "") -> str:
    """Return lines as a block of code, whose fence is longer than any in it."""
    ticks = max([2, *(len(run) for run in re.findall("`+", text))]) + 1
    return f"{'`' * ticks}{language}\n{_printable(text)}\n{'`' * ticks}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table. Cells are Markdown already."""
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def number(value: float | None, digits: int = 6) -> str:
    """Return a number as the command line shows it, or a dash for None."""
    if value is None:
        return NOTHING
    if isinstance(value, int) or value.is_integer():
        return f"{value:,.0f}"
    return f"{value:,.{digits}g}"


def shortened(text: str) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _on_one_line(text: object) -> str:
    return _printable(" ".join(str(text).split()))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)

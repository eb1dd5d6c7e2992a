"""Numbers and tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NOTHING = "\u2013"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first column to the left, the others to the right."""
    marks = ["---", *["--:"] * (len(headings) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (headings, marks, *rows))


def number(value: float | None, digits: int = 3) -> str:
    """Return a number to so many significant digits, from 1,000 on with all whole ones; a dash for none."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def interval(lower: float | None, upper: float | None) -> str:
    """Return from … to …; what is open at one end says so."""
    if lower is None:
        return NOTHING if upper is None else f"≤ {number(upper)}"
    return f"≥ {number(lower)}" if upper is None else f"{number(lower)} to {number(upper)}"


def share(count: int, total: int) -> str:
    """Return so many of so many."""
    return f"{count} of {total}"

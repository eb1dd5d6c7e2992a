"""Numbers and tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from losslake_schema.quantities import amount

NOTHING = "\u2013"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], n_texts: int = 1) -> str:
    """Return a Markdown table; the first n_texts columns are left-aligned, the others are right-aligned."""
    marks = ["---"] * n_texts + ["--:"] * (len(headings) - n_texts)
    return "\n".join("| " + " | ".join(row) + " |" for row in (headings, marks, *rows))


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with `digits` significant digits, but all digits before the point; a dash for None."""
    return NOTHING if value is None else amount(value, digits)


def interval(lower: float | None, upper: float | None) -> str:
    """Return an interval as text, also if one end is open."""
    if lower is None:
        return NOTHING if upper is None else f"≤ {number(upper)}"
    return f"≥ {number(lower)}" if upper is None else f"{number(lower)} to {number(upper)}"


def share(count: int, total: int) -> str:
    """Return the text "count of total"."""
    return f"{count} of {total}"

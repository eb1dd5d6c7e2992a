"""The main numbers of figures in sentences, for those who don't see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from losslake.figures.panel import Series

_MOST_SERIES = 4
_MOST_SIZES = 6


def ends_in_words(series: Sequence[Series], field: str, unit: str = "") -> list[str]:
    """Of each series its values at the smallest and the largest batch size that has one, and its least one.

    series: rows with batch_size and the field.
    """
    return _of_each(series, lambda one: _ends(one, field, unit))


def never_in_words(series: Sequence[Series]) -> list[str]:
    """Of each series the batch sizes at which no trial reached the target. series: rows with batch_size and steps."""
    return _of_each(series, _never)


def _of_each(series: Sequence[Series], words: Callable[[Series], str]) -> list[str]:
    said = [
        f"{one.label}: {text}" if one.label else f"{text[:1].upper()}{text[1:]}"
        for one in series
        if (text := words(one))
    ]
    more = len(said) - _MOST_SERIES
    return [f"{text}." for text in said[:_MOST_SERIES]] + ([f"And {more} more."] if more > 0 else [])


def _ends(series: Series, field: str, unit: str) -> str:
    """From 2,417 steps at batch size 1 to 24 at 512, least 22 at 256."""
    rows = sorted((row["batch_size"], row[field]) for row in series.rows.to_pylist() if row[field] is not None)
    if not rows:
        return ""
    first, last, least = rows[0], rows[-1], min(rows, key=lambda row: (row[1], row[0]))
    found = f"{first[1]:,.6g}{unit} at batch size {first[0]:,}"
    if last != first:
        found = f"from {found} to {last[1]:,.6g} at {last[0]:,}"
    return found if least in (first, last) else f"{found}, least {least[1]:,.6g} at {least[0]:,}"


def _never(series: Series) -> str:
    sizes = [row["batch_size"] for row in series.rows.to_pylist() if row["steps"] is None]
    if not sizes:
        return ""
    named = ", ".join(f"{size:,}" for size in sizes[:_MOST_SIZES])
    return f"no trial reached it at batch size {named}{' and others' if len(sizes) > _MOST_SIZES else ''}"

"""Quantities as texts for readers: 1 trial, 2,000 trials, 0.0123."""

from __future__ import annotations

_HUGE = 1e15


def counted(count: int, noun: str) -> str:
    """Return a count and its noun: `1 trial`, `2,000 trials`, `3 studies`."""
    return f"{count:,} {plural(noun, count)}"


def plural(noun: str, count: int) -> str:
    """Return a noun in the form that the count takes: `trial` for 1, else `trials`; `studies`, `days`."""
    if count == 1:
        return noun
    is_of_consonant = noun.endswith("y") and noun[-2] not in "aeiou"
    return f"{noun.removesuffix('y')}ies" if is_of_consonant else f"{noun}s"


def capitalized(noun: str) -> str:
    """Return a noun with a capital first letter, and the others as they are: `Steps`, `FLOPs`."""
    return noun[:1].upper() + noun[1:]


def amount(value: float, digits: int = 3) -> str:
    """Return a number to as many significant digits, but all digits before the point: 0.0123, 12.3, 12,345.

    From 10^15 on, where those digits aren't read any more, it has an exponent: 1.05e+21.
    """
    if abs(value) >= _HUGE:
        return f"{value:.{digits}g}"
    return f"{value:,.0f}" if abs(value) >= 10**digits - 0.5 else f"{value:.{digits}g}"

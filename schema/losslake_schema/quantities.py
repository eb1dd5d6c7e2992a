"""Quantities as texts for readers: 1 trial, 2,000 trials, 0.0123, 1.98B. And counts as people write them."""

from __future__ import annotations

import re

_HUGE = 1e15
_LETTERS = {"T": 1e12, "B": 1e9, "M": 1e6, "k": 1e3}
_DIGITS = r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d*)?(?:e[+-]?\d{1,3})?|\.\d+"
_COUNT = re.compile(rf"\s*({_DIGITS})\s*([kmbt]?)\s*", re.ASCII | re.IGNORECASE)


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


def abbreviated(number: float) -> str:
    """Return a count to three digits, with a letter for thousands, millions, billions or trillions: 48M, 1.98B."""
    for letter, unit in _LETTERS.items():
        if 0.9995 * unit <= number < _HUGE:
            return f"{number / unit:.3g}{letter}"
    return f"{number:.3g}"


def read_count(text: str) -> float | None:
    """Return the count that a text such as 7e9, 7B, 1.4 T or 20,000 says; None for any other text."""
    match = _COUNT.fullmatch(text)
    if match is None:
        return None
    unit = next((unit for letter, unit in _LETTERS.items() if letter.lower() == match[2].lower()), 1.0)
    return float(match[1].replace(",", "")) * unit

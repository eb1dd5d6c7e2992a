"""Numbers as texts for readers, without exponents where digits say it."""

from __future__ import annotations


def amount(value: float, digits: int = 3) -> str:
    """Return a number to as many significant digits, but all digits before the point: 0.0123, 12.3, 12,345."""
    return f"{value:,.0f}" if abs(value) >= 10**digits - 0.5 else f"{value:.{digits}g}"

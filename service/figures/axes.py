"""Axes and scales: logarithmic ones with powers as labels, few ticks, and limits that hold the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from service.figures import theme
from service.figures.panel import Limits, Panel

MOST_TICKS = 7
EXTENT = 26
"""px between an axis and its title: the same in every figure, so that figures are as wide as was asked."""
_PX_A_DIGIT = 5.2


def log_limits(values: Iterable[float], base: int = 2, margin: float = 0.5) -> Limits:
    """Limits around positive values, with a margin in powers of the base; one power each way when there are none."""
    found = [value for value in values if value > 0 and math.isfinite(value)]
    low, high = (min(found), max(found)) if found else (1.0, 1.0)
    if low == high:
        margin = 1.0
    return low / base**margin, high * base**margin


def linear_limits(values: Iterable[float], margin: float = 0.06) -> Limits:
    """Limits around values, with a margin as a part of their range."""
    found = [value for value in values if math.isfinite(value)]
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
    room = (high - low) * margin or abs(high) * margin or 1.0
    return low - room, high + room


def log_scale(limits: Limits, base: int = 2) -> alt.Scale:
    """A logarithmic scale from one limit to the other."""
    return alt.Scale(type="log", base=base, domain=list(limits), nice=False)


def linear_scale(limits: Limits) -> alt.Scale:
    """A linear scale from one limit to the other."""
    return alt.Scale(domain=list(limits), nice=False, zero=False)


def log_axis(limits: Limits, title: str, base: int = 2, most_ticks: int = MOST_TICKS) -> alt.Axis:
    """An axis with ticks at powers of the base, whose labels `power_labels` draws."""
    ticks = [float(base) ** power for power in powers(limits, base, most_ticks)]
    return alt.Axis(values=ticks, labels=False, title=title, minExtent=EXTENT, maxExtent=EXTENT, titlePadding=2)


def linear_axis(title: str, most_ticks: int = 5) -> alt.Axis:
    """An axis with few ticks, as wide as a logarithmic one."""
    return alt.Axis(title=title, tickCount=most_ticks, minExtent=EXTENT, maxExtent=EXTENT, titlePadding=2)


def power_labels(
    panel: Panel, x: Limits | None, y: Limits | None, base: int = 2, most_ticks: int = MOST_TICKS
) -> list[alt.Chart]:
    """The labels of logarithmic axes, base and exponent apart: superscript letters are too small and in few fonts."""
    found = []
    if x is not None:
        rows = _labels(powers(x, base, most_ticks), base)
        place = {"x": alt.X("at:Q", scale=log_scale(x, base)), "y": alt.value(panel.height + 8)}
        found += _base_and_exponent(rows, base, place, 2 if base < 10 else 4)
    if y is not None:
        rows = _labels(powers(y, base, most_ticks), base)
        longest = max((len(row["exponent"]) for row in rows), default=1)
        place = {"x": alt.value(-8 - _PX_A_DIGIT * longest), "y": alt.Y("at:Q", scale=log_scale(y, base))}
        found += _base_and_exponent(rows, base, place, 0, baseline="middle")
    return found


def powers(limits: Limits, base: int, most_ticks: int = MOST_TICKS) -> list[int]:
    """The exponents of the ticks within the limits: every one, or every so many, 0 among them."""
    first = math.ceil(math.log(limits[0], base) - 1e-9)
    last = math.floor(math.log(limits[1], base) + 1e-9)
    stride = max(1, math.ceil((last - first + 1) / most_ticks))
    return [power for power in range(first, last + 1) if power % stride == 0]


def _labels(exponents: Sequence[int], base: int) -> list[dict[str, Any]]:
    return [{"at": float(base) ** power, "exponent": str(power).replace("-", "\u2212")} for power in exponents]


def _base_and_exponent(
    rows: Sequence[dict[str, Any]], base: int, place: dict[str, Any], right: float, baseline: str = "top"
) -> list[alt.Chart]:
    chart = alt.Chart(alt.InlineData(values=list(rows))).encode(**place)
    style: dict[str, Any] = {"color": theme.INK, "baseline": baseline, "clip": False, "tooltip": None}
    return [
        chart.mark_text(align="right", dx=right, fontSize=theme.LABEL, text=str(base), **style),
        chart.mark_text(align="left", dx=right + 0.5, dy=-4, fontSize=theme.EXPONENT, **style).encode(
            text="exponent:N"
        ),
    ]

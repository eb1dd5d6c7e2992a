"""Axes and scales: logarithmic ones with powers as labels, few ticks, and limits that hold the data.

Powers of two beside logarithmic axes as the numbers they are, for ratios: 0.5, 1, 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from losslake.figures import theme
from losslake.figures.channels import category, px, quantity
from losslake.figures.layers import Layer, layer
from losslake.figures.panel import Limits, Panel

Scale = dict[str, Any]
Axis = dict[str, Any]
X_EXTENT, Y_EXTENT = 20, 36
"""px between an axis and its title: the same in every figure, so that figures are as wide as was asked."""
_PX_A_DIGIT = 5.2
_PX_A_TICK = 32


def log_limits(values: Iterable[float], base: int = 2, margin: float = 0.5) -> Limits:
    """Limits around positive values, with a margin in powers of the base; one power each way when there are none."""
    found = [value for value in values if value > 0 and math.isfinite(value)]
    low, high = (min(found), max(found)) if found else (1.0, 1.0)
    if low == high:
        margin = 1.0
    return low / base**margin, high * base**margin


def decade_limits(values: Iterable[float]) -> Limits:
    """Limits around positive values at which a power of ten is at hand."""
    low, high = log_limits(values, 10, 0.15)
    if math.ceil(math.log10(low)) < math.floor(math.log10(high)):
        return low, high
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def linear_limits(values: Iterable[float], margin: float = 0.06) -> Limits:
    """Limits around values, with a margin as a part of their range."""
    found = [value for value in values if math.isfinite(value)]
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
    room = (high - low) * margin or abs(high) * margin or 1.0
    return low - room, high + room


def log_scale(limits: Limits, base: int = 2) -> Scale:
    """A logarithmic scale from one limit to the other."""
    return {"type": "log", "base": base, "domain": list(limits), "nice": False}


def linear_scale(limits: Limits) -> Scale:
    """A linear scale from one limit to the other."""
    return {"domain": list(limits), "nice": False, "zero": False}


def log_axis(limits: Limits, title: str, length: int, base: int = 2, extent: int = Y_EXTENT) -> Axis:
    """An axis of that length in px with ticks at powers of the base, whose labels `power_labels` draws."""
    ticks = [float(base) ** power for power in powers(limits, base, length)]
    return {"values": ticks, "labels": False, **_edge(title, extent)}


def linear_axis(title: str, length: int, extent: int = Y_EXTENT) -> Axis:
    """An axis of that length in px with few ticks, as wide as a logarithmic one."""
    label = "abs(datum.value) >= 10000 ? format(datum.value, '~s') : format(datum.value, ',')"
    ticks = max(2, min(6, length // 45))
    return {"tickCount": ticks, "labelExpr": label, **_edge(title, extent)}


def _edge(title: str, extent: int) -> Axis:
    return {"title": title, "minExtent": extent, "maxExtent": extent, "titlePadding": 2}


def power_labels(panel: Panel, x: Limits | None, y: Limits | None, base: int = 2) -> list[Layer]:
    """The labels of logarithmic axes, base and exponent apart: superscript letters are too small and in few fonts."""
    found = []
    place: dict[str, Any]
    if x is not None:
        rows = _labels(powers(x, base, panel.width), base)
        place = {"x": quantity("at", scale=log_scale(x, base)), "y": px(panel.height + 8)}
        found += _base_and_exponent(rows, base, place, 2 if base < 10 else 4)
    if y is not None:
        rows = _labels(powers(y, base, panel.height), base)
        longest = max((len(row["exponent"]) for row in rows), default=1)
        place = {"x": px(-8 - _PX_A_DIGIT * longest), "y": quantity("at", scale=log_scale(y, base))}
        found += _base_and_exponent(rows, base, place, 0, baseline="middle")
    return found


def powers(limits: Limits, base: int, length: int) -> list[int]:
    """The exponents of the ticks on an axis of that length in px: every one, or every so many, 0 among them."""
    most_ticks = max(3, length // _PX_A_TICK)
    first = math.ceil(math.log(limits[0], base) - 1e-9)
    last = math.floor(math.log(limits[1], base) + 1e-9)
    stride = max(1, math.ceil((last - first + 1) / most_ticks))
    return [power for power in range(first, last + 1) if power % stride == 0]


def _labels(exponents: Sequence[int], base: int) -> list[dict[str, Any]]:
    return [{"at": float(base) ** power, "exponent": str(power).replace("-", "\u2212")} for power in exponents]


def _base_and_exponent(
    rows: Sequence[dict[str, Any]], base: int, place: dict[str, Any], right: float, baseline: str = "top"
) -> list[Layer]:
    raised = place | {"text": category("exponent")}
    style: dict[str, Any] = {"color": theme.INK, "baseline": baseline, "clip": False, "tooltip": None}
    return [
        layer(rows, "text", place, align="right", dx=right, fontSize=theme.LABEL, text=str(base), **style),
        layer(rows, "text", raised, align="left", dx=right + 0.5, dy=-4, fontSize=theme.EXPONENT, **style),
    ]


_LEAST_DECIMAL = -4


def x_number_labels(panel: Panel, limits: Limits) -> Layer:
    """Of the lower axis."""
    place = {"x": quantity("at", scale=log_scale(limits)), "y": px(panel.height + 8)}
    return _number_labels(limits, panel.width, place, align="center", baseline="top")


def y_number_labels(panel: Panel, limits: Limits) -> Layer:
    """Of the left axis."""
    place = {"x": px(-8), "y": quantity("at", scale=log_scale(limits))}
    return _number_labels(limits, panel.height, place, align="right", baseline="middle")


def _number_labels(limits: Limits, length: int, place: dict[str, Any], **style: Any) -> Layer:
    rows = [{"at": 2.0**power, "label": _number(power)} for power in powers(limits, 2, length)]
    look: dict[str, Any] = {"fontSize": theme.LABEL, "color": theme.INK, "clip": False, "tooltip": None}
    return layer(rows, "text", place | {"text": category("label")}, **look, **style)


def _number(power: int) -> str:
    """Decimal as long as it is short, then a fraction."""
    return f"1/{2**-power:,}" if power < _LEAST_DECIMAL else f"{2.0**power:,.10g}"

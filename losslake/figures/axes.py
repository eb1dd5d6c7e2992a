"""Axes and scales: few ticks, labels that are powers or plain numbers, and limits that hold the data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from losslake.figures import theme
from losslake.figures.layers import Channel, Layer, category, layer, px, quantity
from losslake.figures.panel import Limits, Panel, Row

_X_EXTENT, _Y_EXTENT = 20, 36
"""px between an axis and its title: the same in every figure, so that figures are as wide as was asked."""
_PX_A_DIGIT = 5.2
_PX_A_TICK = 32
_LEAST_DECIMAL = -4
"""Powers of two below it are labelled as fractions."""


@dataclass(frozen=True)
class Scale:
    """One axis: the field of its values, its limits and title.

    base: of its logarithm; None: linear. has_numbers: labels are 0.5, 1 and 2, as for ratios, in place of powers of 2.
    """

    field: str
    limits: Limits
    title: str
    base: int | None = 2
    has_numbers: bool = False

    @classmethod
    def over(cls, rows: Iterable[Row], field: str, title: str, limits: Limits | None, base: int | None = 2) -> Scale:
        """Return the axis of a field of rows. limits: default: what the rows need."""
        if limits is None:
            values = (row[field] for row in rows)
            limits = (
                linear_limits(values) if base is None else log_limits(values) if base == 2 else decade_limits(values)
            )
        return cls(field, limits, title, base)

    @property
    def scale(self) -> dict[str, Any]:
        """Vega-Lite's scale from one limit to the other."""
        if self.base is None:
            return {"domain": list(self.limits), "nice": False, "zero": False}
        return {"type": "log", "base": self.base, "domain": list(self.limits), "nice": False}

    def axis(self, panel: Panel, is_x: bool) -> dict[str, Any]:
        """Return the axis at the bottom or at the left: with few ticks, or with ticks at powers of the base."""
        length, extent = (panel.width, _X_EXTENT) if is_x else (panel.height, _Y_EXTENT)
        title = self.title if is_x or panel.y_title is None else panel.y_title
        if self.base is None:
            label = "abs(datum.value) >= 10000 ? format(datum.value, '~s') : format(datum.value, ',')"
            ticks: dict[str, Any] = {"tickCount": max(2, min(6, length // 45)), "labelExpr": label}
        else:
            values = [float(self.base) ** power for power in powers(self.limits, self.base, length)]
            ticks = {"values": values, "labels": False}
        return ticks | {"title": title, "minExtent": extent, "maxExtent": extent, "titlePadding": 2}

    def labels(self, panel: Panel, is_x: bool) -> list[Layer]:
        """Return the layers with the labels of a logarithmic axis, at the bottom or at the left."""
        if self.base is None:
            return []
        exponents = powers(self.limits, self.base, panel.width if is_x else panel.height)
        at = quantity("at", scale=self.scale)
        baseline = "top" if is_x else "middle"
        below = {"x": at, "y": px(panel.height + 8)}
        if self.has_numbers:
            place = below if is_x else {"x": px(-8), "y": at}
            return [_numbers(exponents, place, align="center" if is_x else "right", baseline=baseline)]
        if is_x:
            return _base_and_exponent(exponents, self.base, below, 2 if self.base < 10 else 4, baseline)
        longest = max((len(str(power)) for power in exponents), default=1)
        beside = {"x": px(-8 - _PX_A_DIGIT * longest), "y": at}
        return _base_and_exponent(exponents, self.base, beside, 0, baseline)


def log_limits(values: Iterable[float], base: int = 2, margin: float = 0.5) -> Limits:
    """Return limits around positive values, with a margin in powers of the base; one power each way without any."""
    positive = [value for value in values if value > 0 and math.isfinite(value)]
    low, high = (min(positive), max(positive)) if positive else (1.0, 1.0)
    if low == high:
        margin = 1.0
    return low / base**margin, high * base**margin


def decade_limits(values: Iterable[float]) -> Limits:
    """Return limits around positive values at which a power of ten is at hand."""
    low, high = log_limits(values, 10, 0.15)
    if math.ceil(math.log10(low)) < math.floor(math.log10(high)):
        return low, high
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def linear_limits(values: Iterable[float], margin: float = 0.06) -> Limits:
    """Return limits around values, with a margin as a part of their range."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    room = (high - low) * margin or abs(high) * margin or 1.0
    return low - room, high + room


def powers(limits: Limits, base: int, length: int) -> list[int]:
    """Return the exponents of the ticks on an axis of that length in px: every one, or every so many, 0 among them."""
    most_ticks = max(3, length // _PX_A_TICK)
    first = math.ceil(math.log(limits[0], base) - 1e-9)
    last = math.floor(math.log(limits[1], base) + 1e-9)
    stride = max(1, math.ceil((last - first + 1) / most_ticks))
    return [power for power in range(first, last + 1) if power % stride == 0]


def _base_and_exponent(
    exponents: list[int], base: int, place: dict[str, Channel], right: float, baseline: str
) -> list[Layer]:
    """Return labels with base and exponent apart: superscript letters are too small and in few fonts."""
    rows: list[Row] = [
        {"at": float(base) ** power, "exponent": str(power).replace("-", "\u2212")} for power in exponents
    ]
    raised = place | {"text": category("exponent")}
    style: dict[str, Any] = {"color": theme.INK, "baseline": baseline, "clip": False, "tooltip": None}
    return [
        layer(rows, "text", place, align="right", dx=right, fontSize=theme.LABEL, text=str(base), **style),
        layer(rows, "text", raised, align="left", dx=right + 0.5, dy=-4, fontSize=theme.EXPONENT, **style),
    ]


def _numbers(exponents: list[int], place: dict[str, Channel], **style: str) -> Layer:
    """Return labels that are decimal as long as that is short, then fractions."""
    rows: list[Row] = [
        {"at": 2.0**power, "label": f"1/{2**-power:,}" if power < _LEAST_DECIMAL else f"{2.0**power:,.10g}"}
        for power in exponents
    ]
    look: dict[str, Any] = {"fontSize": theme.LABEL, "color": theme.INK, "clip": False, "tooltip": None}
    return layer(rows, "text", place | {"text": category("label")}, **look, **style)

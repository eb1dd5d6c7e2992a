"""Axes and scales: few ticks, labelled by numbers, and limits that contain the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from losslake.figures.panel import ChartRow, Limits, Panel
from losslake_schema.reached import Floats

ToPx = Callable[[Floats], Floats]
# How far outside the plot values are clipped, in plot lengths.
_FAR = 4.0

# px between an axis and its title: the same in every figure, so that figures have the requested width.
_X_EXTENT, _Y_EXTENT = 20, 46
# px that a digit of a label needs along the x axis, and a label along the y axis.
_PX_A_DIGIT, _PX_A_LINE = 6.2, 18
_MANTISSAS = ((1, 2, 5), (1, 3), (1,))
# Powers of 2 are never rounded. SI prefixes begin at 1M.
_WHOLE = "format(datum.value, ',.12~g')"
_LABEL = (
    "abs(datum.value) >= 1e6 ? format(datum.value, '.4~s') : abs(datum.value) >= 1e-4 || datum.value === 0 "
    f"? {_WHOLE} : format(datum.value, '.2~e')"
)


@dataclass(frozen=True)
class Scale:
    """One axis: the field of its values, its limits and its title.

    base: of the logarithm, 2 with ticks at powers of 2, 10 with ticks at 1, 2 and 5 times powers of 10; None: linear.
    """

    field: str
    limits: Limits
    title: str
    base: int | None = 2

    @classmethod
    def over(
        cls, rows: Iterable[ChartRow], field: str, title: str, limits: Limits | None, base: int | None = 2
    ) -> Scale:
        """Return the axis of a field of rows. limits: those of the rows by default."""
        if limits is None:
            values = (row[field] for row in rows)
            limits = (
                linear_limits(values) if base is None else log_limits(values) if base == 2 else decade_limits(values)
            )
        return cls(field, limits, title, base)

    @property
    def scale(self) -> dict[str, Any]:
        """The Vega-Lite scale from one limit to the other."""
        if self.base is None:
            return {"domain": list(self.limits), "nice": False, "zero": False}
        return {"type": "log", "base": self.base, "domain": list(self.limits), "nice": False}

    def to_px(self, length: float, is_up: bool = False) -> ToPx:
        """Return the function that maps values to px along the axis. length: px. is_up: the least is at the end."""

        def placed(values: Floats) -> Floats:
            is_log = self.base is not None
            ends = np.log(self.limits) if is_log else np.array(self.limits)
            share = ((np.log(values) if is_log else values) - ends[0]) / (ends[1] - ends[0])
            places: Floats = np.clip(1 - share if is_up else share, -_FAR, 1 + _FAR) * length
            return places

        return placed

    def axis(self, panel: Panel, is_x: bool) -> dict[str, Any]:
        """Return the Vega-Lite axis, at the bottom if is_x, else at the left, with few ticks."""
        length, extent = (panel.width, _X_EXTENT) if is_x else (panel.height, _Y_EXTENT)
        title = self.title if is_x or panel.y_title is None else panel.y_title
        if self.base is None:
            ticks: dict[str, Any] = {"tickCount": max(2, min(6, length // 45))}
        else:
            ticks = {"values": log_ticks(self.limits, self.base, length, is_x)}
        labels = {"labelExpr": _WHOLE if self.base == 2 else _LABEL, "labelOverlap": False, "labelBound": False}
        return ticks | labels | {"title": title, "minExtent": extent, "maxExtent": extent, "titlePadding": 2}


def log_limits(values: Iterable[float], base: int = 2, margin: float = 0.5) -> Limits:
    """Return limits around the positive values. margin: in powers of the base; 1 if there are no distinct values."""
    positive = [value for value in values if value > 0 and math.isfinite(value)]
    low, high = (min(positive), max(positive)) if positive else (1.0, 1.0)
    if low == high:
        margin = 1.0
    return low / base**margin, high * base**margin


def decade_limits(values: Iterable[float]) -> Limits:
    """Return limits around the positive values that include powers of ten."""
    low, high = log_limits(values, 10, 0.15)
    if math.ceil(math.log10(low)) < math.floor(math.log10(high)):
        return low, high
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def linear_limits(values: Iterable[float], margin: float = 0.06) -> Limits:
    """Return limits around the finite values. margin: as a share of their range."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    room = (high - low) * margin or abs(high) * margin or 1.0
    return low - room, high + room


def log_ticks(limits: Limits, base: int, length: int, is_x: bool) -> list[float]:
    """Return the ticks of a logarithmic axis whose labels don't touch. length: px.

    Powers of 2, or 1, 2 and 5 times powers of 10; every other one and so on where there is no room.
    """
    low, high = math.log10(limits[0]), math.log10(limits[1])
    px = length / max(high - low, 1e-9)
    if base == 2:
        first, last = math.ceil(low / math.log10(2) - 1e-9), math.floor(high / math.log10(2) + 1e-9)
        ticks = [2.0**power for power in range(first, last + 1)]
        gap = _room(ticks, is_x) / (px * math.log10(2))
        # The stride keeps 1 as a tick.
        stride = max(1, math.ceil(gap))
        return [tick for power, tick in zip(range(first, last + 1), ticks, strict=True) if power % stride == 0]
    decades = range(math.floor(low), math.ceil(high) + 1)
    for mantissas in _MANTISSAS:
        ticks = [float(f"{mantissa}e{power}") for power in decades for mantissa in mantissas]
        ticks = [tick for tick in ticks if low - 1e-9 <= math.log10(tick) <= high + 1e-9]
        least = min((math.log10(b / a) for a, b in pairwise(ticks)), default=math.inf)
        if px * least >= _room(ticks, is_x):
            return ticks
    stride = max(1, math.ceil(_room(ticks, is_x) / px))
    return [tick for tick in ticks if round(math.log10(tick)) % stride == 0]


def _room(ticks: Iterable[float], is_x: bool) -> float:
    """Return the px from a tick to the next one that their labels need."""
    longest = max((len(f"{tick:,.12g}") for tick in ticks), default=1)
    return _PX_A_DIGIT * (longest + 1) if is_x else _PX_A_LINE

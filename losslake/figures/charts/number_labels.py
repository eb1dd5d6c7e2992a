"""Powers of two beside logarithmic axes as the numbers they are, for ratios: 0.5, 1, 2."""

from __future__ import annotations

from typing import Any

from losslake.figures import theme
from losslake.figures.axes import log_scale, powers
from losslake.figures.channels import category, px, quantity
from losslake.figures.layers import Layer, layer
from losslake.figures.panel import Limits, Panel

_LEAST_DECIMAL = -4


def x_number_labels(panel: Panel, limits: Limits) -> Layer:
    """Of the lower axis."""
    place = {"x": quantity("at", scale=log_scale(limits)), "y": px(panel.height + 8)}
    return _labels(limits, panel.width, place, align="center", baseline="top")


def y_number_labels(panel: Panel, limits: Limits) -> Layer:
    """Of the left axis."""
    place = {"x": px(-8), "y": quantity("at", scale=log_scale(limits))}
    return _labels(limits, panel.height, place, align="right", baseline="middle")


def _labels(limits: Limits, length: int, place: dict[str, Any], **style: Any) -> Layer:
    rows = [{"at": 2.0**power, "label": _number(power)} for power in powers(limits, 2, length)]
    look: dict[str, Any] = {"fontSize": theme.LABEL, "color": theme.INK, "clip": False, "tooltip": None}
    return layer(rows, "text", place | {"text": category("label")}, **look, **style)


def _number(power: int) -> str:
    """Decimal as long as it is short, then a fraction."""
    return f"1/{2**-power:,}" if power < _LEAST_DECIMAL else f"{2.0**power:,.10g}"

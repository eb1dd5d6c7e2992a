"""Powers of two beside logarithmic axes as the numbers they are, for ratios: 0.5, 1, 2."""

from __future__ import annotations

from typing import Any

import altair as alt

from service.figures import theme
from service.figures.axes import log_scale, powers
from service.figures.layers import px, rows_chart
from service.figures.panel import Limits, Panel

_LEAST_DECIMAL = -4


def x_number_labels(panel: Panel, limits: Limits) -> alt.Chart:
    """Of the lower axis."""
    place = {"x": alt.X("at:Q", scale=log_scale(limits)), "y": px("y", panel.height + 8)}
    return _labels(limits, panel.width, place, align="center", baseline="top")


def y_number_labels(panel: Panel, limits: Limits) -> alt.Chart:
    """Of the left axis."""
    place = {"x": px("x", -8), "y": alt.Y("at:Q", scale=log_scale(limits))}
    return _labels(limits, panel.height, place, align="right", baseline="middle")


def _labels(limits: Limits, length: int, place: dict[str, Any], **style: Any) -> alt.Chart:
    rows = [{"at": 2.0**power, "label": _number(power)} for power in powers(limits, 2, length)]
    mark = rows_chart(rows).mark_text(fontSize=theme.LABEL, color=theme.INK, clip=False, tooltip=None, **style)
    chart: alt.Chart = mark.encode(**place, text="label:N")
    return chart


def _number(power: int) -> str:
    """Decimal as long as it is short, then a fraction."""
    return f"1/{2**-power:,}" if power < _LEAST_DECIMAL else f"{2.0**power:,.10g}"

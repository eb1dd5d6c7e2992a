"""The layers that charts are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from service.figures import theme
from service.figures.panel import Panel

Row = dict[str, Any]


def rows_chart(rows: Sequence[Row]) -> alt.Chart:
    """A layer over rows of JSON values."""
    return alt.Chart(alt.InlineData(values=list(rows)))


def words(text: str, panel: Panel) -> alt.Chart:
    """Words in the middle of a plot, where there is nothing else to see."""
    middle = {"x": alt.value(panel.width / 2), "y": alt.value(panel.height / 2)}
    chart = rows_chart([{"text": text}]).mark_text(fontSize=theme.TITLE, color=theme.INK)
    said: alt.Chart = chart.encode(**middle, text="text:N")
    return said


def layered(layers: Sequence[alt.Chart], panel: Panel) -> alt.LayerChart:
    """Layers, the lowest first, in the frame of a panel."""
    chart: alt.LayerChart = alt.LayerChart(layer=list(layers))
    return chart.properties(width=panel.width, height=panel.height, title=panel.title)

"""The layers that charts are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import orjson

from service.figures import theme
from service.figures.caption import wrapped
from service.figures.layout import HANGING
from service.figures.panel import Panel

Row = dict[str, Any]


class HeldRows(str):
    """Stands for rows in a chart, by their checksum: altair would check every value, which takes longer than to draw.

    `service.figures.figure` puts the rows in its place.
    """

    rows: list[Row]


def rows_chart(rows: Sequence[Row]) -> alt.Chart:
    """A layer over rows of JSON values."""
    held = HeldRows(hashlib.sha256(orjson.dumps(rows)).hexdigest())
    held.rows = list(rows)
    return alt.Chart(alt.InlineData(values=held))


def px(axis: Literal["x", "y"], place: float) -> alt.XValue | alt.YValue:
    """A place in px from the plot's upper left corner; `alt.value` would have to find out for which axis."""
    channel: Any = alt.XValue if axis == "x" else alt.YValue
    found: alt.XValue | alt.YValue = channel(place)
    return found


def words(text: str, panel: Panel) -> alt.Chart:
    """Words in the middle of a plot, where there is nothing else to see."""
    middle = {"x": px("x", panel.width / 2), "y": px("y", panel.height / 2)}
    chart = rows_chart([{"text": text}]).mark_text(fontSize=theme.TITLE, color=theme.INK)
    said: alt.Chart = chart.encode(**middle, text="text:N")
    return said


def layered(layers: Sequence[alt.Chart], panel: Panel) -> alt.LayerChart:
    """Layers, the lowest first, in the frame of a panel."""
    lines = wrapped([panel.title], panel.width + HANGING, theme.HEADING)
    frame: dict[str, Any] = {"width": panel.width, "height": panel.height}
    if lines:
        frame["title"] = {"text": lines} | ({"subtitle": panel.subtitle} if panel.subtitle else {})
    chart: alt.LayerChart = alt.LayerChart(layer=list(layers), **frame)
    return chart

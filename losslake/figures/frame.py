"""The encodings and layers that charts share: positions, the colours and shapes of series, and the legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from losslake.figures import theme
from losslake.figures.axes import Scale
from losslake.figures.layers import Channel, Layer, Plot, category, layer, plot_layers, px, quantity, tip
from losslake.figures.panel import BEFORE_NAMES, ChartRow, Panel, legend_columns, names_width
from losslake.figures.series_colours import look_numbers

# px from one line of text to the next.
_LINE = 14


class Frame:
    """The axes and series of a panel. labels: of the series, in order. is_ordered: colours show that order."""

    def __init__(self, panel: Panel, x: Scale, y: Scale, labels: Sequence[str], is_ordered: bool = False) -> None:
        self.panel, self.x_axis, self.y_axis = panel, x, y
        self._has_names = any(labels)
        self.x = quantity(x.field, scale=x.scale, axis=x.axis(panel, is_x=True))
        self.y = self.y_of(y.field)
        self.place: dict[str, Channel] = {"x": self.x, "y": self.y}
        key = legend(labels, panel)
        self.colour: dict[str, Channel] = {
            "color": category("series", scale=colour_scale(labels, is_ordered), legend=key)
        }
        shapes = {"domain": list(labels), "range": _looks(theme.SHAPES, labels)}
        self.shape: dict[str, Channel] = {} if is_ordered else {"shape": category("series", scale=shapes, legend=key)}

    def y_of(self, field: str) -> Channel:
        """Return the channel of another field on the y axis."""
        return quantity(field, scale=self.y_axis.scale, axis=self.y_axis.axis(self.panel, is_x=False))

    def tooltip(self, lines: Sequence[Channel]) -> dict[str, Any]:
        """Return the tooltip of a mark: these lines, after the name of its series if it has one."""
        return {"tooltip": [tip("series", "Series"), *lines] if self._has_names else list(lines)}

    def lines(self, rows: Sequence[ChartRow], width: float = 1.6, within: str | None = None) -> Layer:
        """Return a layer with a line through the rows of each series.

        within: a field; neighbours that differ in it aren't joined.
        """
        encoding = self.place | self.colour
        if within is not None and rows:
            ordered = sorted(rows, key=lambda row: (row["series"], row[self.x_axis.field]))
            parts = accumulate((one.get(within) != other.get(within) for one, other in pairwise(ordered)), initial=0)
            rows = [row | {"part": str(part + 1)} for row, part in zip(ordered, parts, strict=True)]
            if rows[-1]["part"] != rows[0]["part"]:
                encoding = encoding | {"detail": category("part", title="Part of the line")}
        return layer(rows, "line", encoding, strokeWidth=width, clip=True)

    def points(
        self, rows: Sequence[ChartRow], tooltip: Sequence[Channel], size: float = theme.POINT, is_hollow: bool = False
    ) -> Layer:
        """Return a layer with a filled or hollow mark for each row."""
        marks = self.place | self.colour | self.shape | self.tooltip(tooltip)
        style = {"filled": False, "strokeWidth": 1.6} if is_hollow else {"filled": True}
        return layer(rows, "point", marks, size=size, opacity=1, clip=True, **style)

    def bars(
        self, rows: Sequence[ChartRow], lower: str, upper: str, width: float = 1.6, opacity: float = 0.55
    ) -> Layer:
        """Return a layer with a vertical bar for each row, between the fields of its ends."""
        ends = {"x": self.x, "y": self.y_of(lower), "y2": {"field": upper}} | self.colour
        return layer(rows, "rule", ends, strokeWidth=width, strokeOpacity=opacity, clip=True)

    def names(self, rows: Iterable[ChartRow], colour: Channel | None = None) -> list[Layer]:
        """Return the layers that name each series at the end of its line, if the panel has room for it there.

        rows: the points of the lines. colour: of the series, instead of the palette.
        """
        if self.panel.legend != "ends":
            return []
        lasts: dict[str, ChartRow] = {}
        for row in sorted(rows, key=lambda row: float(row[self.x_axis.field])):
            lasts[row["series"]] = row
        ends = sorted(lasts.values(), key=lambda row: -float(row[self.y_axis.field]))
        heights = self.y_axis.to_px(self.panel.height, is_up=True)(np.array([row[self.y_axis.field] for row in ends]))
        downs = _apart(heights.tolist(), self.panel.height)
        named = [{"series": row["series"], "down": down} for row, down in zip(ends, downs, strict=True)]
        down = {"y": quantity("down", scale=None, axis=None)}
        symbol = {"x": px(self.panel.width + 9)} | down | self.shape | {"color": colour or self.colour["color"]}
        text = {"x": px(self.panel.width + BEFORE_NAMES)} | down | {"text": category("series")}
        # The figure is as wide as its marks, and the reader's font may be wider than the one that it is measured by.
        room = {"x": px(self.panel.width + names_width(list(lasts))), "y": px(0)}
        return [
            layer(named[:1], "point", room, opacity=0, tooltip=None),
            layer(named, "point", symbol, size=theme.POINT, filled=True, opacity=1, tooltip=None),
            layer(named, "text", text, align="left", baseline="middle", fontSize=theme.LABEL, color=theme.INK),
        ]

    def plot(self, layers: Iterable[Layer], nothing: str = "") -> Plot:
        """Return the plot of these layers, the lowest first. nothing: text to show if there are no marks."""
        drawn = list(layers)
        if nothing:
            middle = {"x": px(self.panel.width / 2), "y": px(self.panel.height / 2), "text": category("text")}
            drawn.append(layer([{"text": nothing}], "text", middle, fontSize=theme.TITLE, color=theme.INK))
        return plot_layers(drawn, self.panel)


def legend(labels: Sequence[str], panel: Panel) -> dict[str, Any] | None:
    """Return the legend of the series; None for a single series without a label."""
    if panel.legend in ("none", "ends") or list(labels) in ([], [""]):
        return None
    if panel.legend != "bottom":
        return {"title": None, "orient": panel.legend, "fillColor": theme.VEIL, "padding": 3}
    columns = legend_columns(labels, panel.width)
    # A longer label would leave a narrow figure on the right, where there is less room than a symbol takes on the left.
    longest = min(theme.LONGEST_LABEL, panel.width)
    return {"title": None, "orient": "bottom", "direction": "horizontal", "columns": columns, "labelLimit": longest}


def colour_scale(labels: Sequence[str], is_ordered: bool) -> dict[str, Any]:
    """Return the scale with a colour for each series. is_ordered: from dark to light."""
    colours = theme.ordered(len(labels)) if is_ordered else _looks(theme.COLOURS, labels)
    return {"domain": list(labels), "range": colours}


def _apart(heights: Sequence[float], most: float) -> list[float]:
    """Return heights in px, ascending, moved so that lines of text there don't touch, within 0 and `most`."""
    moved: list[float] = []
    for height in heights:
        moved.append(max(height, moved[-1] + _LINE if moved else _LINE / 2))
    limit = most - _LINE / 2
    for place in reversed(range(len(moved))):
        moved[place] = limit = min(moved[place], limit)
        limit -= _LINE
    return moved


def _looks(choices: Sequence[str], labels: Sequence[str]) -> list[str]:
    return [choices[number % len(choices)] for number in look_numbers(labels)]

"""The encodings and layers that charts share: where a row is, how its series looks, and the legend that names it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from losslake.figures import theme
from losslake.figures.axes import Scale
from losslake.figures.layers import Channel, Layer, Plot, category, layer, layered, px, quantity, tip
from losslake.figures.panel import Panel, Row, legend_columns


class Frame:
    """A panel's axes and series. labels: of its series, in order. is_ordered: whether their colours show that order."""

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
        shapes = {"domain": list(labels), "range": _as_many(theme.SHAPES, labels)}
        self.shape: dict[str, Channel] = {} if is_ordered else {"shape": category("series", scale=shapes, legend=key)}

    def y_of(self, field: str) -> Channel:
        """Return the channel of another field on the same axis."""
        return quantity(field, scale=self.y_axis.scale, axis=self.y_axis.axis(self.panel, is_x=False))

    def tooltip(self, lines: Sequence[Channel]) -> dict[str, Any]:
        """Return what is said of a mark that is pointed at, after its series if that has a name."""
        return {"tooltip": [tip("series", "Series"), *lines] if self._has_names else list(lines)}

    def lines(self, rows: Sequence[Row], width: float = 1.6) -> Layer:
        """Return a line through the rows of each series."""
        return layer(rows, "line", self.place | self.colour, strokeWidth=width, clip=True)

    def points(self, rows: Sequence[Row], tooltip: Sequence[Channel], size: float = theme.POINT) -> Layer:
        """Return a filled mark for each row."""
        marks = self.place | self.colour | self.shape | self.tooltip(tooltip)
        return layer(rows, "point", marks, size=size, filled=True, opacity=1, clip=True)

    def plot(self, layers: Iterable[Layer], nothing: str = "") -> Plot:
        """Return the layers, the lowest first, with the labels of axes. nothing: words in place of marks."""
        drawn = list(layers)
        if nothing:
            middle = {"x": px(self.panel.width / 2), "y": px(self.panel.height / 2), "text": category("text")}
            drawn.append(layer([{"text": nothing}], "text", middle, fontSize=theme.TITLE, color=theme.INK))
        drawn += self.x_axis.labels(self.panel, is_x=True) + self.y_axis.labels(self.panel, is_x=False)
        return layered(drawn, self.panel)


def legend(labels: Sequence[str], panel: Panel) -> dict[str, Any] | None:
    """Return the legend with the names of the series; None for one without a name."""
    if panel.legend == "none" or list(labels) in ([], [""]):
        return None
    if panel.legend != "bottom":
        return {"title": None, "orient": panel.legend, "fillColor": theme.VEIL, "padding": 3}
    columns = legend_columns(labels, panel.width)
    return {"title": None, "orient": "bottom", "direction": "horizontal", "columns": columns}


def colour_scale(labels: Sequence[str], is_ordered: bool) -> dict[str, Any]:
    """Return a colour for each series, in the order given; is_ordered: from dark to light."""
    colours = theme.ordered(len(labels)) if is_ordered else _as_many(theme.COLOURS, labels)
    return {"domain": list(labels), "range": colours}


def _as_many(choices: Sequence[str], labels: Sequence[str]) -> list[str]:
    return [choices[index % len(choices)] for index in range(len(labels))]

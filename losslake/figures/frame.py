"""The encodings that the layers of a chart share: where a row is, and how its series looks.

Colours and shapes of series, and the legend that names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from losslake.figures import theme
from losslake.figures.axes import X_EXTENT, Y_EXTENT, linear_axis, linear_scale, log_axis, log_scale, power_labels
from losslake.figures.channels import Channel, category, quantity, told
from losslake.figures.layers import Layer
from losslake.figures.layout import legend_columns
from losslake.figures.panel import Limits, Panel


def colours(labels: Sequence[str], panel: Panel, is_ordered: bool = False) -> Channel:
    """A colour for each series, in the order given, and their legend; is_ordered: from dark to light."""
    return category("series", scale=colour_scale(labels, is_ordered), legend=legend(labels, panel))


def colour_scale(labels: Sequence[str], is_ordered: bool = False) -> dict[str, Any]:
    """A colour for each series, in the order given; is_ordered: from dark to light."""
    range_ = theme.ordered(len(labels)) if is_ordered else _as_many(theme.COLOURS, labels)
    return {"domain": list(labels), "range": range_}


def shapes(labels: Sequence[str], panel: Panel) -> Channel:
    """A shape for each series, in the order given; shares the legend of its colour."""
    scale = {"domain": list(labels), "range": _as_many(theme.SHAPES, labels)}
    return category("series", scale=scale, legend=legend(labels, panel))


def legend(labels: Sequence[str], panel: Panel) -> dict[str, Any] | None:
    """The names of the series; None for one without a name."""
    if panel.legend == "none" or list(labels) in ([], [""]):
        return None
    if panel.legend != "bottom":
        return {"title": None, "orient": panel.legend, "fillColor": theme.VEIL, "padding": 3}
    columns = legend_columns(labels, panel.width)
    return {"title": None, "orient": "bottom", "direction": "horizontal", "columns": columns}


def _as_many(choices: Sequence[str], labels: Sequence[str]) -> list[str]:
    return [choices[index % len(choices)] for index in range(len(labels))]


@dataclass(frozen=True)
class Scale:
    """One axis: the field of its values, its limits and title, and the base of its logarithm; None: linear."""

    field: str
    limits: Limits
    title: str
    base: int | None = 2


class Frame:
    """A panel's axes and series. labels: of its series, in order. is_ordered: whether their colours show that order."""

    def __init__(self, panel: Panel, x: Scale, y: Scale, labels: Sequence[str], is_ordered: bool = False) -> None:
        self.panel, self._x, self._y = panel, x, y
        self._names = tuple(labels)
        self.x_scale, self.y_scale = _scale(x), _scale(y)
        self.x = self.x_of(x.field)
        self.y = self.y_of(y.field)
        self.place: dict[str, Channel] = {"x": self.x, "y": self.y}
        self.colour: dict[str, Channel] = {"color": colours(labels, panel, is_ordered)}
        self.shape: dict[str, Channel] = {} if is_ordered else {"shape": shapes(labels, panel)}

    def x_of(self, field: str) -> Channel:
        """Another field on the same axis."""
        axis = _axis(self._x, self.panel.x_title, self.panel.width, X_EXTENT)
        return quantity(field, scale=self.x_scale, axis=axis)

    def y_of(self, field: str) -> Channel:
        """Another field on the same axis."""
        axis = _axis(self._y, self.panel.y_title, self.panel.height, Y_EXTENT)
        return quantity(field, scale=self.y_scale, axis=axis)

    def tooltip(self, lines: Sequence[Channel]) -> dict[str, Any]:
        """What is said of a mark that is pointed at, after its series if that has a name."""
        return {"tooltip": [told("series", "Series"), *lines] if any(self._names) else list(lines)}

    def labels(self) -> list[Layer]:
        """The layers with the labels of logarithmic axes."""
        found = []
        if self._x.base is not None:
            found += power_labels(self.panel, self._x.limits, None, self._x.base)
        if self._y.base is not None:
            found += power_labels(self.panel, None, self._y.limits, self._y.base)
        return found


def _scale(scale: Scale) -> dict[str, Any]:
    return linear_scale(scale.limits) if scale.base is None else log_scale(scale.limits, scale.base)


def _axis(scale: Scale, title: str | None, length: int, extent: int) -> dict[str, Any]:
    shown = scale.title if title is None else title
    if scale.base is None:
        return linear_axis(shown, length, extent)
    return log_axis(scale.limits, shown, length, scale.base, extent)

"""The layers of charts: marks, and the channels that encode fields of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from losslake.figures import theme
from losslake.figures.links import HREF, Transform
from losslake.figures.panel import HANGING, ChartRow, Panel, wrap

Mark = Literal["line", "point", "rule", "rect", "area", "text"]
# How a mark encodes a field of its row: a part of Vega-Lite's `encoding`.
Channel = dict[str, Any]
# Formats of numbers in tooltips.
COUNT, DECIMAL = ",", ".6~g"


def quantity(field: str, **how: Any) -> Channel:
    """Return the channel of a numeric field. how: scale, axis and other options."""
    return {"field": field, "type": "quantitative", **how}


def category(field: str, **how: Any) -> Channel:
    """Return the channel of a field of names. how: scale, legend and other options."""
    return {"field": field, "type": "nominal", **how}


def px(place: float) -> Channel:
    """Return the channel of a constant position in px from the plot's upper left corner."""
    return {"value": place}


def tip(field: str, title: str, form: str | None = None) -> Channel:
    """Return a line of a tooltip. form: d3 format of a number; None: the value unchanged."""
    return category(field, title=title) if form is None else quantity(field, title=title, format=form)


BATCH_SIZE = tip("batch_size", "Batch size", COUNT)
STEPS = tip("steps", "Steps to target", COUNT)
TRIAL = tip("trial_id", "Trial")


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer of marks.

    rows: of JSON values; a list shared by several layers is written once. mark, encoding, transforms: as in Vega-Lite.
    """

    rows: Sequence[ChartRow]
    mark: Mapping[str, Any]
    encoding: Mapping[str, Any]
    transforms: Sequence[Transform] = ()

    def linked(self, computed: Transform | None) -> Layer:
        """Return the layer with a link for each mark. computed: the transform of the links; None: no links."""
        if computed is None:
            return self
        encoding = {**self.encoding, "href": category(HREF)}
        return replace(self, encoding=encoding, transforms=[*self.transforms, computed])


@dataclass(frozen=True, eq=False)
class Plot:
    """A plot of layers, the lowest first. width, height: px. heading: lines of text."""

    layers: Sequence[Layer]
    width: int
    height: int
    heading: Sequence[str] = ()
    subtitle: str = ""


def layer(rows: Sequence[ChartRow], mark: Mark, encoding: Mapping[str, Any], **style: Any) -> Layer:
    """Return a layer with a mark for each row, or for lines and areas for each series. style: of every mark."""
    return Layer(rows, {"type": mark, **style}, encoding)


def plot_layers(layers: Sequence[Layer], panel: Panel) -> Plot:
    """Return the plot of these layers, the lowest first, with the size and the titles of a panel."""
    heading = wrap([panel.title], panel.width + HANGING, theme.HEADING)
    return Plot(layers, panel.width, panel.height, heading, panel.subtitle)

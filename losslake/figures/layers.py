"""The layers that charts are made of: marks, and the channels that show fields of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from losslake.figures import theme
from losslake.figures.links import HREF, Transform
from losslake.figures.panel import HANGING, Panel, Row, wrapped

Mark = Literal["line", "point", "rule", "rect", "area", "text"]
Channel = dict[str, Any]
"""Which field of its row a mark shows, and how: a part of Vega-Lite's `encoding`."""
COUNT, DECIMAL = ",", ".6~g"
"""Formats of numbers in tooltips."""


def quantity(field: str, **how: Any) -> Channel:
    """Return the channel of a field of numbers. how: its scale, its axis."""
    return {"field": field, "type": "quantitative", **how}


def category(field: str, **how: Any) -> Channel:
    """Return the channel of a field of names, or of numbers that stand for themselves. how: its scale, its legend."""
    return {"field": field, "type": "nominal", **how}


def px(place: float) -> Channel:
    """Return the channel of a place in px from the plot's upper left corner, the same for every row."""
    return {"value": place}


def tip(field: str, title: str, form: str | None = None) -> Channel:
    """Return a line of a tooltip: a field under a title. form: of numbers, as d3-format has it; None: as it is."""
    return category(field, title=title) if form is None else quantity(field, title=title, format=form)


BATCH_SIZE = tip("batch_size", "Batch size", COUNT)
STEPS = tip("steps", "Steps to target", COUNT)
TRIAL = tip("trial_id", "Trial")


@dataclass(frozen=True, eq=False)
class Layer:
    """Marks of one sort.

    rows: of JSON values; those of several layers are written once if they are the same list. mark: how it looks;
    encoding: what of each row it shows, by channel; transforms: what is made of the rows first; as Vega-Lite has them.
    """

    rows: Sequence[Row]
    mark: Mapping[str, Any]
    encoding: Mapping[str, Any]
    transforms: Sequence[Transform] = ()

    def linked(self, computed: Transform | None) -> Layer:
        """Return the same marks, each with the link that Links computes; None: without."""
        if computed is None:
            return self
        encoding = {**self.encoding, "href": category(HREF)}
        return replace(self, encoding=encoding, transforms=[*self.transforms, computed])


@dataclass(frozen=True, eq=False)
class Plot:
    """Layers, the lowest first, in one frame. width, height: px. heading: in lines."""

    layers: Sequence[Layer]
    width: int
    height: int
    heading: Sequence[str] = ()
    subtitle: str = ""


def layer(rows: Sequence[Row], mark: Mark, encoding: Mapping[str, Any], **style: Any) -> Layer:
    """Return a mark for each row; for line and area, one for all rows of a series. style: of all of them alike."""
    return Layer(rows, {"type": mark, **style}, encoding)


def layered(layers: Sequence[Layer], panel: Panel) -> Plot:
    """Return layers, the lowest first, in the frame of a panel."""
    heading = wrapped([panel.title], panel.width + HANGING, theme.HEADING)
    return Plot(layers, panel.width, panel.height, heading, panel.subtitle)

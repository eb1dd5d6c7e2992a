"""The layers that charts are made of, and the plots that layers make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from losslake.figures import theme
from losslake.figures.caption import wrapped
from losslake.figures.channels import Channel, category, px
from losslake.figures.layout import HANGING
from losslake.figures.links import HREF, Transform
from losslake.figures.panel import Panel

Row = dict[str, Any]
Mark = Literal["line", "point", "rule", "rect", "area", "text"]


@dataclass(frozen=True, eq=False)
class Layer:
    """Marks of one sort.

    rows: of JSON values; those of several layers are written once if they are the same list. mark: how it looks;
    encoding: what of each row it shows, by channel; transforms: what is made of the rows first; as Vega-Lite has them.
    """

    rows: Sequence[Row]
    mark: Mapping[str, Any]
    encoding: Mapping[str, Any]
    transforms: Sequence[Mapping[str, Any]] = ()

    def linked(self, computed: Transform | None) -> Layer:
        """The same marks, each with the link that `losslake.figures.links` computes; None: without."""
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
    """A mark for each row; for line and area, one for all rows of a series. style: of all of them alike."""
    return Layer(rows, {"type": mark, **style}, encoding)


def words(text: str, panel: Panel) -> Layer:
    """Words in the middle of a plot, where there is nothing else to see."""
    middle: dict[str, Channel] = {"x": px(panel.width / 2), "y": px(panel.height / 2), "text": category("text")}
    return layer([{"text": text}], "text", middle, fontSize=theme.TITLE, color=theme.INK)


def layered(layers: Sequence[Layer], panel: Panel) -> Plot:
    """Layers, the lowest first, in the frame of a panel."""
    heading = wrapped([panel.title], panel.width + HANGING, theme.HEADING)
    return Plot(layers, panel.width, panel.height, heading, panel.subtitle)

"""The layers that charts are made of: marks, the channels that show fields of rows, and links to pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import quote

from losslake.figures import theme
from losslake.figures.panel import HANGING, Panel, Row, Series, wrapped

Mark = Literal["line", "point", "rule", "rect", "area", "text"]
Channel = dict[str, Any]
"""Which field of its row a mark shows, and how: a part of Vega-Lite's `encoding`."""
Transform = dict[str, Any]
HREF = "href"
"""The field that a link is computed into, in the browser: rows need not repeat what they share."""
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


BATCH_SIZE, STEPS, TRIAL = (
    tip("batch_size", "Batch size", COUNT),
    tip("steps", "Steps to target", COUNT),
    tip("trial_id", "Trial"),
)


@dataclass(frozen=True)
class Links:
    """Where pages are. address: of the service; empty: where the figure is. release: the one that was asked for."""

    address: str = ""
    release: int | None = None

    def to_trials(self, series: Sequence[Series]) -> Transform:
        """Return the links of rows with series, batch_size and trial_id."""
        return self._computed("trials", _by_label(series), "series", ("batch_size", "trial_id"))

    def to_studies(self, series: Sequence[Series]) -> Transform:
        """Return the links of rows with series and batch_size."""
        return self._computed("studies", _by_label(series), "series", ("batch_size",))

    def to_trials_of(self, workloads: Sequence[str]) -> Transform:
        """Return the links of rows with workload, batch_size and trial_id."""
        return self._computed("trials", {each: each for each in workloads}, "workload", ("batch_size", "trial_id"))

    def _computed(self, page: str, workloads: Mapping[str, str], by: str, fields: Sequence[str]) -> Transform:
        """workloads: by value of the field `by`."""
        starts = [literal(f"{self.address}/{page}/{quote(each, safe='/')}/") for each in workloads.values()]
        place = f"indexof({_array(map(literal, workloads))}, datum.{by})"
        start = starts[0] if len(set(starts)) == 1 else f"{_array(starts)}[{place}]"
        path = " + '/' + ".join(f"datum.{field}" for field in fields)
        end = "" if self.release is None else f" + {literal(f'?release={self.release}')}"
        return {"calculate": f"{start} + {path}{end}", "as": HREF}


def _by_label(series: Sequence[Series]) -> dict[str, str]:
    return {one.label: one.workload for one in series}


def _array(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def literal(text: str) -> str:
    """Return a text as an expression has it, in ASCII: nothing in it ends the literal, whatever it holds."""
    return json.dumps(text)


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


def words(text: str, panel: Panel) -> Layer:
    """Return words in the middle of a plot, where there is nothing else to see."""
    middle = {"x": px(panel.width / 2), "y": px(panel.height / 2), "text": category("text")}
    return layer([{"text": text}], "text", middle, fontSize=theme.TITLE, color=theme.INK)


def layered(layers: Sequence[Layer], panel: Panel) -> Plot:
    """Return layers, the lowest first, in the frame of a panel."""
    heading = wrapped([panel.title], panel.width + HANGING, theme.HEADING)
    return Plot(layers, panel.width, panel.height, heading, panel.subtitle)

"""A figure: plots in a grid with a caption below, as one Vega-Lite specification."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import orjson

from losslake.figures import layout, theme
from losslake.figures.formats import Document
from losslake.figures.layers import Layer, Plot, Row
from losslake.figures.layout import wrapped

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"


def figure(
    plots: Sequence[Plot],
    columns: int = 1,
    caption: Sequence[str] = (),
    width: int = 400,
    shares_legend: bool = False,
    description: str = "",
) -> Document:
    """The specification of plots, row by row in so many columns, with the sentences of a caption below them.

    width: of the figure in px, for the lines of the caption. shares_legend: all plots have the same series.
    description: what is to be seen, for those who don't see it.
    """
    resolved: Literal["shared", "independent"] = "shared" if shares_legend else "independent"
    rows = _Datasets()
    specification: Document = {
        "$schema": SCHEMA,
        "concat": [_plot(plot, rows) for plot in plots],
        "columns": columns,
        "resolve": {"scale": {"color": resolved, "shape": resolved}},
        "datasets": rows.by_name,
        "config": theme.configuration(),
    }
    if description:
        specification["description"] = description
    lines = wrapped(caption, width - 2 * layout.PADDING)
    if lines:
        specification["title"] = {
            "text": lines,
            "orient": "bottom",
            "anchor": "start",
            "frame": "bounds",
            "fontSize": theme.CAPTION,
            "fontWeight": "normal",
            "color": theme.FAINT,
            "lineHeight": theme.CAPTION_LINE,
            "offset": 8,
        }
    return specification


class _Datasets:
    """The rows of a figure by name; those of several layers once."""

    def __init__(self) -> None:
        self.by_name: dict[str, Sequence[Row]] = {}
        self._names: dict[int, str] = {}

    def name_of(self, rows: Sequence[Row]) -> str:
        """The name that rows have; the same list has the same."""
        name = self._names.setdefault(id(rows), f"rows-{len(self._names)}")
        self.by_name[name] = rows
        return name


def _plot(plot: Plot, rows: _Datasets) -> Document:
    found: Document = {
        "layer": [_layer(layer, rows) for layer in plot.layers],
        "width": plot.width,
        "height": plot.height,
    }
    if plot.heading:
        found["title"] = {"text": list(plot.heading)} | ({"subtitle": plot.subtitle} if plot.subtitle else {})
    return found


def _layer(layer: Layer, rows: _Datasets) -> Document:
    found: dict[str, Any] = {"data": {"name": rows.name_of(layer.rows)}, "mark": layer.mark, "encoding": layer.encoding}
    return found | ({"transform": list(layer.transforms)} if layer.transforms else {})


def encoded(specification: Document) -> bytes:
    """A specification as JSON text; raises ValueError for a number that JSON has no word for."""
    _check(specification)
    return orjson.dumps(specification)


def _check(value: object) -> None:
    """No NaN and no infinity, which orjson would write as null."""
    if isinstance(value, dict):
        for each in value.values():
            _check(each)
    elif isinstance(value, list):
        for each in value:
            _check(each)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a figure's specification has a number that is not finite")

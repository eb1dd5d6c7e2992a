"""A figure: plots in a grid with a caption below, as one Vega-Lite specification; and the formats of figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from losslake.figures import theme
from losslake.figures.layers import Plot
from losslake.figures.panel import PADDING, wrap
from losslake.figures.theme import Document

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
# Media types by the ending of the path. CSV has the rows that are drawn.
MEDIA_TYPES = {
    "vl.json": "application/vnd.vegalite.v6+json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
}
# The endings of rendered images.
IMAGES: dict[str, Literal["svg", "png", "pdf"]] = {"svg": "svg", "png": "png", "pdf": "pdf"}


def figure(
    plots: Sequence[Plot],
    columns: int = 1,
    caption: Sequence[str] = (),
    width: int = 400,
    shares_legend: bool = False,
    description: str = "",
) -> Document:
    """Return the specification of a grid of plots with a caption below.

    columns: of the grid. width: of the figure in px, for the lines of the caption. shares_legend: all plots have the
    same series. description: text alternative, for readers who don't see the figure.
    """
    resolved = "shared" if shares_legend else "independent"
    # Write rows that several layers share only once.
    rows = {id(layer.rows): layer.rows for plot in plots for layer in plot.layers}
    names = {key: f"rows-{place}" for place, key in enumerate(rows)}
    specification: Document = {
        "$schema": SCHEMA,
        "concat": [_plot(plot, names) for plot in plots],
        "columns": columns,
        "resolve": {"scale": {"color": resolved, "shape": resolved}},
        "datasets": {names[key]: each for key, each in rows.items()},
        "config": theme.configuration(),
    }
    if description:
        specification["description"] = description
    lines = wrap(caption, width - 2 * PADDING)
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


def _plot(plot: Plot, names: dict[int, str]) -> Document:
    """Return the specification of a plot. names: of datasets, by the identity of their rows."""
    layers = [
        {"data": {"name": names[id(layer.rows)]}, "mark": layer.mark, "encoding": layer.encoding}
        | ({"transform": list(layer.transforms)} if layer.transforms else {})
        for layer in plot.layers
    ]
    heading = {"text": list(plot.heading)} | ({"subtitle": plot.subtitle} if plot.subtitle else {})
    return {"layer": layers, "width": plot.width, "height": plot.height} | ({"title": heading} if plot.heading else {})


def to_json(specification: Document) -> bytes:
    """Return a specification as JSON; raises ValueError for NaN and infinity, which orjson would write as null."""
    try:
        json.dumps(specification, allow_nan=False)
    except ValueError:
        raise ValueError("a figure's specification has a number that is not finite") from None
    return orjson.dumps(specification)


@dataclass(frozen=True)
class Finished:
    """The output format of a figure that is already rendered. name: its ending."""

    name: str
    body: bytes

    @property
    def media_type(self) -> str:
        """The media type of the ending."""
        return MEDIA_TYPES[self.name]

    def encode(self, _: object) -> Iterator[bytes]:
        """Yield the bytes of the figure; the argument is ignored."""
        yield self.body

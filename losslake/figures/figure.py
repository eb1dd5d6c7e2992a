"""A figure: plots in a grid with a caption below, as one Vega-Lite specification; and the formats that it comes in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from losslake.figures import theme
from losslake.figures.layers import Plot
from losslake.figures.panel import PADDING, wrapped
from losslake.figures.theme import Document

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
MEDIA_TYPES = {
    "vl.json": "application/vnd.vegalite.v6+json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
}
"""By ending of the path; csv has the rows that are drawn."""
IMAGES: dict[str, Literal["svg", "png", "pdf"]] = {"svg": "svg", "png": "png", "pdf": "pdf"}
"""The endings that are rendered."""


def figure(
    plots: Sequence[Plot],
    columns: int = 1,
    caption: Sequence[str] = (),
    width: int = 400,
    shares_legend: bool = False,
    description: str = "",
) -> Document:
    """Return the specification of plots, row by row in so many columns, with the sentences of a caption below them.

    width: of the figure in px, for the lines of the caption. shares_legend: all plots have the same series.
    description: what is to be seen, for those who don't see it.
    """
    resolved = "shared" if shares_legend else "independent"
    # Rows that several layers draw are written once.
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
    lines = wrapped(caption, width - 2 * PADDING)
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
    """names: of rows, by their identity."""
    layers = [
        {"data": {"name": names[id(layer.rows)]}, "mark": layer.mark, "encoding": layer.encoding}
        | ({"transform": list(layer.transforms)} if layer.transforms else {})
        for layer in plot.layers
    ]
    heading = {"text": list(plot.heading)} | ({"subtitle": plot.subtitle} if plot.subtitle else {})
    return {"layer": layers, "width": plot.width, "height": plot.height} | ({"title": heading} if plot.heading else {})


def encoded(specification: Document) -> bytes:
    """Return a specification as JSON text; raises ValueError for NaN and infinity, which orjson would write as null."""
    try:
        json.dumps(specification, allow_nan=False)
    except ValueError:
        raise ValueError("a figure's specification has a number that is not finite") from None
    return orjson.dumps(specification)


@dataclass(frozen=True)
class Finished:
    """The format of a figure that is drawn already. name: its ending."""

    name: str
    body: bytes

    @property
    def media_type(self) -> str:
        return MEDIA_TYPES[self.name]

    def encode(self, _: object) -> Iterator[bytes]:
        """Yield the figure's bytes, whatever the answer."""
        yield self.body

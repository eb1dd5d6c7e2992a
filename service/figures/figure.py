"""A figure: panels in a grid with a caption below, as one Vega-Lite specification."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import altair as alt
import orjson

from service.figures import layout, theme
from service.figures.caption import wrapped
from service.figures.figure_formats import Document
from service.figures.layers import HeldRows, Row


def figure(
    panels: Sequence[alt.LayerChart | alt.Chart],
    columns: int = 1,
    caption: Sequence[str] = (),
    width: int = 400,
    shares_legend: bool = False,
) -> Document:
    """The specification of panels, row by row in so many columns, with the sentences of a caption below them.

    width: of the figure in px, for the lines of the caption. shares_legend: all panels have the same series.
    """
    resolved: Literal["shared", "independent"] = "shared" if shares_legend else "independent"
    datasets: dict[str, list[Row]] = {}
    specification: Document = {
        "$schema": alt.SCHEMA_URL,
        "concat": [_panel(panel, datasets) for panel in panels],
        "columns": columns,
        "resolve": {"scale": {"color": resolved, "shape": resolved}},
        "datasets": datasets,
        "config": theme.configuration(),
    }
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


def _panel(chart: alt.LayerChart | alt.Chart, datasets: dict[str, list[Row]]) -> Document:
    """A panel's own part of the specification; its rows are put among the datasets.

    Panels are put together here, since altair copies all layers of all panels several times to do it.
    """
    found: Document = chart.to_dict(validate=False)
    for name, held in found.pop("datasets", {}).items():
        datasets[name] = held.rows if isinstance(held, HeldRows) else held
    for name in ("$schema", "config"):
        found.pop(name, None)
    return found


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

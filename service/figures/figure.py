"""A figure: panels in a grid with a caption below, as one Vega-Lite specification."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import orjson

from service.figures import theme
from service.figures.caption import wrapped

Document = dict[str, Any]


def figure(
    panels: Sequence[alt.LayerChart | alt.Chart], columns: int = 1, caption: Sequence[str] = (), width: int = 400
) -> Document:
    """The specification of panels, row by row in so many columns, with the sentences of a caption below them.

    width: of the figure in px, for the lines of the caption.
    """
    grid = alt.concat(*panels, columns=columns).resolve_scale(color="independent", shape="independent")
    specification: Document = grid.to_dict(validate=False)
    specification["config"] = theme.configuration()
    lines = wrapped(caption, width)
    if lines:
        specification["title"] = {
            "text": lines,
            "orient": "bottom",
            "anchor": "start",
            "frame": "bounds",
            "fontSize": theme.CAPTION,
            "fontWeight": "normal",
            "color": theme.FAINT,
            "lineHeight": theme.CAPTION + 3,
            "offset": 8,
        }
    return specification


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

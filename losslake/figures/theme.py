"""How figures look, on a light and on a dark ground.

Colours that the colour-blind tell apart, shapes as a second cue, type that is read at 400 px.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

Document = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""
Theme = Literal["light", "dark"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito 2008, without the yellow, which white swallows, and those least alike first."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")
"""One more than there are colours, so that 56 series differ."""
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2))
ORDERED = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#9fda3a")
"""For series that have an order, such as batch sizes; viridis without its yellow."""
INK, FAINT, GRID = "#222222", "#6b6b6b", "#e6e6e6"
"""Text; lines and marks that explain; lines behind."""
GROUND, VEIL, EDGE, AXIS = "#ffffff", "#ffffffcc", "#bbbbbb", "#888888"
"""What all is drawn on; behind a legend within a plot; around a plot; the line of an axis."""
CONTOUR, NEUTRAL = "#c4c4c4", "#8a8a8a"
"""Lines of equal value; marks of what counts for nothing."""
SHADES = ("#b3d4ea", "#eeeeee", "#f6cdb0")
"""Behind the regimes: perfect scaling, diminishing returns, maximal data parallelism."""
DARK_COLOURS = ("#3d9ae8", "#f0763b", "#22c58f", "#e8a3cf", "#f2c21b", "#a5dcff", "#ffffff")
"""In place of COLOURS: of the same names, but lighter."""
DARK_ORDERED = ("#7a6fd0", "#5a86c9", "#3f9bb5", "#35b195", "#5fca6a", "#a5dc3d", "#fde725")
"""In place of ORDERED: without its dark end, with the yellow."""

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The first of them comes with the renderer, so that figures look alike on every machine."""
LABEL, EXPONENT, TITLE, HEADING, CAPTION = 11, 9, 12, 13, 9.5
"""Sizes of type in px: numbers at axes, their exponents, names of axes, the heading, the caption."""
CAPTION_LINE = CAPTION + 3
SPACING = 18
"""px between panels."""
POINT = 46
"""Area of a point in square px."""
_N_BETWEEN = 256


def configuration() -> Document:
    """Return Vega-Lite's `config` of every figure."""
    words = {"titleFontWeight": "normal", "labelColor": INK, "titleColor": INK}
    return {
        "background": GROUND,
        "font": FONT,
        "padding": 8,
        "view": {"stroke": EDGE},
        "title": {
            "fontSize": HEADING,
            "fontWeight": "bold",
            "color": INK,
            "anchor": "start",
            "offset": 8,
            "subtitleFontSize": LABEL,
            "subtitleColor": FAINT,
            "subtitlePadding": 3,
        },
        "axis": {
            "labelFontSize": LABEL,
            "titleFontSize": TITLE,
            **words,
            "gridColor": GRID,
            "domainColor": AXIS,
            "tickColor": AXIS,
            "titlePadding": 6,
        },
        "legend": {
            "labelFontSize": LABEL,
            "titleFontSize": LABEL,
            **words,
            "labelLimit": 340,
            "symbolSize": 60,
            "symbolOpacity": 1,
            "rowPadding": 3,
            "columnPadding": 12,
        },
        "concat": {"spacing": SPACING},
    }


def between(colours: Sequence[str]) -> list[str]:
    """Return the colours of a scale from its first to its last, so many that neighbours look alike."""
    channels = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours])
    places = np.linspace(0, len(colours) - 1, _N_BETWEEN)
    mixed = np.column_stack([np.interp(places, np.arange(len(colours)), channel) for channel in channels.T])
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in np.rint(mixed).astype(int).tolist()]


_BETWEEN = between(ORDERED)


def ordered(n: int) -> list[str]:
    """Return n of the ordered colours, evenly spaced, from dark to light."""
    return [_BETWEEN[place] for place in np.linspace(0, _N_BETWEEN - 1, n).round().astype(int).tolist()]


DARK = {
    GROUND: "#0f1419",
    VEIL: "#0f1419cc",
    INK: "#e6e9ec",
    FAINT: "#a8b2bd",
    GRID: "#262d36",
    AXIS: "#7d8894",
    EDGE: "#4b5560",
    CONTOUR: "#4b5560",
    NEUTRAL: "#98a2ad",
    **dict(zip(SHADES, ("#16405c", "#2a3038", "#5a3420"), strict=True)),
    **dict(zip(_BETWEEN, between(DARK_ORDERED), strict=True)),
    **dict(zip(COLOURS, DARK_COLOURS, strict=True)),
}
"""The colours of dark figures, by colour of a light one."""
_HOLD_COLOURS = frozenset(("color", "fill", "stroke", "background", "range", "value"))


def in_theme(specification: Document, theme: Theme) -> Document:
    """Return the specification with the colours of a theme; rows, titles and names of series stay as they are."""
    if theme == "light":
        return specification
    return {name: each if name == "datasets" else _dark(each, name) for name, each in specification.items()}


def _dark(value: Any, name: str) -> Any:
    """Return a value that stands under a name in the specification; items of a list stand under its name."""
    if isinstance(value, dict):
        return {key: _dark(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_dark(each, name) for each in value]
    if isinstance(value, str) and (name in _HOLD_COLOURS or name.endswith("Color")):
        return DARK.get(value, value)
    return value

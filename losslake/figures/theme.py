"""The light and the dark theme of figures.

Colours are distinguishable for colour-blind readers, shapes are a second cue, and text is legible at 400 px.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

# A Vega-Lite specification, or a part of one.
Document = dict[str, Any]
Theme = Literal["light", "dark"]

# The palette of Okabe and Ito 2008 without yellow, which is invisible on white; the most distinct colours first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# One more than there are colours, so that 56 series differ.
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2))
# For series that have an order, such as batch sizes; viridis without its yellow.
ORDERED = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#9fda3a")
# Colours of text, of secondary text and lines, and of grids.
INK, FAINT, GRID = "#222222", "#6b6b6b", "#e6e6e6"
# Colours of the background, behind a legend inside a plot, around a plot, and of axes.
GROUND, VEIL, EDGE, AXIS = "#ffffff", "#ffffffcc", "#bbbbbb", "#888888"
# Colours of contour lines, and of marks that don't count.
CONTOUR, NEUTRAL = "#c4c4c4", "#8a8a8a"
# Background colours of the regimes: perfect scaling, diminishing returns, maximal data parallelism.
SHADES = ("#b3d4ea", "#eeeeee", "#f6cdb0")
# The dark theme's COLOURS: the same hues, lighter.
DARK_COLOURS = ("#3d9ae8", "#f0763b", "#22c58f", "#e8a3cf", "#f2c21b", "#a5dcff", "#ffffff")
# The dark theme's ORDERED: without the dark end, with yellow.
DARK_ORDERED = ("#7a6fd0", "#5a86c9", "#3f9bb5", "#35b195", "#5fca6a", "#a5dc3d", "#fde725")

# The first font comes with the renderer, so figures are the same on every machine.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
# Font sizes in px of axis labels, axis titles, the heading and the caption.
LABEL, TITLE, HEADING, CAPTION = 11, 12, 13, 9.5
CAPTION_LINE = CAPTION + 3
# px between panels.
SPACING = 18
# px of a name in a legend below a figure; what is longer is cut.
LONGEST_LABEL = 340
# Area of a point in square px.
POINT = 46
_N_BETWEEN = 256


def configuration() -> Document:
    """Return the Vega-Lite `config` of every figure."""
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
            "labelLimit": LONGEST_LABEL,
            "symbolSize": 60,
            "symbolOpacity": 1,
            "rowPadding": 3,
            "columnPadding": 12,
        },
        "concat": {"spacing": SPACING},
    }


def between(colours: Sequence[str]) -> list[str]:
    """Return a scale interpolated from these colours."""
    channels = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours])
    places = np.linspace(0, len(colours) - 1, _N_BETWEEN)
    mixed = np.column_stack([np.interp(places, np.arange(len(colours)), channel) for channel in channels.T])
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in np.rint(mixed).astype(int).tolist()]


_BETWEEN = between(ORDERED)


def ordered(n: int) -> list[str]:
    """Return n of the ordered colours, evenly spaced, from dark to light."""
    return [_BETWEEN[place] for place in np.linspace(0, _N_BETWEEN - 1, n).round().astype(int).tolist()]


# The colours of the dark theme, by colour of the light theme.
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
_HOLD_COLOURS = frozenset(("color", "fill", "stroke", "background", "range", "value"))


def in_theme(specification: Document, theme: Theme) -> Document:
    """Return the specification with the colours of a theme; rows, titles and labels are unchanged."""
    if theme == "light":
        return specification
    return {name: each if name == "datasets" else _dark(each, name) for name, each in specification.items()}


def _dark(value: Any, name: str) -> Any:
    """Return a value of the specification with dark colours. name: its key; that of the list for items."""
    if isinstance(value, dict):
        return {key: _dark(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_dark(each, name) for each in value]
    if isinstance(value, str) and (name in _HOLD_COLOURS or name.endswith("Color")):
        return DARK.get(value, value)
    return value

"""How figures look: colours that the colour-blind tell apart, shapes as a second cue, type that is read at 400 px."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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


def between(colours: Sequence[str]) -> list[str]:
    """The colours of a scale from its first to its last, so many that neighbours look alike."""
    channels = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours])
    places = np.linspace(0, len(colours) - 1, _N_BETWEEN)
    mixed = np.column_stack([np.interp(places, np.arange(len(colours)), channel) for channel in channels.T])
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in np.rint(mixed).astype(int).tolist()]


_BETWEEN = between(ORDERED)


def ordered(n: int) -> list[str]:
    """So many colours of the ordered ones, evenly, from dark to light."""
    return [_BETWEEN[place] for place in np.linspace(0, _N_BETWEEN - 1, n).round().astype(int).tolist()]


def configuration() -> dict[str, Any]:
    """Vega-Lite's `config` of every figure."""
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
            "titleFontWeight": "normal",
            "labelColor": INK,
            "titleColor": INK,
            "gridColor": GRID,
            "domainColor": AXIS,
            "tickColor": AXIS,
            "titlePadding": 6,
        },
        "legend": {
            "labelFontSize": LABEL,
            "titleFontSize": LABEL,
            "titleFontWeight": "normal",
            "labelColor": INK,
            "titleColor": INK,
            "labelLimit": 340,
            "symbolSize": 60,
            "symbolOpacity": 1,
            "rowPadding": 3,
            "columnPadding": 12,
        },
        "concat": {"spacing": SPACING},
    }

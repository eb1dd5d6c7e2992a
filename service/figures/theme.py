"""How figures look: colours that the colour-blind tell apart, shapes as a second cue, type that is read at 400 px."""

from __future__ import annotations

from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito 2008, without the yellow, which white swallows, and those least alike first."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")
"""One more than there are colours, so that 56 series differ."""
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2))
ORDERED = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#9fda3a")
"""For series that have an order, such as batch sizes; viridis without its yellow."""
INK, FAINT, GRID = "#222222", "#6b6b6b", "#e6e6e6"
"""Text; lines and marks that explain; lines behind."""
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


def configuration() -> dict[str, Any]:
    """Vega-Lite's `config` of every figure."""
    return {
        "background": "#ffffff",
        "font": FONT,
        "padding": 8,
        "view": {"stroke": "#bbbbbb"},
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
            "domainColor": "#888888",
            "tickColor": "#888888",
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

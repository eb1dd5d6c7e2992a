"""Figures on a dark ground: the same specification, each colour in place of another."""

from __future__ import annotations

from typing import Any, Literal

from losslake.figures import theme
from losslake.figures.formats import Document

Theme = Literal["light", "dark"]
GROUND = "#0f1419"
COLOURS = ("#3d9ae8", "#f0763b", "#22c58f", "#e8a3cf", "#f2c21b", "#a5dcff", "#ffffff")
"""In place of theme.COLOURS: of the same names, but lighter."""
ORDERED = ("#7a6fd0", "#5a86c9", "#3f9bb5", "#35b195", "#5fca6a", "#a5dc3d", "#fde725")
"""In place of theme.ORDERED: without its dark end, with the yellow."""
INK, FAINT, GRID = "#e6e9ec", "#a8b2bd", "#262d36"
SHADES = ("#16405c", "#2a3038", "#5a3420")

DARK = {
    theme.GROUND: GROUND,
    theme.VEIL: "#0f1419cc",
    theme.INK: INK,
    theme.FAINT: FAINT,
    theme.GRID: GRID,
    theme.AXIS: "#7d8894",
    theme.EDGE: "#4b5560",
    theme.CONTOUR: "#4b5560",
    theme.NEUTRAL: "#98a2ad",
    **dict(zip(theme.SHADES, SHADES, strict=True)),
    **dict(zip(theme.between(theme.ORDERED), theme.between(ORDERED), strict=True)),
    **dict(zip(theme.COLOURS, COLOURS, strict=True)),
}
"""By colour of a light figure."""
_HOLD_COLOURS = frozenset(("color", "fill", "stroke", "background", "range", "value"))


def in_theme(specification: Document, wanted: Theme) -> Document:
    """The specification on the ground that is wanted; rows, titles and the names of series are left as they are."""
    if wanted == "light":
        return specification
    return {name: each if name == "datasets" else _dark(each, name) for name, each in specification.items()}


def _dark(value: Any, name: str) -> Any:
    """A value that stands under a name in the specification; lists hold what their own name says."""
    if isinstance(value, dict):
        return {key: _dark(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_dark(each, name) for each in value]
    if isinstance(value, str) and (name in _HOLD_COLOURS or name.endswith("Color")):
        return DARK.get(value, value)
    return value

"""Channels: which field of its row a mark shows, and how. Each is a part of Vega-Lite's `encoding`."""

from __future__ import annotations

from typing import Any

Channel = dict[str, Any]


def quantity(field: str, **how: Any) -> Channel:
    """A field of numbers. how: its scale, its axis."""
    return {"field": field, "type": "quantitative", **how}


def category(field: str, **how: Any) -> Channel:
    """A field of names, or of numbers that stand for themselves. how: its scale, its legend."""
    return {"field": field, "type": "nominal", **how}


def px(place: float) -> Channel:
    """A place in px from the plot's upper left corner, for every row the same."""
    return {"value": place}


def told(field: str, title: str, form: str | None = None) -> Channel:
    """A line of a tooltip: a field of all rows under a title. form: of numbers, as d3-format has it; None: as it is."""
    if form is None:
        return category(field, title=title)
    return quantity(field, title=title, format=form)


COUNT, DECIMAL = ",", ".6~g"
"""Forms of numbers in tooltips."""

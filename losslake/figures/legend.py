"""Colours and shapes of series, and the legend that names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from losslake.figures import theme
from losslake.figures.channels import Channel, category
from losslake.figures.layout import legend_columns
from losslake.figures.panel import Panel


def colours(labels: Sequence[str], panel: Panel, is_ordered: bool = False) -> Channel:
    """A colour for each series, in the order given, and their legend; is_ordered: from dark to light."""
    return category("series", scale=colour_scale(labels, is_ordered), legend=legend(labels, panel))


def colour_scale(labels: Sequence[str], is_ordered: bool = False) -> dict[str, Any]:
    """A colour for each series, in the order given; is_ordered: from dark to light."""
    range_ = theme.ordered(len(labels)) if is_ordered else _as_many(theme.COLOURS, labels)
    return {"domain": list(labels), "range": range_}


def shapes(labels: Sequence[str], panel: Panel) -> Channel:
    """A shape for each series, in the order given; shares the legend of its colour."""
    scale = {"domain": list(labels), "range": _as_many(theme.SHAPES, labels)}
    return category("series", scale=scale, legend=legend(labels, panel))


def legend(labels: Sequence[str], panel: Panel) -> dict[str, Any] | None:
    """The names of the series; None for one without a name."""
    if panel.legend == "none" or list(labels) in ([], [""]):
        return None
    if panel.legend != "bottom":
        return {"title": None, "orient": panel.legend, "fillColor": theme.VEIL, "padding": 3}
    columns = legend_columns(labels, panel.width)
    return {"title": None, "orient": "bottom", "direction": "horizontal", "columns": columns}


def _as_many(choices: Sequence[str], labels: Sequence[str]) -> list[str]:
    return [choices[index % len(choices)] for index in range(len(labels))]

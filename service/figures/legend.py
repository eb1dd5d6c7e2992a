"""Colours and shapes of series, and the legend that names them."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from service.figures import theme
from service.figures.panel import Panel

_PX_A_LETTER = 6.0
_PX_A_SYMBOL = 32


def colours(labels: Sequence[str], panel: Panel) -> alt.Color:
    """A colour for each series, in the order given."""
    return alt.Color(
        "series:N",
        scale=alt.Scale(domain=list(labels), range=_as_many(theme.COLOURS, labels)),
        legend=legend(labels, panel),
    )


def shapes(labels: Sequence[str], panel: Panel) -> alt.Shape:
    """A shape for each series, in the order given; shares the legend of its colour."""
    return alt.Shape(
        "series:N",
        scale=alt.Scale(domain=list(labels), range=_as_many(theme.SHAPES, labels)),
        legend=legend(labels, panel),
    )


def legend(labels: Sequence[str], panel: Panel) -> alt.Legend | None:
    """The names of the series; None for one without a name."""
    if panel.legend == "none" or list(labels) in ([], [""]):
        return None
    if panel.legend != "bottom":
        return alt.Legend(title=None, orient=panel.legend, fillColor="#ffffffcc", padding=3)
    return alt.Legend(title=None, orient="bottom", direction="horizontal", columns=legend_columns(labels, panel.width))


def legend_columns(labels: Sequence[str], width: int) -> int:
    """How many names go side by side within that width."""
    widest = max((len(label) for label in labels), default=0) * _PX_A_LETTER + _PX_A_SYMBOL
    return max(1, min(len(labels), int(width // widest)))


def _as_many(choices: Sequence[str], labels: Sequence[str]) -> list[str]:
    return [choices[index % len(choices)] for index in range(len(labels))]

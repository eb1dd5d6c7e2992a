"""Ratio: the steps of workloads over those of a baseline by batch size, both axes in powers of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from losslake.figures import theme
from losslake.figures.axes import log_limits, power_labels
from losslake.figures.channels import COUNT, quantity, told
from losslake.figures.charts.frame import Frame, Scale
from losslake.figures.charts.number_labels import y_number_labels
from losslake.figures.layers import Layer, Plot, Row, layer, layered, words
from losslake.figures.links import Links, Transform
from losslake.figures.panel import Limits, Panel, Series, rows_of

_WIDEST_BAR = 4.0
"""A bar may make the axis reach so many times farther than the ratios; a longer one is cut at the edge."""
_SPREAD, _MOST_SPREAD = 0.1, 0.4
"""Of series side by side: powers of two from one to the next, and from the first to the last."""
_FROM_EDGE, _TO_NEXT = 11, 17
"""px, of the first arrow from the edge, and from one to the next."""
_ARROW = 110
"""Area of an arrow in square px."""
_ARROWS = {
    "top": "M0,-1.1L0.9,0L0.4,0L0.4,1.1L-0.4,1.1L-0.4,0L-0.9,0Z",
    "bottom": "M0,1.1L0.9,0L0.4,0L0.4,-1.1L-0.4,-1.1L-0.4,0L-0.9,0Z",
}
"""Outlines by the edge they point to; triangles are marks of series."""


def ratio_chart(series: Sequence[Series], panel: Panel, *, baseline: str, links: Links | None = None) -> Plot:
    """Ratios by batch size with a rule at 1, which is the baseline; bars from lower to upper.

    series: rows with batch_size; ratio, null where there is none; lower and upper, null where the bar has no end, lower
    as well where there is no bar; is_told, whether the difference is, which fills the mark; edge: top where only the
    baseline reaches the target, bottom where only this one does, else null. baseline: its label; it is no series here.
    links: to the studies.
    """
    labels = [one.label for one in series]
    others = [label for label in labels if label != baseline]
    drawn = [row | {"at": _beside(row["batch_size"], others, row["series"])} for row in rows_of(series, _COLUMNS)]
    points = [row for row in drawn if "ratio" in row]
    edges = [row for row in drawn if "edge" in row and "ratio" not in row]
    x_limits = panel.x_limits or log_limits(row["batch_size"] for row in drawn)
    y_limits = panel.y_limits or _y_limits(points)
    x, y = Scale("at", x_limits, "Batch size"), Scale("ratio", y_limits, "Ratio of steps")
    frame = Frame(panel, x, y, labels)
    linked = links.to_studies(series) if links else None
    layers = [
        _rule(baseline if points or edges else "", frame, x_limits),
        _bars(points, frame, y_limits),
        layer(points, "line", frame.place | frame.colour, strokeWidth=1, strokeOpacity=0.6, clip=True),
        *_points(points, frame, linked),
        *_edges(edges, frame, linked),
    ]
    if not points and not edges:
        layers.append(words("There is no batch size to compare at.", panel))
    return layered([*layers, *power_labels(panel, x_limits, None), y_number_labels(panel, y_limits)], panel)


_COLUMNS = ("batch_size", "ratio", "lower", "upper", "is_told", "edge")
_TOOLTIP = [
    told("batch_size", "Batch size", COUNT),
    told("ratio", "Ratio of steps", ".3~g"),
    told("lower", "Bar from", ".3~g"),
    told("upper", "Bar to", ".3~g"),
]


def _beside(batch_size: int, labels: Sequence[str], label: str) -> float:
    """Where a series has its mark: those of one batch size stand side by side."""
    n = len(labels) - 1
    step = min(_SPREAD, _MOST_SPREAD / max(n, 1))
    return float(batch_size * 2 ** (step * (labels.index(label) - n / 2)))


def _y_limits(points: Sequence[Row]) -> Limits:
    """Around the ratios and most of their bars; from one half to twice at least."""
    ratios = [float(row["ratio"]) for row in points]
    low, high = min(ratios, default=1.0) / _WIDEST_BAR, max(ratios, default=1.0) * _WIDEST_BAR
    ends = [min(max(row[name], low), high) for row in points for name in ("lower", "upper") if row.get(name)]
    return log_limits([0.5, 2.0, *ratios, *ends], margin=0.35)


def _rule(baseline: str, frame: Frame, limits: Limits) -> Layer:
    """At a ratio of 1, in the colour of the baseline."""
    ends = [{"series": baseline, "at": at, "ratio": 1} for at in limits] if baseline else []
    return layer(ends, "line", frame.place | frame.colour, strokeWidth=1.6, clip=True)


def _bars(points: Sequence[Row], frame: Frame, limits: Limits) -> Layer:
    low, high = limits
    rows = [
        row | {"from": max(row["lower"], low), "to": min(row.get("upper", high), high)}
        for row in points
        if "lower" in row
    ]
    ends = {"x": frame.x, "y": frame.y_of("from"), "y2": {"field": "to"}} | frame.colour
    return layer(rows, "rule", ends, strokeWidth=1.6, strokeOpacity=0.55, clip=True)


def _points(points: Sequence[Row], frame: Frame, linked: Transform | None) -> list[Layer]:
    marks = frame.place | frame.colour | frame.shape | frame.tooltip(_TOOLTIP)
    open_, filled = ([row for row in points if bool(row.get("is_told")) is flag] for flag in (False, True))
    return [
        layer(rows, "point", marks, **_style(is_filled)).linked(linked)
        for rows, is_filled in ((open_, False), (filled, True))
    ]


def _edges(edges: Sequence[Row], frame: Frame, linked: Transform | None) -> list[Layer]:
    """Arrows that point to where the ratio would be, those of one batch size beyond each other."""
    found = []
    y = quantity("down", scale=None, axis=None)
    marks = {"x": frame.x, "y": y} | frame.colour | frame.tooltip(_TOOLTIP[:1])
    for edge, shape in _ARROWS.items():
        labels = list(dict.fromkeys(row["series"] for row in edges if row["edge"] == edge))
        for is_told in (False, True):
            rows: list[Row] = []
            for row in edges:
                if row["edge"] == edge and bool(row.get("is_told")) is is_told:
                    away = _FROM_EDGE + _TO_NEXT * labels.index(row["series"])
                    rows.append(row | {"down": away if edge == "top" else frame.panel.height - away})
            if rows:
                found.append(layer(rows, "point", marks, shape=shape, **_style(is_told, _ARROW)).linked(linked))
    return found


def _style(is_filled: bool, size: float = theme.POINT) -> dict[str, Any]:
    style: dict[str, Any] = {"size": size, "opacity": 1, "strokeWidth": 1.6, "clip": True, "filled": is_filled}
    return style if is_filled else style | {"fill": theme.GROUND}

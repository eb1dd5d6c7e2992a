"""Ratio: the steps of workloads over those of a baseline by batch size, both axes in powers of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from losslake.figures import theme
from losslake.figures.axes import Scale, log_limits
from losslake.figures.drawing import Drawing, Drawn, Kind, goal_text
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, Layer, Plot, layer, quantity, tip
from losslake.figures.links import Transform
from losslake.figures.panel import Limits, Panel, Row, Series, rows_of
from losslake.questions.wording import at_sizes
from losslake.questions.workload_facts import workload_labels

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
_COLUMNS = {
    "batch_size": pa.int64(),
    "ratio": pa.float64(),
    "lower": pa.float64(),
    "upper": pa.float64(),
    "is_told": pa.bool_(),
    "edge": pa.string(),
}
_TOOLTIP = [
    BATCH_SIZE,
    tip("ratio", "Ratio of steps", ".3~g"),
    tip("lower", "Bar from", ".3~g"),
    tip("upper", "Bar to", ".3~g"),
]


def draw(drawing: Drawing) -> Drawn:
    """The steps to a target over those of a baseline, by batch size, with ranges and a rule at 1.

    A series for each workload but the baseline.
    """
    facts = drawing.facts
    labels = workload_labels(facts["workloads"])
    rows = drawing.rows.to_pylist()
    base = {row["batch_size"]: row for row in rows if row["workload"] == facts["baseline"]}
    of_workloads = {name: [row for row in rows if row["workload"] == name] for name in labels.own}
    of_workloads[facts["baseline"]] = []
    series = [Series(label, _placed(of_workloads[name], base), name) for name, label in labels.own.items()]
    baseline = labels.own[facts["baseline"]]
    explained = _explained(series, baseline, _neither(rows, base))
    title = f"Steps to {goal_text(facts)}"
    names = [one.label for one in series] if len(series) > 1 else []
    panel = drawing.panel(f"{title}, relative to {baseline}" if baseline else title, labels.common, names, explained)
    return Drawn([ratio_chart(series, panel, baseline=baseline)], explained)


KIND = Kind("ratio", "/v1/analysis/compare", draw)


def ratio_chart(series: Sequence[Series], panel: Panel, *, baseline: str) -> Plot:
    """Return ratios by batch size with a rule at 1, which is the baseline; bars from lower to upper.

    series: rows with batch_size; ratio, null where there is none; lower and upper, null where the bar has no end, lower
    as well where there is no bar; is_told, whether the difference is, which fills the mark; edge: top where only the
    baseline reaches the target, bottom where only this one does, else null. baseline: its label; it is no series here.
    """
    labels = [one.label for one in series]
    others = [label for label in labels if label != baseline]
    drawn = [row | {"at": _beside(row["batch_size"], others, row["series"])} for row in rows_of(series, _COLUMNS)]
    points = [row for row in drawn if "ratio" in row]
    edges = [row for row in drawn if "edge" in row and "ratio" not in row]
    x_limits = panel.x_limits or log_limits(row["batch_size"] for row in drawn)
    y_limits = panel.y_limits or _y_limits(points)
    x, y = Scale("at", x_limits, "Batch size"), Scale("ratio", y_limits, "Ratio of steps", has_numbers=True)
    frame = Frame(panel, x, y, labels)
    linked = panel.to_studies(series)
    # The rule at 1 is in the colour of the baseline.
    rule = [{"series": baseline, "at": at, "ratio": 1} for at in x_limits] if baseline and (points or edges) else []
    marks = frame.place | frame.colour | frame.shape | frame.tooltip(_TOOLTIP)
    layers = [
        frame.lines(rule),
        _bars(points, frame),
        layer(points, "line", frame.place | frame.colour, strokeWidth=1, strokeOpacity=0.6, clip=True),
        *(_marks(_told(points, is_told), marks, is_told, linked) for is_told in (False, True)),
        *_edges(edges, frame, linked),
    ]
    return frame.plot(layers, "" if points or edges else "There is no batch size to compare at.")


def _beside(batch_size: int, labels: Sequence[str], label: str) -> float:
    """Return where a series has its mark: those of one batch size stand side by side."""
    n = len(labels) - 1
    step = min(_SPREAD, _MOST_SPREAD / max(n, 1))
    return float(batch_size * 2 ** (step * (labels.index(label) - n / 2)))


def _y_limits(points: Sequence[Row]) -> Limits:
    """Return limits around the ratios and most of their bars; from one half to twice at least."""
    ratios = [float(row["ratio"]) for row in points]
    low, high = min(ratios, default=1.0) / _WIDEST_BAR, max(ratios, default=1.0) * _WIDEST_BAR
    ends = [min(max(row[name], low), high) for row in points for name in ("lower", "upper") if row.get(name)]
    return log_limits([0.5, 2.0, *ratios, *ends], margin=0.35)


def _bars(points: Sequence[Row], frame: Frame) -> Layer:
    low, high = frame.y_axis.limits
    rows = [
        row | {"from": max(row["lower"], low), "to": min(row.get("upper", high), high)}
        for row in points
        if "lower" in row
    ]
    ends = {"x": frame.x, "y": frame.y_of("from"), "y2": {"field": "to"}} | frame.colour
    return layer(rows, "rule", ends, strokeWidth=1.6, strokeOpacity=0.55, clip=True)


def _edges(edges: Sequence[Row], frame: Frame, linked: Transform | None) -> list[Layer]:
    """Return arrows that point to where the ratio would be, those of one batch size beyond each other."""
    layers: list[Layer] = []
    marks = {"x": frame.x, "y": quantity("down", scale=None, axis=None)} | frame.colour | frame.tooltip([BATCH_SIZE])
    for edge, shape in _ARROWS.items():
        own = [row for row in edges if row["edge"] == edge]
        labels = list(dict.fromkeys(row["series"] for row in own))
        aways = [_FROM_EDGE + _TO_NEXT * labels.index(row["series"]) for row in own]
        downs = aways if edge == "top" else [frame.panel.height - away for away in aways]
        rows = [row | {"down": down} for row, down in zip(own, downs, strict=True)]
        layers += [
            _marks(told, marks, is_told, linked, _ARROW, shape=shape)
            for is_told in (False, True)
            if (told := _told(rows, is_told))
        ]
    return layers


def _told(rows: Sequence[Row], is_told: bool) -> list[Row]:
    return [row for row in rows if bool(row.get("is_told")) is is_told]


def _marks(
    rows: Sequence[Row],
    marks: Mapping[str, Any],
    is_filled: bool,
    linked: Transform | None,
    size: float = theme.POINT,
    **shape: str,
) -> Layer:
    """Return marks that are filled with their colour, or else with the ground."""
    style = {"size": size, "opacity": 1, "strokeWidth": 1.6, "clip": True, "filled": is_filled}
    ground = {} if is_filled else {"fill": theme.GROUND}
    return layer(rows, "point", marks, **shape, **style, **ground).linked(linked)


def _placed(rows: Sequence[Row], base: Mapping[int, Row]) -> pa.Table:
    """Return rows of a workload with the columns of the chart, as far as the baseline has that batch size."""
    placed = [
        {
            "batch_size": row["batch_size"],
            "ratio": row["steps_ratio"] or None,
            "lower": row["steps_ratio_lower"],
            "upper": row["steps_ratio_upper"],
            "is_told": row["difference"] in ("fewer", "more"),
            "edge": _edge(row["median_steps"], base[row["batch_size"]]["median_steps"]),
        }
        for row in rows
        if row["batch_size"] in base
    ]
    return pa.Table.from_pylist(placed, pa.schema(_COLUMNS))


def _edge(steps: int | None, baseline: int | None) -> str | None:
    """Return where the mark of one is that has no ratio, since only one of both reaches the target."""
    if (steps is None) == (baseline is None):
        return None
    return "top" if steps is None else "bottom"


def _neither(rows: Sequence[Row], base: Mapping[int, Row]) -> str:
    """Return the batch sizes at which no workload reaches the target, in words; empty without any."""
    reached = {row["batch_size"] for row in rows if row["median_steps"] is not None}
    never = [size for size in base if size not in reached]
    return at_sizes(never, sorted(base)) if never else ""


def _explained(series: Sequence[Series], baseline: str, neither: str) -> list[str]:
    """Return what the marks mean, with the names."""
    others = [one.label for one in series if one.label != baseline]
    if not others:
        return ["There is but one workload."]
    one = others[0] if len(others) == 1 else ""
    fewer = f"{one} takes fewer steps" if one else "fewer steps"
    explained = [
        f"Below 1: {fewer} than {baseline}; above 1: more.",
        "Bars: 90% of draws of half of the trials. Filled: the difference is told; open: it may be chance.",
    ]
    edges = {edge for each in series for edge in each.rows["edge"].to_pylist()}
    if "top" in edges:
        explained.append(f"Arrows at the top: {'only ' if one else 'of these, only '}{baseline} reaches the target.")
    if "bottom" in edges:
        alone = f"only {one} reaches the target" if one else f"{baseline} does not reach the target"
        explained.append(f"Arrows at the bottom: {alone}.")
    if neither:
        explained.append(f"At {neither} none reaches the target.")
    return explained

"""Ratio: the steps of workloads relative to a baseline by batch size, on axes in powers of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from losslake.analysis.measured_levels import stated
from losslake.figures import theme
from losslake.figures.axes import Scale, log_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, goal_text
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, Layer, Plot, layer, quantity, tip
from losslake.figures.links import Transform
from losslake.figures.panel import ChartRow, Limits, Panel, Series, drawable_rows
from losslake.questions.release.workload_facts import workload_labels
from losslake.questions.trials.batch_size_words import at_sizes
from losslake.questions.trials.step_amounts import measure_noun
from losslake_schema.quantities import capitalized

# The factor by which bars may extend the axis beyond the ratios; longer bars are clipped.
_WIDEST_BAR = 4.0
# Spacing of series side by side, in powers of two: between neighbours, and at most in all.
_SPREAD, _MOST_SPREAD = 0.1, 0.4
# px from the edge to the first arrow, and from one arrow to the next.
_FROM_EDGE, _TO_NEXT = 11, 17
# Area of an arrow in square px.
_ARROW = 110
# Outlines of arrows by the edge they point to, distinct from the triangles of series.
_ARROWS = {
    "top": "M0,-1.1L0.9,0L0.4,0L0.4,1.1L-0.4,1.1L-0.4,0L-0.9,0Z",
    "bottom": "M0,1.1L0.9,0L0.4,0L0.4,-1.1L-0.4,-1.1L-0.4,0L-0.9,0Z",
}
_COLUMNS = {
    "batch_size": pa.int64(),
    "ratio": pa.float64(),
    "lower": pa.float64(),
    "upper": pa.float64(),
    "is_clear": pa.bool_(),
    "edge": pa.string(),
}
_BAR = [tip("lower", "Bar from", ".3~g"), tip("upper", "Bar to", ".3~g")]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the steps to a target relative to a baseline, by batch size, with ranges and a line at 1.

    A series for each workload but the baseline.
    """
    facts = request.facts
    labels = workload_labels(facts["workloads"])
    rows = request.rows.to_pylist()
    base = {row["batch_size"]: row for row in rows if row["workload"] == facts["baseline"]}
    of_workloads = {name: [row for row in rows if row["workload"] == name] for name in labels.short}
    of_workloads[facts["baseline"]] = []
    series = [Series(label, _placed(of_workloads[name], base), name) for name, label in labels.short.items()]
    baseline = labels.short[facts["baseline"]]
    noun = measure_noun(facts["measure"])
    notes = [*_notes(series, baseline, _neither(rows, base), noun), *request.measure_notes]
    title = f"{capitalized(noun)} to {goal_text(facts)}"
    names = [one.label for one in series] if len(series) > 1 else []
    panel = request.panel(
        f"{title}, relative to {baseline}" if baseline else title, labels.common, names, notes, has_ends=True
    )
    return ChartPanels([ratio_chart(series, panel, baseline=baseline, noun=noun)], notes)


KIND = Kind("ratio", "/v1/analysis/compare", draw)


def ratio_chart(series: Sequence[Series], panel: Panel, *, baseline: str, noun: str = "steps") -> Plot:
    """Return ratios by batch size with a line at 1 for the baseline, and bars from lower to upper.

    series: rows with batch_size; ratio, null if there is none; lower and upper, null if the bar has no such end, both
    null if there is no bar; is_clear: the difference is clear, so the mark is filled; edge: top if only the baseline
    reaches the target, bottom if only this workload does, else null. baseline: its label; it has no marks. noun: what
    is counted.
    """
    labels = [one.label for one in series]
    others = [label for label in labels if label != baseline]
    drawn = [row | {"at": _beside(row["batch_size"], others, row["series"])} for row in drawable_rows(series, _COLUMNS)]
    points = [row for row in drawn if "ratio" in row]
    edges = [row for row in drawn if "edge" in row and "ratio" not in row]
    x_limits = panel.x_limits or log_limits(row["batch_size"] for row in drawn)
    y_limits = panel.y_limits or _y_limits(points)
    x, y = Scale("at", x_limits, panel.batch_title), Scale("ratio", y_limits, f"Ratio of {noun}")
    frame = Frame(panel, x, y, labels)
    linked = panel.link_to("studies", series)
    # The line at 1 has the colour of the baseline.
    rule = [{"series": baseline, "at": at, "ratio": 1} for at in x_limits] if baseline and (points or edges) else []
    marks = (
        frame.place
        | frame.colour
        | frame.shape
        | frame.tooltip([BATCH_SIZE, tip("ratio", f"Ratio of {noun}", ".3~g"), *_BAR])
    )
    layers = [
        frame.lines(rule),
        _bars(points, frame),
        layer(points, "line", frame.place | frame.colour, strokeWidth=1, strokeOpacity=0.6, clip=True),
        *(_marks(_by_clarity(points, is_clear), marks, is_clear, linked) for is_clear in (False, True)),
        *_edges(edges, frame, linked),
        *frame.names([*points, *rule]),
    ]
    return frame.plot(layers, "" if points or edges else "There is no batch size to compare at.")


def _beside(batch_size: int, labels: Sequence[str], label: str) -> float:
    """Return the position of a series' mark: the marks of one batch size are side by side."""
    n = len(labels) - 1
    step = min(_SPREAD, _MOST_SPREAD / max(n, 1))
    return float(batch_size * 2 ** (step * (labels.index(label) - n / 2)))


def _y_limits(points: Sequence[ChartRow]) -> Limits:
    """Return limits around the ratios and most of their bars, at least from 1/2 to 2."""
    ratios = [float(row["ratio"]) for row in points]
    low, high = min(ratios, default=1.0) / _WIDEST_BAR, max(ratios, default=1.0) * _WIDEST_BAR
    ends = [min(max(row[name], low), high) for row in points for name in ("lower", "upper") if row.get(name)]
    return log_limits([0.5, 2.0, *ratios, *ends], margin=0.35)


def _bars(points: Sequence[ChartRow], frame: Frame) -> Layer:
    low, high = frame.y_axis.limits
    rows = [
        row | {"from": max(row["lower"], low), "to": min(row.get("upper", high), high)}
        for row in points
        if "lower" in row
    ]
    return frame.bars(rows, "from", "to")


def _edges(edges: Sequence[ChartRow], frame: Frame, linked: Transform | None) -> list[Layer]:
    """Return arrows that point to where the ratio would be, stacked where a batch size has several."""
    layers: list[Layer] = []
    marks = {"x": frame.x, "y": quantity("down", scale=None, axis=None)} | frame.colour | frame.tooltip([BATCH_SIZE])
    for edge, shape in _ARROWS.items():
        at_edge = [row for row in edges if row["edge"] == edge]
        labels = list(dict.fromkeys(row["series"] for row in at_edge))
        aways = [_FROM_EDGE + _TO_NEXT * labels.index(row["series"]) for row in at_edge]
        downs = aways if edge == "top" else [frame.panel.height - away for away in aways]
        rows = [row | {"down": down} for row, down in zip(at_edge, downs, strict=True)]
        layers += [
            _marks(group, marks, is_clear, linked, _ARROW, shape=shape)
            for is_clear in (False, True)
            if (group := _by_clarity(rows, is_clear))
        ]
    return layers


def _by_clarity(rows: Sequence[ChartRow], is_clear: bool) -> list[ChartRow]:
    return [row for row in rows if bool(row.get("is_clear")) is is_clear]


def _marks(
    rows: Sequence[ChartRow],
    marks: Mapping[str, Any],
    is_filled: bool,
    linked: Transform | None,
    size: float = theme.POINT,
    **shape: str,
) -> Layer:
    """Return a layer of marks, filled with their colour or with the background."""
    style = {"size": size, "opacity": 1, "strokeWidth": 1.6, "clip": True, "filled": is_filled}
    ground = {} if is_filled else {"fill": theme.GROUND}
    return layer(rows, "point", marks, **shape, **style, **ground).linked(linked)


def _placed(rows: Sequence[ChartRow], base: Mapping[int, ChartRow]) -> pa.Table:
    """Return the rows of a workload with the columns of the chart, at the batch sizes of the baseline."""
    placed = [
        {
            "batch_size": row["batch_size"],
            "ratio": row["ratio"] or None,
            "lower": row["ratio_lower"],
            "upper": row["ratio_upper"],
            "is_clear": row["difference"] in ("fewer", "more"),
            "edge": _edge(row["median_amount"], base[row["batch_size"]]["median_amount"]),
        }
        for row in rows
        if row["batch_size"] in base
    ]
    return pa.Table.from_pylist(placed, pa.schema(_COLUMNS))


def _edge(steps: int | None, baseline: int | None) -> str | None:
    """Return the edge of the mark if only one of both reaches the target, so that there is no ratio; else None."""
    if (steps is None) == (baseline is None):
        return None
    return "top" if steps is None else "bottom"


def _neither(rows: Sequence[ChartRow], base: Mapping[int, ChartRow]) -> str:
    """Return the batch sizes at which no workload reaches the target, in words; empty without any."""
    reached = {row["batch_size"] for row in rows if row["median_amount"] is not None}
    never = [size for size in base if size not in reached]
    return at_sizes(never, sorted(base)) if never else ""


def _notes(series: Sequence[Series], baseline: str, neither: str, noun: str) -> list[str]:
    """Return the notes on the marks."""
    others = [one.label for one in series if one.label != baseline]
    if not others:
        return ["There is only one workload."]
    one = others[0] if len(others) == 1 else ""
    fewer = f"{one} takes fewer {noun}" if one else f"fewer {noun}"
    notes = [
        f"Below 1: {fewer} than {baseline}; above 1: more.",
        (
            f"Bars: {stated('compare half')} of draws of half the settings. Filled: a difference, each with a "
            f"{stated('compare differs')} chance of error; open: it may be chance."
        ),
    ]
    edges = {edge for each in series for edge in each.rows["edge"].to_pylist()}
    if "top" in edges:
        notes.append(f"Arrows at the top: {'only ' if one else 'of these, only '}{baseline} reaches the target.")
    if "bottom" in edges:
        alone = f"only {one} reaches the target" if one else f"{baseline} does not reach the target"
        notes.append(f"Arrows at the bottom: {alone}.")
    if neither:
        notes.append(f"At {neither} none of them reaches the target.")
    return notes

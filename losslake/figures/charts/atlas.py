"""The atlas: a forest plot of critical batch sizes with their intervals, a line of text for each workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from losslake.analysis.measured_levels import stated
from losslake.figures import theme
from losslake.figures.axes import Scale, decade_limits
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind
from losslake.figures.frame import Frame
from losslake.figures.layers import DECIMAL, Layer, Plot, category, layer, px, quantity, tip
from losslake.figures.panel import ChartRow, Panel
from losslake.questions.release.known_names import collection_name, display_name
from losslake_schema.names import Workload

# px of a line, of a letter, between names, plot and numbers, and of the vertical axis that other charts have.
_LINE, _LETTER, _GAP, _AXIS = 18, 5.8, 8, 58
_LEAST_WIDTH, _MOST_OF_NAMES = 160, 0.45
_MOST_IN_WORDS = 3
_TOOLTIP = [
    tip("workload", "Workload"),
    tip("goal", "Goal"),
    tip("critical_batch_size", "Critical batch size", DECIMAL),
    tip("lower", "Lower end", DECIMAL),
    tip("upper", "Upper end", DECIMAL),
    tip("n_batch_sizes", "Batch sizes"),
]


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the critical batch size of each workload at its own goal, with its interval or bounds."""
    rows = request.rows.to_pylist()
    drawn = [row for row in rows if any(row[name] is not None for name in ("critical_batch_size", "lower", "upper"))]
    level = stated("critical-batch-size interval")
    notes = [f"Points: critical batch sizes at the goals of workloads. Bars: {level} intervals."]
    if any(row["critical_batch_size"] is None for row in drawn):
        notes.append("Triangles: bounds, where the data support no estimate.")
    if len(drawn) < len(rows):
        notes.append(f"Not drawn: {len(rows) - len(drawn)} workloads with neither.")
    panel = request.panel("Critical batch sizes", "", (), notes)
    return ChartPanels([atlas_chart(drawn, panel)], notes, summary=list(_in_words(drawn)))


KIND = Kind("atlas", "/v1/analysis/atlas", draw)


def atlas_chart(rows: Sequence[ChartRow], panel: Panel) -> Plot:
    """Return a line for each workload, below the name of its data set.

    rows: of the answer, each with a number or a bound. panel: its height gives way to that of the lines.
    """
    room = panel.width + _AXIS
    lines = list(_lines(rows, int(_MOST_OF_NAMES * room / _LETTER)))
    names, numbers = (_room([line.get(field, "") for line in lines]) for field in ("name", "number"))
    if room - names - numbers < _LEAST_WIDTH:
        numbers = 0
    width = int(room - names - numbers)
    panel = replace(panel, width=width, height=max(1, len(lines)) * _LINE, y_title="")
    ends = [row[name] for row in rows for name in ("critical_batch_size", "lower", "upper") if row[name] is not None]
    x = Scale("critical_batch_size", panel.x_limits or decade_limits(ends), "Critical batch size", base=10)
    frame = Frame(panel, x, Scale("down", (panel.height, 0), "", base=None), [""])
    layers = [*_marks(lines, frame), *_texts(lines, frame, -names)]
    if numbers:
        # To the right edge, so that the figure is as wide as asked for.
        with_number = [line for line in lines if "number" in line]
        layers.append(_text(with_number, "number", frame, width + numbers, align="right"))
    return frame.plot(layers, "" if rows else "None is known.")


def _room(texts: Sequence[str]) -> float:
    """Return the px that texts and the gap beside them take."""
    longest = max(map(len, texts), default=0)
    return longest * _LETTER + _GAP if longest else 0


def _lines(rows: Sequence[ChartRow], most_letters: int) -> Iterator[ChartRow]:
    """Yield the lines from the top: the name of each data set, and its workloads."""
    place, above = 0.5, ""
    for row in rows:
        workload = Workload.parse(row["workload"])
        dataset = display_name("dataset", workload)
        if dataset != above:
            yield {"name": dataset, "down": place * _LINE, "is_heading": True}
            place, above = place + 1, dataset
        fields = {name: value for name, value in row.items() if value is not None}
        texts = {
            "name": _name(workload, most_letters),
            "number": _number(row),
            "goal": f"{row['metric']} {row['target']:g}",
        }
        yield {**fields, **texts, "down": place * _LINE, "is_heading": False}
        place += 1


def _name(workload: Workload, most_letters: int) -> str:
    """Return the name of a line, without the collection if it is too long, and cut if that is."""
    name = f"{display_name('model', workload)}, {display_name('optimizer', workload)}"
    whole = f"{name} \u00b7 {collection_name(workload.collection)}"
    if len(whole) <= most_letters:
        return whole
    return name if len(name) <= most_letters else f"{name[: most_letters - 1]}\u2026"


def _number(row: ChartRow) -> str:
    """Return the number with its interval, or the bounds, in words."""
    value, lower, upper = (
        None if row[name] is None else f"{row[name]:,.2g}" if row[name] < 10 else f"{row[name]:,.0f}"
        for name in ("critical_batch_size", "lower", "upper")
    )
    between = (
        f"{lower} to {upper}" if lower and upper else f"over {lower}" if lower else f"below {upper}" if upper else ""
    )
    if value is not None:
        return f"{value} ({between})" if between else value
    return between


def _marks(lines: Sequence[ChartRow], frame: Frame) -> list[Layer]:
    tips = frame.tooltip(_TOOLTIP)
    names = {line["workload"]: line["workload"] for line in lines if "workload" in line}
    linked = frame.panel.links.to("workloads", names, "workload") if frame.panel.links and names else None

    def at(field: str) -> dict[str, Any]:
        return {"x": quantity(field, scale=frame.x_axis.scale, axis=frame.x["axis"]), "y": _down(frame)} | tips

    points = [line for line in lines if "critical_batch_size" in line]
    ranges = [line for line in lines if "lower" in line and "upper" in line]
    style: dict[str, Any] = {"opacity": 1, "size": theme.POINT, "color": theme.COLOURS[0]}
    layers = [layer(ranges, "rule", at("lower") | {"x2": {"field": "upper"}}, strokeWidth=2, color=theme.COLOURS[0])]
    layers.append(layer(points, "point", at("critical_batch_size"), filled=True, **style).linked(linked))
    for name, shape in (("lower", "triangle-right"), ("upper", "triangle-left")):
        bounds = [line for line in lines if name in line and "critical_batch_size" not in line]
        layers.append(layer(bounds, "point", at(name), shape=shape, filled=False, **style).linked(linked))
    return layers


def _texts(lines: Sequence[ChartRow], frame: Frame, across: float) -> list[Layer]:
    """Return the layers of the names, those of data sets in bold."""
    headings = [line for line in lines if line["is_heading"]]
    others = [line for line in lines if not line["is_heading"]]
    return [_text(headings, "name", frame, across, fontWeight="bold"), _text(others, "name", frame, across)]


def _text(lines: Sequence[ChartRow], field: str, frame: Frame, across: float, **style: Any) -> Layer:
    place = {"x": px(across), "y": _down(frame), "text": category(field)}
    usual = {"align": "left", "baseline": "middle", "fontSize": theme.LABEL, "color": theme.INK, "tooltip": None}
    return layer(lines, "text", place, **usual | style)


def _down(frame: Frame) -> dict[str, Any]:
    """Return the channel of px from the top."""
    return quantity("down", scale={"domain": [frame.panel.height, 0], "nice": False}, axis=None)


def _in_words(rows: Sequence[ChartRow]) -> Iterator[str]:
    estimated = sorted((row for row in rows if row["critical_batch_size"] is not None), key=lambda row: row["workload"])
    yield f"{len(estimated)} workloads have an estimate."
    for row in estimated[:_MOST_IN_WORDS]:
        yield f"{row['workload']}: {_number(row)}."

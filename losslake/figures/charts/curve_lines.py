"""Curves: values of a metric against steps, a line for each trial.

The lines of a chart of curves: their points in one array, and what each says of itself.
Many lines, each one outline: a browser draws hundreds of them in the time that it takes for one line of points.
The layers that draw lines: as data where they are few, as outlines where they are many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from losslake.figures import theme
from losslake.figures.axes import decade_limits, linear_limits
from losslake.figures.channels import COUNT, DECIMAL, Channel, category, quantity, told
from losslake.figures.frame import Frame, Scale, colour_scale, legend
from losslake.figures.layers import Layer, Links, Plot, Row, layer, layered, words
from losslake.figures.panel import Limits, Panel, Series
from losslake_schema.reached import Floats, Integers

FACTS = ("trial_id", "batch_size", "status", "workload")


@dataclass(frozen=True, eq=False)
class Lines:
    """step, value: of all lines, one after the other. starts: where each begins. facts: what each says of itself."""

    step: Integers
    value: Floats
    starts: Integers
    facts: Sequence[Row]

    @property
    def lengths(self) -> Integers:
        """Points of each line."""
        found: Integers = np.diff(np.r_[self.starts, len(self.step)])
        return found

    def as_rows(self) -> list[Row]:
        """A row for each line, with lists of its steps and values."""
        steps, values, ends = self.step.tolist(), self.value.tolist(), (self.starts + self.lengths).tolist()
        return [
            {**facts, "step": steps[start:end], "value": values[start:end]}
            for facts, start, end in zip(self.facts, self.starts.tolist(), ends, strict=True)
        ]


def lines_of(series: Sequence[Series], is_log: bool) -> Lines:
    """The lines of all series, without values that are not finite, and without step 0 on a logarithmic axis."""
    parts = [_lines(one, is_log) for one in series]
    lengths = [len(part.step) for part in parts]
    offsets = np.cumsum([0, *lengths])[:-1]
    return Lines(
        np.concatenate([np.zeros(0, np.int64), *(part.step for part in parts)]),
        np.concatenate([np.zeros(0), *(part.value for part in parts)]),
        np.concatenate(
            [np.zeros(0, np.int64), *(part.starts + offset for part, offset in zip(parts, offsets, strict=True))]
        ),
        [facts for part in parts for facts in part.facts],
    )


def _lines(series: Series, is_log: bool) -> Lines:
    rows = series.rows
    step, value = rows["step"].to_numpy().astype(np.int64), rows["value"].to_numpy().astype(np.float64)
    kept = np.flatnonzero(np.isfinite(value) & ((step > 0) | (not is_log)))
    step, value, line = step[kept], value[kept], rows["line"].to_numpy()[kept]
    starts = np.flatnonzero(np.r_[True, np.diff(line) != 0]) if len(kept) else np.zeros(0, np.int64)
    lasts = np.r_[starts[1:], len(kept)] - 1 if len(kept) else starts
    names = [name for name in ("line", *FACTS) if name in rows.column_names]
    ends = zip(value[lasts].tolist(), step[lasts].tolist(), strict=True)
    facts = [
        {"series": series.label, **row, "last": last, "until": until}
        for row, (last, until) in zip(rows.select(names).take(kept[starts]).to_pylist(), ends, strict=True)
    ]
    return Lines(step, value, starts, facts)


ToPx = Callable[[Floats], Floats]
PER_PX = 8
SIZE = (2 / PER_PX) ** 2
"""The size of a mark of which a unit of its shape is 1 / PER_PX px, exactly: a shape's unit is half its size's root."""
_NOT_SEEN = 0.125
_PASSES = 6
_FAR = 4.0
"""Of the plot's height, how far outside of it outlines go: there they are clipped."""


def outlines(lines: Lines, panel: Panel, x: ToPx, y: ToPx) -> list[Row]:
    """A row for each line: `across` and `down`, where it ends, and from there on its `outline`, a path.

    All in px, the former from the plot's upper left corner, the latter in eighths. x, y: from values to px.
    What is within 1/8 px of a straight line between its neighbours is left out.
    """
    number = np.repeat(np.arange(len(lines.starts)), lines.lengths)
    across, down = x(lines.step.astype(np.float64)), y(lines.value)
    kept = _seen(across, down, number)
    places = np.rint(np.column_stack([across[kept], down[kept]]) * PER_PX).astype(np.int64)
    starts = np.searchsorted(number[kept], np.arange(len(lines.starts)))
    ends = np.r_[starts[1:], len(kept)]
    # Of a line that ends outside, where it would be seen.
    anchors = np.clip(places[ends - 1], 0, np.array([panel.width, panel.height]) * PER_PX)
    moves = np.diff(places, axis=0, prepend=0)
    moves[starts] = places[starts] - anchors
    texts = list(map(str, moves.ravel().tolist()))
    return [
        {**facts, "across": at[0], "down": at[1], "outline": _path(texts[2 * start : 2 * end])}
        for facts, start, end, at in zip(
            lines.facts, starts.tolist(), ends.tolist(), (anchors / PER_PX).tolist(), strict=True
        )
    ]


def to_px(limits: Limits, length: float, is_log: bool = False, is_up: bool = False) -> ToPx:
    """From values to px along an axis of that length. is_up: the least value is at its end."""

    def placed(values: Floats) -> Floats:
        ends = np.log(limits) if is_log else np.array(limits)
        share = ((np.log(values) if is_log else values) - ends[0]) / (ends[1] - ends[0])
        found: Floats = np.clip(1 - share if is_up else share, -_FAR, 1 + _FAR) * length
        return found

    return placed


def _path(moves: Sequence[str]) -> str:
    """A place, and the moves from there on: each to the right and down."""
    return f"M{' '.join(moves[:2])}l{' '.join(moves[2:]) or '0 0'}".replace(" -", "-")


def _seen(x: Floats, y: Floats, number: Integers) -> Integers:
    """The places of points to keep: of each line the first and last, and those off the line between their neighbours.

    In a pass no two neighbours are left out, so that none moves a line by more than the passes' share of what is seen.
    """
    kept = np.arange(len(x))
    for _ in range(_PASSES):
        if len(kept) < 3:
            break
        before, own, after = kept[:-2], kept[1:-1], kept[2:]
        run = x[after] - x[before]
        share = np.divide(x[own] - x[before], run, out=np.zeros(len(own)), where=run > 0)
        off = np.abs(y[before] + share * (y[after] - y[before]) - y[own])
        is_plain = (off < _NOT_SEEN / _PASSES) & (number[before] == number[after]) & (run > 0)
        if not is_plain.any():
            break
        kept = np.delete(kept, _none_side_by_side(is_plain) + 1)
    return kept


def _none_side_by_side(flags: npt.NDArray[np.bool_]) -> Integers:
    """The places of flags without two that follow each other."""
    chosen = flags & (np.arange(len(flags)) % 2 == 0)
    beside = np.r_[False, chosen[:-1]] | np.r_[chosen[1:], False]
    return np.flatnonzero(chosen | (flags & ~beside))


MOST_AS_DATA = 2500
"""Points; a browser takes some 0.1 ms for each."""
FEW = 7
"""Lines that are drawn boldly, each with a name."""
_MOST_POINTED_AT = 400
_TITLES = {
    "trial_id": told("trial_id", "Trial"),
    "batch_size": told("batch_size", "Batch size", COUNT),
    "status": told("status", "Status"),
    "workload": told("workload", "Workload"),
}
_LAST = [told("last", "Last value", DECIMAL), told("until", "at step", COUNT)]
_ITSELF = [told("value", "Value", DECIMAL), told("step", "at step", COUNT)]


def as_data(lines: Lines, frame: Frame, look: dict[str, Channel], is_clipped: bool) -> list[Layer]:
    """Lines by their steps and values; where those are few enough to be pointed at, each says its own."""
    rows, flat = lines.as_rows(), [{"flatten": ["step", "value"]}]
    marks = frame.place | look
    told_of_line = frame.tooltip([*_facts(lines), *_LAST])
    # Each line that is clipped is rendered by itself, which takes ten times as long.
    style = _style(lines) | {"clip": is_clipped}
    found = [layer(rows, "line", marks | {"detail": category("line")} | told_of_line, order=False, **style)]
    if len(lines.facts) <= FEW and len(lines.step) <= _MOST_POINTED_AT:
        told_of_point = frame.tooltip([*_facts(lines), *_ITSELF])
        found.append(layer(rows, "point", frame.place | look | told_of_point, size=60, opacity=0, clip=is_clipped))
    return [replace(each, transforms=flat) for each in found]


def as_outlines(
    lines: Lines, frame: Frame, look: dict[str, Channel], limits: tuple[Limits, Limits], is_log: bool
) -> list[Layer]:
    """Lines as shapes: one mark each, with nothing of its points but where they are on the plot.

    limits: of x and y.
    """
    panel = frame.panel
    rows = outlines(lines, panel, to_px(limits[0], panel.width, is_log), to_px(limits[1], panel.height, is_up=True))
    shape = {name: quantity(field, scale=None, axis=None) for name, field in (("x", "across"), ("y", "down"))}
    shape["shape"] = category("outline", scale=None)
    marks = shape | look | frame.tooltip([*_facts(lines), *_LAST])
    # Shapes have no axes: those are of two marks that nobody sees.
    corners: list[Row] = [{"step": step, "value": value} for step, value in zip(*limits, strict=True)]
    return [
        layer(corners, "point", frame.place, opacity=0, tooltip=None),
        layer(rows, "point", marks, filled=False, size=SIZE, clip=True, **_style(lines)),
    ]


def linked(layers: Sequence[Layer], lines: Lines, series: Sequence[Series], links: Links | None) -> list[Layer]:
    """The layers of lines with links to their trials, computed before points are made of them."""
    if links is None or not lines.facts or "trial_id" not in lines.facts[0]:
        return list(layers)
    if "workload" in lines.facts[0]:
        computed = links.to_trials_of(sorted({facts["workload"] for facts in lines.facts}))
    else:
        computed = links.to_trials(series)
    return [each.linked(computed) if "tooltip" in each.encoding else each for each in layers]


def _facts(lines: Lines) -> list[Channel]:
    """What all lines say of themselves."""
    return [_TITLES[name] for name in FACTS if lines.facts and all(name in facts for facts in lines.facts)]


def _style(lines: Lines) -> dict[str, Any]:
    """Opacity is of the stroke, so that a legend can be plain."""
    few = len(lines.facts) <= FEW
    return {"strokeWidth": 1.6 if few else 1.0, "strokeOpacity": 1 if few else 0.5}


_ROOM_FOR_OUTLIERS = 3.0


@dataclass(frozen=True)
class Look:
    """How the lines of a series are drawn. dash: px of line and gap by turns."""

    colour: str
    dash: tuple[int, ...] = theme.DASHES[0]


def curves_chart(
    series: Sequence[Series],
    panel: Panel,
    *,
    y_title: str = "Value",
    is_log: bool = False,
    is_ordered: bool = False,
    looks: Mapping[str, Look] | None = None,
    target: float | None = None,
    links: Links | None = None,
) -> Plot:
    """A line for each trial of each series, coloured by series.

    series: rows with step, value and line, which tells one line from another: its rows follow each other; for tooltips,
    of each line the same, trial_id, batch_size, status and, where lines are of several, workload.
    is_log: steps on a logarithmic axis, where step 0 has no place. is_ordered: the series have an order, such as batch
    sizes, and colours that show it. looks: by label, in place of colours of the palette. target: a line across.
    links: to the trials.
    Values that are not finite interrupt nothing and are not drawn. More than MOST_AS_DATA points are drawn as outlines.
    """
    lines = lines_of(series, is_log)
    steps = _ends(lines.step.astype(np.float64))
    values = [*_ends(within_reason(lines.value)), *([] if target is None else [target])]
    x_limits = panel.x_limits or (decade_limits(steps) if is_log else linear_limits(steps, 0.02))
    y_limits = panel.y_limits or linear_limits(values)
    x = Scale("step", x_limits, "Steps", base=10 if is_log else None)
    y = Scale("value", y_limits, y_title, base=None)
    labels = [one.label for one in series]
    frame = Frame(panel, x, y, labels, is_ordered)
    key = legend(labels, panel)
    look = _looks(
        looks or {},
        labels,
        is_ordered,
        key and key | {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 300},
    )
    if len(lines.step) > MOST_AS_DATA:
        layers = as_outlines(lines, frame, look, (x_limits, y_limits), is_log)
    else:
        is_outside = bool(((lines.value < y_limits[0]) | (lines.value > y_limits[1])).any())
        layers = as_data(lines, frame, look, is_outside or panel.x_limits is not None)
    layers = linked(layers, lines, series, links)
    if target is not None:
        across = {"y": frame.y_of("target")}
        layers.append(layer([{"target": target}], "rule", across, strokeDash=[5, 4], color=theme.FAINT, tooltip=None))
    if not lines.facts:
        layers.append(words("Nothing was measured.", panel))
    return layered([*layers, *frame.labels()], panel)


def within_reason(values: Floats) -> Floats:
    """The values without outliers, which would press all else together: those of trials that diverge."""
    if not len(values):
        return values
    low, high = np.quantile(values, [0.02, 0.98])
    room = _ROOM_FOR_OUTLIERS * (high - low)
    found: Floats = values[(low - room <= values) & (values <= high + room)]
    return found


def _ends(values: Floats) -> list[float]:
    """The least and the greatest, and the least above 0: what limits depend on."""
    above = values[values > 0]
    return [float(each) for own in (above, values) if len(own) for each in (own.min(), own.max())]


def _looks(
    looks: Mapping[str, Look], labels: Sequence[str], is_ordered: bool, key: dict[str, Any] | None
) -> dict[str, Channel]:
    """Colours of series, and dashes where there are looks. key: the legend."""
    if not looks:
        return {"color": category("series", scale=colour_scale(labels, is_ordered), legend=key)}
    own = [looks[label] for label in labels]
    colour = {"domain": list(labels), "range": [look.colour for look in own]}
    dash = {"domain": list(labels), "range": [list(look.dash) for look in own]}
    return {
        "color": category("series", scale=colour, legend=key),
        "strokeDash": category("series", scale=dash, legend=key),
    }

"""The lines of a chart of curves, and the layers that draw them.

Few points are drawn as data. Many are drawn as outlines, one mark a line: a browser draws hundreds of them in the time
that it takes for one line of points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, COUNT, DECIMAL, TRIAL, Channel, Layer, category, layer, quantity, tip
from losslake.figures.links import Transform
from losslake.figures.panel import Limits, Panel, Row, Series
from losslake_schema.reached import Flags, Floats, Integers

MOST_AS_DATA = 2500
"""Points; a browser takes some 0.1 ms for each."""
_FEW = 7
"""Lines that are drawn boldly, each with a name."""
_MOST_POINTED_AT = 400
PER_PX = 8
_SIZE = (2 / PER_PX) ** 2
"""The size of a mark of which a unit of its shape is 1 / PER_PX px, exactly: a shape's unit is half its size's root."""
_NOT_SEEN = 0.125
_PASSES = 6
_FAR = 4.0
"""Of the plot's height, how far outside of it outlines go: there they are clipped."""
_FACTS = {
    "trial_id": TRIAL,
    "batch_size": BATCH_SIZE,
    "status": tip("status", "Status"),
    "workload": tip("workload", "Workload"),
}
_LAST = [tip("last", "Last value", DECIMAL), tip("until", "at step", COUNT)]
_ITSELF = [tip("value", "Value", DECIMAL), tip("step", "at step", COUNT)]
ToPx = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Lines:
    """step, value: of all lines, one after the other. lengths: points of each. facts: what each says of itself."""

    step: Integers
    value: Floats
    lengths: Integers
    facts: Sequence[Row]

    @property
    def tooltip(self) -> list[Channel]:
        """What all lines say of themselves."""
        return [each for name, each in _FACTS.items() if self.facts and all(name in facts for facts in self.facts)]

    @property
    def style(self) -> dict[str, Any]:
        """Width and opacity; opacity is of the stroke, so that a legend can be plain."""
        few = len(self.facts) <= _FEW
        return {"strokeWidth": 1.6 if few else 1.0, "strokeOpacity": 1 if few else 0.5}


def lines_of(series: Sequence[Series], is_log: bool) -> Lines:
    """Return the lines of all series, without values that are not finite, and without step 0 on a logarithmic axis."""
    parts = [_lines(one, is_log) for one in series]
    return Lines(
        np.concatenate([np.zeros(0, np.int64), *(part.step for part in parts)]),
        np.concatenate([np.zeros(0), *(part.value for part in parts)]),
        np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)]),
        [facts for part in parts for facts in part.facts],
    )


def _lines(series: Series, is_log: bool) -> Lines:
    rows = series.rows
    step, value = rows["step"].to_numpy().astype(np.int64), rows["value"].to_numpy().astype(np.float64)
    kept = np.flatnonzero(np.isfinite(value) & ((step > 0) | (not is_log)))
    step, value, line = step[kept], value[kept], rows["line"].to_numpy()[kept]
    bounds = np.unique(np.r_[0, np.flatnonzero(np.diff(line)) + 1, len(line)])
    lasts = bounds[1:] - 1
    names = [name for name in ("line", *_FACTS) if name in rows.column_names]
    facts = rows.select(names).take(kept[bounds[:-1]])
    facts = facts.append_column("last", pa.array(value[lasts])).append_column("until", pa.array(step[lasts]))
    return Lines(step, value, np.diff(bounds), [{"series": series.label, **row} for row in facts.to_pylist()])


def as_data(lines: Lines, frame: Frame, look: dict[str, Channel], linked: Transform | None) -> list[Layer]:
    """Return lines by their steps and values; where those are few enough to be pointed at, each says its own.

    look: colours and dashes. linked: to their trials.
    """
    steps, values, ends = lines.step.tolist(), lines.value.tolist(), np.cumsum(lines.lengths)
    rows = [
        {**facts, "step": steps[start:end], "value": values[start:end]}
        for facts, start, end in zip(lines.facts, (ends - lines.lengths).tolist(), ends.tolist(), strict=True)
    ]
    marks = frame.place | look
    # Each line that is clipped is rendered by itself, which takes ten times as long.
    low, high = frame.y_axis.limits
    is_clipped = frame.panel.x_limits is not None or bool(((lines.value < low) | (lines.value > high)).any())
    style = lines.style | {"clip": is_clipped}
    of_line = marks | {"detail": category("line")} | frame.tooltip([*lines.tooltip, *_LAST])
    layers = [layer(rows, "line", of_line, order=False, **style)]
    if len(lines.facts) <= _FEW and len(lines.step) <= _MOST_POINTED_AT:
        of_point = marks | frame.tooltip([*lines.tooltip, *_ITSELF])
        layers.append(layer(rows, "point", of_point, size=60, opacity=0, clip=is_clipped))
    return [replace(each, transforms=[{"flatten": ["step", "value"]}]).linked(linked) for each in layers]


def as_outlines(lines: Lines, frame: Frame, look: dict[str, Channel], linked: Transform | None) -> list[Layer]:
    """Return lines as shapes: one mark each, with nothing of its points but where they are on the plot.

    look: colours and dashes. linked: to their trials.
    """
    panel, x, y = frame.panel, frame.x_axis, frame.y_axis
    across = to_px(x.limits, panel.width, is_log=x.base is not None)
    rows = outlines(lines, panel, across, to_px(y.limits, panel.height, is_up=True))
    shape = {name: quantity(field, scale=None, axis=None) for name, field in (("x", "across"), ("y", "down"))}
    shape["shape"] = category("outline", scale=None)
    marks = shape | look | frame.tooltip([*lines.tooltip, *_LAST])
    # Shapes have no axes: those are of two marks that nobody sees.
    corners: list[Row] = [{"step": step, "value": value} for step, value in zip(x.limits, y.limits, strict=True)]
    return [
        layer(corners, "point", frame.place, opacity=0, tooltip=None),
        layer(rows, "point", marks, filled=False, size=_SIZE, clip=True, **lines.style).linked(linked),
    ]


def outlines(lines: Lines, panel: Panel, x: ToPx, y: ToPx) -> list[Row]:
    """Return a row for each line: `across` and `down`, where it ends, and from there on its `outline`, a path.

    All in px, the former from the plot's upper left corner, the latter in eighths. x, y: from values to px.
    What is within 1/8 px of a straight line between its neighbours is left out.
    """
    number = np.repeat(np.arange(len(lines.lengths)), lines.lengths)
    across, down = x(lines.step.astype(np.float64)), y(lines.value)
    kept = _seen(across, down, number)
    places = np.rint(np.column_stack([across[kept], down[kept]]) * PER_PX).astype(np.int64)
    starts = np.searchsorted(number[kept], np.arange(len(lines.lengths)))
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
    """Return what maps values to px along an axis of that length. is_up: the least value is at its end."""

    def placed(values: Floats) -> Floats:
        ends = np.log(limits) if is_log else np.array(limits)
        share = ((np.log(values) if is_log else values) - ends[0]) / (ends[1] - ends[0])
        places: Floats = np.clip(1 - share if is_up else share, -_FAR, 1 + _FAR) * length
        return places

    return placed


def _path(moves: Sequence[str]) -> str:
    """Return a place, and the moves from there on: each to the right and down."""
    return f"M{' '.join(moves[:2])}l{' '.join(moves[2:]) or '0 0'}".replace(" -", "-")


def _seen(x: Floats, y: Floats, number: Integers) -> Integers:
    """Return the places of points to keep: of each line both ends, and those off the line between their neighbours.

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


def _none_side_by_side(flags: Flags) -> Integers:
    """Return the places of flags without two that follow each other."""
    chosen = flags & (np.arange(len(flags)) % 2 == 0)
    beside = np.r_[False, chosen[:-1]] | np.r_[chosen[1:], False]
    return np.flatnonzero(chosen | (flags & ~beside))

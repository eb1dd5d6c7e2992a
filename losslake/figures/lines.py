"""The lines of a chart of curves, and the layers that draw them.

Few points are drawn as data. Many points are drawn as outlines, one mark per line: a browser draws hundreds of outlines
in the time of one line of points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from losslake.figures.axes import ToPx
from losslake.figures.frame import Frame
from losslake.figures.layers import BATCH_SIZE, COUNT, DECIMAL, TRIAL, Channel, Layer, category, layer, quantity, tip
from losslake.figures.links import Transform
from losslake.figures.panel import ChartRow, Panel, Series
from losslake_schema.quantities import capitalized
from losslake_schema.reached import Flags, Floats, Integers

# Points to draw as data; a browser takes about 0.1 ms for each.
MOST_AS_DATA = 2500
# Number of lines up to which they are drawn boldly.
_FEW = 7
_MOST_POINTED_AT = 400
PER_PX = 8
# The mark size at which a unit of a shape is exactly 1 / PER_PX px: a unit is half the square root of the size.
_SIZE = (2 / PER_PX) ** 2
_NOT_SEEN = 0.125
_PASSES = 6
_FACTS = {
    "trial_id": TRIAL,
    "batch_size": BATCH_SIZE,
    "status": tip("status", "Status"),
    "workload": tip("workload", "Workload"),
}
_LAST, _ITSELF = tip("last", "Last value", DECIMAL), tip("value", "Value", DECIMAL)


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines.

    step, value: of all lines, concatenated. lengths: points per line. facts: tooltip fields per line. noun: what
    counts as a step: steps, seconds. is_faint: something else is drawn over them.
    """

    step: Integers | Floats
    value: Floats
    lengths: Integers
    facts: Sequence[ChartRow]
    noun: str = "steps"
    is_faint: bool = False

    def at(self, name: str) -> Channel:
        """Return the tooltip field of where a value is."""
        return tip(name, "at step", COUNT) if self.noun == "steps" else tip(name, capitalized(self.noun), DECIMAL)

    @property
    def tooltip(self) -> list[Channel]:
        """The tooltip fields that all lines have."""
        return [each for name, each in _FACTS.items() if self.facts and all(name in facts for facts in self.facts)]

    @property
    def style(self) -> dict[str, Any]:
        """Width and opacity of the lines; the opacity is that of strokes, so it doesn't affect the legend."""
        if self.is_faint:
            return {"strokeWidth": 1.0, "strokeOpacity": 0.3}
        few = len(self.facts) <= _FEW
        return {"strokeWidth": 1.6 if few else 1.0, "strokeOpacity": 1 if few else 0.5}


def lines_of(series: Sequence[Series], is_log: bool, noun: str = "steps") -> Lines:
    """Return the lines of all series. Leaves out values that are not finite, and step 0 on a logarithmic axis."""
    parts = [_lines(one, is_log) for one in series]
    return Lines(
        np.concatenate([np.zeros(0, np.int64), *(part.step for part in parts)]),
        np.concatenate([np.zeros(0), *(part.value for part in parts)]),
        np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)]),
        [facts for part in parts for facts in part.facts],
        noun,
    )


def _lines(series: Series, is_log: bool) -> Lines:
    rows = series.rows
    step, value = rows["step"].to_numpy(), rows["value"].to_numpy().astype(np.float64)
    kept = np.flatnonzero(np.isfinite(value) & ((step > 0) | (not is_log)))
    step, value, line = step[kept], value[kept], rows["line"].to_numpy()[kept]
    bounds = np.unique(np.r_[0, np.flatnonzero(np.diff(line)) + 1, len(line)])
    lasts = bounds[1:] - 1
    names = [name for name in ("line", *_FACTS) if name in rows.column_names]
    facts = rows.select(names).take(kept[bounds[:-1]])
    facts = facts.append_column("last", pa.array(value[lasts])).append_column("until", pa.array(step[lasts]))
    return Lines(step, value, np.diff(bounds), [{"series": series.label, **row} for row in facts.to_pylist()])


def as_data(lines: Lines, frame: Frame, channels: dict[str, Channel], linked: Transform | None) -> list[Layer]:
    """Return the layers of lines drawn as data, with a tooltip for each point if there are few.

    channels: colours and dashes. linked: the transform of links to trials.
    """
    steps, values, ends = lines.step.tolist(), lines.value.tolist(), np.cumsum(lines.lengths)
    rows = [
        {**facts, "step": steps[start:end], "value": values[start:end]}
        for facts, start, end in zip(lines.facts, (ends - lines.lengths).tolist(), ends.tolist(), strict=True)
    ]
    marks = frame.place | channels
    # Clip only if needed: each clipped line is rendered by itself, which takes ten times as long.
    low, high = frame.y_axis.limits
    is_clipped = frame.panel.x_limits is not None or bool(((lines.value < low) | (lines.value > high)).any())
    style = lines.style | {"clip": is_clipped}
    of_line = marks | {"detail": category("line")} | frame.tooltip([*lines.tooltip, _LAST, lines.at("until")])
    layers = [layer(rows, "line", of_line, order=False, **style)]
    if len(lines.facts) <= _FEW and len(lines.step) <= _MOST_POINTED_AT:
        of_point = marks | frame.tooltip([*lines.tooltip, _ITSELF, lines.at("step")])
        layers.append(layer(rows, "point", of_point, size=60, opacity=0, clip=is_clipped))
    return [replace(each, transforms=[{"flatten": ["step", "value"]}]).linked(linked) for each in layers]


def as_outlines(lines: Lines, frame: Frame, channels: dict[str, Channel], linked: Transform | None) -> list[Layer]:
    """Return the layers of lines drawn as outlines: one shape per line, in px.

    channels: colours and dashes. linked: the transform of links to trials.
    """
    panel, x, y = frame.panel, frame.x_axis, frame.y_axis
    rows = outlines(lines, panel, x.to_px(panel.width), y.to_px(panel.height, is_up=True))
    shape = {name: quantity(field, scale=None, axis=None) for name, field in (("x", "across"), ("y", "down"))}
    shape["shape"] = category("outline", scale=None)
    marks = shape | channels | frame.tooltip([*lines.tooltip, _LAST, lines.at("until")])
    # Shapes have no axes: two invisible marks provide them.
    corners: list[ChartRow] = [{"step": step, "value": value} for step, value in zip(x.limits, y.limits, strict=True)]
    return [
        layer(corners, "point", frame.place, opacity=0, tooltip=None),
        layer(rows, "point", marks, filled=False, size=_SIZE, clip=True, **lines.style).linked(linked),
    ]


def outlines(lines: Lines, panel: Panel, x: ToPx, y: ToPx) -> list[ChartRow]:
    """Return a row for each line: its end (`across`, `down`), and its `outline`, a path relative to the end.

    The end is in px from the plot's upper left corner, the path in eighths of a px. x, y: map values to px. Leaves out
    points within 1/8 px of the straight line between their neighbours.
    """
    number = np.repeat(np.arange(len(lines.lengths)), lines.lengths)
    across, down = x(lines.step.astype(np.float64)), y(lines.value)
    kept = _seen(across, down, number)
    places = np.rint(np.column_stack([across[kept], down[kept]]) * PER_PX).astype(np.int64)
    starts = np.searchsorted(number[kept], np.arange(len(lines.lengths)))
    ends = np.r_[starts[1:], len(kept)]
    # Anchor a line that ends outside the plot at the nearest edge.
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


def _path(moves: Sequence[str]) -> str:
    """Return an SVG path: a start, then relative moves to the right and down."""
    return f"M{' '.join(moves[:2])}l{' '.join(moves[2:]) or '0 0'}".replace(" -", "-")


def _seen(x: Floats, y: Floats, number: Integers) -> Integers:
    """Return the indices of points to keep: the ends of lines, and points off the line between their neighbours.

    A pass never drops two neighbours, so that each pass moves a line by at most its share of the tolerance.
    """
    kept = np.arange(len(x))
    for _ in range(_PASSES):
        if len(kept) < 3:
            break
        before, middle, after = kept[:-2], kept[1:-1], kept[2:]
        run = x[after] - x[before]
        share = np.divide(x[middle] - x[before], run, out=np.zeros(len(middle)), where=run > 0)
        off = np.abs(y[before] + share * (y[after] - y[before]) - y[middle])
        is_plain = (off < _NOT_SEEN / _PASSES) & (number[before] == number[after]) & (run > 0)
        if not is_plain.any():
            break
        kept = np.delete(kept, _none_side_by_side(is_plain) + 1)
    return kept


def _none_side_by_side(flags: Flags) -> Integers:
    """Return the indices of flags, without any two adjacent ones."""
    chosen = flags & (np.arange(len(flags)) % 2 == 0)
    beside = np.r_[False, chosen[:-1]] | np.r_[chosen[1:], False]
    return np.flatnonzero(chosen | (flags & ~beside))

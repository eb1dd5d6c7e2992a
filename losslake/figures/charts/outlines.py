"""Many lines, each one outline: a browser draws hundreds of them in the time that it takes for one line of points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from losslake.figures.charts.lines import Lines
from losslake.figures.layers import Row
from losslake.figures.panel import Limits, Panel
from losslake_schema.reached import Floats, Integers

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

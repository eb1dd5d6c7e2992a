"""Scaling drawn in characters: batch size against steps, both in powers of two, with the line of perfect scaling."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_WIDE, HIGH = 100, 18
_LEAST_WIDE = 24
# A point, a point of a batch size that never reaches the target, the line of perfect scaling, the axes.
_MARKS, _ASCII = ("●", "△", "·", "│", "─", "┼"), ("o", "^", ".", "|", "-", "+")


@dataclass(frozen=True)
class _Scale:
    """A logarithmic axis with this many cells. low, high: exponents of two."""

    low: float
    high: float
    cells: int

    @staticmethod
    def over(values: Sequence[float], cells: int) -> _Scale:
        exponents = [math.log2(value) for value in values]
        low, high = math.floor(min(exponents)), math.ceil(max(exponents))
        return _Scale(low, max(high, low + 1), cells)

    def cell(self, value: float) -> int:
        share = (math.log2(value) - self.low) / (self.high - self.low)
        return round(share * (self.cells - 1))

    def labels(self, most: int) -> Iterator[tuple[int, str]]:
        """Yield the cells and texts of evenly spaced powers of two, at most this many."""
        stride = max(math.ceil((self.high - self.low + 1) / most), 1)
        for exponent in range(int(self.low), int(self.high) + 1, stride):
            yield self.cell(2.0**exponent), f"{2.0**exponent:,.6g}"


def plot(points: Sequence[tuple[int, float | None]], title: str, width: int, encoding: str | None) -> list[str]:
    """Return the lines of a plot. points: batch size, and steps to the target or None for never.

    width: of the terminal. encoding: of the output, which may have only ASCII. Points at 0 are left out.
    """
    drawn = [(size, steps) for size, steps in points if size > 0 and (steps is None or steps > 0)]
    reached = [(size, steps) for size, steps in drawn if steps is not None]
    if not reached:
        return ["no batch size reached the target: there is nothing to plot"]
    try:
        "".join(map(str, _MARKS)).encode(encoding or "ascii")
        point, never, ideal, upright, level, corner = _MARKS
    except (UnicodeError, LookupError):
        point, never, ideal, upright, level, corner = _ASCII
    first_size, first_steps = reached[0]
    y = _Scale.over([steps for _, steps in reached], HIGH)
    margin = max(len(text) for _, text in y.labels(HIGH // 2)) + 1
    x = _Scale.over([float(size) for size, _ in drawn], max(min(width, MOST_WIDE) - margin - 2, _LEAST_WIDE))
    grid = [[" "] * x.cells for _ in range(HIGH)]
    for column in range(x.cells):
        size = 2 ** (x.low + (x.high - x.low) * column / (x.cells - 1))
        perfect = first_steps * first_size / size
        if 2**y.low <= perfect <= 2**y.high:
            grid[y.cell(perfect)][column] = ideal
    for size, steps in drawn:
        grid[HIGH - 1 if steps is None else y.cell(steps)][x.cell(size)] = never if steps is None else point
    names = dict(y.labels(HIGH // 2))
    rows = [f"{names.get(at, ''):>{margin}}{upright}{''.join(grid[at])}".rstrip() for at in reversed(range(HIGH))]
    marks = f"{point} fewest, {ideal} perfect scaling" + (
        f", {never} never reached" if len(drawn) > len(reached) else ""
    )
    return [title, *rows, f"{'':>{margin}}{corner}{level * x.cells}", _under(x, margin), f"{'':>{margin}} {marks}"]


def _under(x: _Scale, margin: int) -> str:
    """Return the labels of the horizontal axis, as many as there is room for."""
    line = [" "] * (margin + 1 + x.cells + 8)
    end = -1
    for cell, text in x.labels(max(x.cells // 8, 2)):
        start = margin + 1 + cell - len(text) // 2
        if start > end and start + len(text) <= len(line):
            line[start : start + len(text)] = text
            end = start + len(text)
    return "".join(line).rstrip()

"""An index of curves by short windows of rounded values, to find curves that are nearly those of others.

Steps don't matter, only the order of values: so a copy with other steps is found as well. A window is five values in a
row, all different. Values are rounded to ten bits of their significand, 0.1 to 0.2 percent. Most windows of a copy that
was rounded to four digits, or has noise of that size, stay what they are, and a few are enough to find it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from losslake_schema.reached import Flags, Floats, Integers

WINDOW = 5
BITS = 10
TOLERANCE = 5e-4
"""Values are near if they differ by at most this share of the larger one."""
MOST_SHARED = 100
"""A window that more places of the index have says nothing."""
_WINDOWS_AT_ONCE = 1000
_LEAST_CODE = np.int64(-(2**40))  # of what isn't finite: in no window
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class CommonRun:
    """A run of near values that two curves have in common. other: the number of the curve in the index.

    start, other_start: of its first value in both. values, others: what they have in common.
    """

    other: int
    start: int
    other_start: int
    values: Floats
    others: Floats

    @property
    def length(self) -> int:
        """The number of values."""
        return len(self.values)

    @cached_property
    def n_distinct(self) -> int:
        """The number of values that differ when rounded."""
        return len(np.unique(rounded(self.values)))

    @property
    def is_exact(self) -> bool:
        """True if all values are equal."""
        return bool((self.values == self.others).all())

    @cached_property
    def distance(self) -> float:
        """The distance of the values; see `distance`."""
        return distance(self.values, self.others)


@dataclass(frozen=True)
class Windows:
    """The windows of some curves, by ascending hash. starts: of each, in the values of all curves."""

    hashes: npt.NDArray[np.uint64]
    starts: Integers

    @staticmethod
    def of(values: Floats, offsets: Integers) -> Windows:
        """Return the windows of curves that are concatenated, as of a CurveIndex."""
        codes = rounded(values)
        starts = window_starts(codes, offsets)
        hashes = _hashes(codes, starts)
        order = np.argsort(hashes, kind="stable")
        return Windows(hashes[order], starts[order])


def rounded(values: Floats) -> Integers:
    """Return integers that are equal for values that are equal when rounded to BITS bits of their significand."""
    significand, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    kept = np.rint(significand * 2**BITS).astype(np.int64)
    is_next = np.abs(kept) == 2**BITS  # rounded up to the next power of two
    kept = np.where(is_next, kept // 2, kept)
    codes = (exponent + is_next).astype(np.int64) * 2 ** (BITS + 2) + kept
    return np.where(np.isfinite(values), codes, _LEAST_CODE)


def near(values: Floats, others: Floats) -> Flags:
    """Return flags of pairs of finite values that are equal up to TOLERANCE."""
    with np.errstate(invalid="ignore", over="ignore"):
        limit = TOLERANCE * np.maximum(np.abs(values), np.abs(others))
        return np.isfinite(values) & np.isfinite(others) & (np.abs(values - others) <= limit)


class CurveIndex:
    """An index of curves, which are concatenated; offsets: (n + 1,), curve i has values offsets[i]:offsets[i + 1].

    windows: of the curves, where they are known.
    """

    def __init__(self, values: Floats, offsets: Integers, windows: Windows | None = None) -> None:
        self._values, self._offsets = values, offsets
        self._windows = Windows.of(values, offsets) if windows is None else windows

    def common_runs(self, values: Floats) -> Iterator[CommonRun]:
        """Yield the longest common run with each curve and shift that a window of the curve finds."""
        for other, shift in sorted(self._shifts(rounded(values))):
            theirs = self._values[self._offsets[other] : self._offsets[other + 1]]
            run = longest_run(values, theirs, shift)
            if run is not None:
                start, length = run
                ours, others = values[start : start + length], theirs[start + shift : start + shift + length]
                yield CommonRun(other, start, start + shift, ours, others)

    def _shifts(self, codes: Integers) -> set[tuple[int, int]]:
        """Return the curves that have a window of a curve, each with how much later it begins there."""
        starts = window_starts(codes, np.array([0, len(codes)]))
        hashes = _hashes(codes, starts)
        first = np.searchsorted(self._windows.hashes, hashes, "left")
        counts = np.searchsorted(self._windows.hashes, hashes, "right") - first
        shared = np.flatnonzero((counts > 0) & (counts <= MOST_SHARED))
        shifts: set[tuple[int, int]] = set()
        for begin in range(0, len(shared), _WINDOWS_AT_ONCE):
            batch = shared[begin : begin + _WINDOWS_AT_ONCE]
            window = np.repeat(batch, counts[batch])
            nth = np.arange(len(window)) - np.repeat(np.cumsum(counts[batch]) - counts[batch], counts[batch])
            places = self._windows.starts[first[window] + nth].astype(np.int64)
            theirs = rounded(self._values[places[:, None] + np.arange(WINDOW)])
            is_equal = (theirs == codes[starts[window][:, None] + np.arange(WINDOW)]).all(axis=1)
            places, ours = places[is_equal], starts[window[is_equal]]
            curves = np.searchsorted(self._offsets, places, "right") - 1
            shifts.update(zip(curves.tolist(), (places - self._offsets[curves] - ours).tolist(), strict=True))
        return shifts


def distance(values: Floats, others: Floats) -> float:
    """Return how far near values are apart, in units of their own noise: 0 for equal ones, infinite without noise.

    Runs with other seeds are about 1.4 apart, whatever the size of their noise, and a copy is closer. The noise is the
    median of second differences, as of independent values. Source: von Neumann's ratio, Annals of Math. Stat. 12, 1941.
    """
    apart = float(np.median(np.abs(values - others)))
    if apart == 0.0 or len(others) < WINDOW:
        return 0.0 if apart == 0.0 else float("inf")
    noise = float(np.median(np.abs(np.diff(others, 2)))) / np.sqrt(6.0)
    return apart / noise if noise > 0.0 else float("inf")


def longest_run(values: Floats, others: Floats, shift: int) -> tuple[int, int] | None:
    """Return the start and length of the longest run with values[i] near others[i + shift], the first of equal ones."""
    begin, end = max(0, -shift), min(len(values), len(others) - shift)
    if begin >= end:
        return None
    is_near = near(values[begin:end], others[begin + shift : end + shift])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_near, [False]]).astype(np.int8)))
    if not len(edges):
        return None
    lengths = edges[1::2] - edges[::2]
    longest = int(lengths.argmax())
    return begin + int(edges[2 * longest]), int(lengths[longest])


def window_starts(codes: Integers, offsets: Integers) -> Integers:
    """Return where windows start: of finite values, no two of which are equal when rounded, within one curve."""
    n = len(codes) - WINDOW + 1
    if n <= 0:
        return np.empty(0, np.int64)
    columns = [codes[place : n + place] for place in range(WINDOW)]
    is_window = np.ones(n, np.bool_)
    for place, column in enumerate(columns):
        is_window &= column != _LEAST_CODE
        for other in columns[:place]:
            is_window &= column != other
    for place in range(1, WINDOW):
        ends = offsets[1:-1] - place
        is_window[ends[(ends >= 0) & (ends < n)]] = False
    return np.flatnonzero(is_window)


def _hashes(codes: Integers, starts: Integers) -> npt.NDArray[np.uint64]:
    """Return a hash of each window; windows with equal hashes are compared before they count."""
    total = np.zeros(len(starts), np.uint64)
    with np.errstate(over="ignore"):
        for place in range(WINDOW):
            total = (total ^ codes[starts + place].astype(np.uint64)) * _MULTIPLIER
            total ^= total >> np.uint64(29)
    return total

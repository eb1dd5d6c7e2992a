"""The curve of a metric that grows: thinned to what a picture shows, in memory that doesn't grow with it.

Steps are divided into buckets whose width is a power of two, so that wider buckets are unions of narrower ones: the
series of a run that grew is that of the whole run, whatever came at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake_schema.reached import Floats, Integers

MOST_BUCKETS = 1024


@dataclass(frozen=True, eq=False)
class Series:
    """Values by step.

    step, value, elapsed: of those that are kept, by step: the first and the last, and of each bucket the least and the
    greatest finite one, and one that isn't finite. elapsed: seconds, NaN where unknown. width: of a bucket, in steps.
    bucket, total, n: of each bucket with a finite value its number, the sum of these values and their count. count: of
    all values.
    """

    step: Integers
    value: Floats
    elapsed: Floats
    width: int
    bucket: Integers
    total: Floats
    n: Integers
    count: int

    @staticmethod
    def of(step: Integers, value: Floats, elapsed: Floats | None = None) -> Series:
        """Return the series of some values; steps ascend strictly, and there is at least one."""
        nothing = np.zeros(0, np.int64)
        numbers = np.zeros(0)
        return Series(nothing, numbers, numbers, 1, nothing, numbers, nothing, 0).grown(step, value, elapsed)

    def grown(self, step: Integers, value: Floats, elapsed: Floats | None = None) -> Series:
        """Return the series with more values; steps ascend strictly, from above the last one."""
        if not len(step):
            return self
        times = np.full(len(step), np.nan) if elapsed is None else elapsed
        steps, values = np.concatenate((self.step, step)), np.concatenate((self.value, value))
        width = bucket_width(int(steps[0]), int(steps[-1]))
        kept = _telling(steps // width, values)
        buckets, total, n = in_buckets(
            np.concatenate((self.bucket * self.width // width, step // width)),
            np.concatenate((self.total, np.where(np.isfinite(value), value, 0.0))),
            np.concatenate((self.n, np.isfinite(value).astype(np.int64))),
        )
        times = np.concatenate((self.elapsed, times))
        return Series(
            steps[kept], values[kept], times[kept], width, buckets, total, n, self.count + len(step)
        )  # fmt: skip

    @property
    def last_step(self) -> int:
        """The last step."""
        return int(self.step[-1])

    def best(self, is_higher_better: bool) -> int | None:
        """Return the index of the first of the best finite values; None if there is none."""
        is_finite = np.isfinite(self.value)
        if not is_finite.any():
            return None
        losses = np.where(is_finite, -self.value if is_higher_better else self.value, np.inf)
        return int(losses.argmin())

    def means(self, width: int) -> tuple[Integers, Floats]:
        """Return the numbers of the buckets of a width, a multiple of this one's, and the mean value of each."""
        bucket, total, n = in_buckets(self.bucket * self.width // width, self.total, self.n)
        return bucket, total / n


def bucket_width(first: int, last: int) -> int:
    """Return the least power of two that divides steps from `first` to `last` into at most MOST_BUCKETS buckets."""
    width = 1
    while last // width - first // width >= MOST_BUCKETS:
        width *= 2
    return width


def in_buckets(bucket: Integers, total: Floats, n: Integers) -> tuple[Integers, Floats, Integers]:
    """Return each bucket that has values once, with the sums. bucket: ascending."""
    measured = n > 0
    bucket, total, n = bucket[measured], total[measured], n[measured]
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    if not len(starts):
        return bucket, total, n
    with np.errstate(over="ignore"):
        return bucket[starts], np.add.reduceat(total, starts), np.add.reduceat(n, starts)


def _telling(bucket: Integers, value: Floats) -> Integers:
    """Return the indices, ascending, of the values that are kept. bucket: ascending."""
    is_finite = np.isfinite(value)
    finite, others = np.flatnonzero(is_finite), np.flatnonzero(~is_finite)
    kept = [np.array([0, len(value) - 1]), others[_firsts(bucket[others])]]
    for losses in (value[finite], -value[finite]):
        # Sorting is stable: of equal values the first one is kept.
        order = np.lexsort((losses, bucket[finite]))
        kept.append(finite[order][_firsts(bucket[finite][order])])
    indices: Integers = np.unique(np.concatenate(kept))
    return indices


def _firsts(bucket: Integers) -> Integers:
    """Return the index of the first entry of each bucket; equal ones are together."""
    indices: Integers = np.flatnonzero(np.diff(bucket, prepend=-1))
    return indices

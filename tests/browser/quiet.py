"""Times in the browser, taken only while nothing else keeps this machine busy."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping

import psutil
import pytest

TRIES, MOST_CHECKS = 5, 12
MOST_BUSY_PERCENT = 15.0
"""Share of all cores' time that may be spent before a try, while browser and service have nothing to do."""
_CHECK_S = 0.25


def median_times(measured: Callable[[], Mapping[str, float]]) -> dict[str, float]:
    """Return the median of each time over five tries; skip the test, with the reason, where the machine isn't idle."""
    tries: list[Mapping[str, float]] = []
    busy: list[float] = []
    while len(tries) < TRIES:
        percent = psutil.cpu_percent(_CHECK_S)
        if percent <= MOST_BUSY_PERCENT:
            tries.append(measured())
            continue
        busy.append(percent)
        if len(busy) == MOST_CHECKS:
            others = f"other processes took {statistics.median(busy):.0f}% of it in {MOST_CHECKS} checks"
            pytest.skip(f"times say nothing on this machine now: {others}; run it again on an idle one")
    return {name: statistics.median(each[name] for each in tries) for name in tries[0]}

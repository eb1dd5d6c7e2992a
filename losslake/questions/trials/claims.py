"""Claims about scaling, and the targets for which each holds: exact, evaluated between all breakpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from losslake.analysis.envelope import TargetInterval, breakpoints, coverage, holding_intervals, ranks
from losslake.questions.trials.search import Search
from losslake.questions.trials.sweep import (
    StudyEnvelopes,
    Sweep,
    shared_sizes,
    steps_at_shared_sizes,
    study_envelopes,
)
from losslake_schema.reached import NEVER, Floats

EVERY_SIZE = "every batch size reaches the target"


THREE_REGIMES = "some batch size is in each regime: perfect scaling, diminishing returns, maximal data parallelism"


FEWEST = "no other workload needs fewer steps at any batch size that all have"


def claims(merged: Sequence[StudyEnvelopes]) -> Iterator[dict[str, Any]]:
    """Yield the claims about each workload, and about several together, with the targets for which each holds."""
    for one in merged:
        yield from one.search.once(_of_one)
    if len(merged) > 1:
        yield from _of_several(merged)


def _claim(merged: StudyEnvelopes, text: str, intervals: Iterable[TargetInterval]) -> dict[str, Any]:
    """Return a claim about a workload, with targets in the metric's unit; null for no limit."""
    sign = merged.search.sign
    targets = [
        {"hardest": each.hardest * sign, "easiest": each.easiest * sign if np.isfinite(each.easiest) else None}
        for each in intervals
    ]
    return {"workload": str(merged.search.facts.workload), "claim": text, "intervals": targets}


def _of_one(search: Search) -> Sequence[dict[str, Any]]:
    merged = study_envelopes(search)
    points = breakpoints(merged.envelopes)
    if not len(points):
        return ()
    swept = Sweep(merged, _between(points))
    every_size = _claim(merged, EVERY_SIZE, holding_intervals(points, coverage(swept.steps) == 1))
    end, useful = swept.perfect_ends(), swept.max_useful()
    places = np.arange(swept.steps.shape[1])
    is_between = (end.index[:, None] < places) & (places < useful.index[:, None]) & np.isfinite(swept.steps)
    has_three = (end.index != NEVER) & is_between.any(axis=1)
    has_three &= ~end.is_left_censored & ~end.is_right_censored & ~useful.is_right_censored
    return every_size, _claim(merged, THREE_REGIMES, holding_intervals(points, has_three))


def _of_several(merged: Sequence[StudyEnvelopes]) -> Iterator[dict[str, Any]]:
    points = breakpoints([envelope for one in merged for envelope in one.envelopes])
    if not len(points) or not shared_sizes(merged):
        return
    compared = ranks(steps_at_shared_sizes(merged, _between(points)))
    for one, n_fewest in zip(merged, compared.n_fewest, strict=True):
        holds = (n_fewest == compared.n_compared) & (compared.n_compared > 0)
        yield _claim(one, FEWEST, holding_intervals(points, holds))


def _between(points: Floats) -> Floats:
    """Return a target between each breakpoint and the next."""
    return np.append(points[1:], np.inf)

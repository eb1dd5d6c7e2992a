"""For which targets a claim about scaling holds, exactly: evaluated between all breakpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from losslake.analysis.break_points_of_curves import NONE
from losslake.analysis.envelope import breakpoints
from losslake.analysis.target_sweep import TargetInterval, coverage, holding_intervals, ranks
from losslake.questions.analysis.envelopes import StudyEnvelopes
from losslake.questions.analysis.sweep import Sweep
from losslake_schema.reached import Floats

EVERY_SIZE = "every batch size reaches the target"
THREE_REGIMES = "some batch size is in each regime: perfect scaling, diminishing returns, maximal data parallelism"
FEWEST = "no other workload needs fewer steps at any batch size that all have"


@dataclass(frozen=True)
class Claim:
    """A claim about a workload, and between which targets it holds."""

    workload: str
    claim: str
    intervals: Sequence[TargetInterval]

    def as_fact(self, sign: float) -> dict[str, Any]:
        """The same as a fact of an answer, in the metric's own direction; an end without limit is null."""
        return {
            "workload": self.workload,
            "claim": self.claim,
            "intervals": [
                {"hardest": each.hardest * sign, "easiest": each.easiest * sign if np.isfinite(each.easiest) else None}
                for each in self.intervals
            ],
        }


def claims(merged: Sequence[StudyEnvelopes]) -> list[Claim]:
    """What can be said of each workload, and of several beside each other."""
    return [*(claim for one in merged for claim in _of_one(one)), *(_of_several(merged) if len(merged) > 1 else ())]


def _of_one(merged: StudyEnvelopes) -> Iterator[Claim]:
    points = breakpoints(merged.envelopes)
    if not len(points):
        return
    swept = Sweep(merged, _between(points))
    name = str(merged.found.facts.workload)
    yield Claim(name, EVERY_SIZE, holding_intervals(points, coverage(swept.steps) == 1))
    end, useful = swept.perfect_ends(), swept.max_useful()
    places = np.arange(swept.steps.shape[1])
    is_between = (end.index[:, None] < places) & (places < useful.index[:, None]) & np.isfinite(swept.steps)
    has_three = (end.index != NONE) & is_between.any(axis=1)
    has_three &= ~end.is_left_censored & ~end.is_right_censored & ~useful.is_right_censored
    yield Claim(name, THREE_REGIMES, holding_intervals(points, has_three))


def _of_several(merged: Sequence[StudyEnvelopes]) -> Iterator[Claim]:
    points = breakpoints([envelope for one in merged for envelope in one.envelopes])
    if not len(points) or not shared_sizes(merged):
        return
    compared = ranks(steps_at_shared_sizes(merged, _between(points)))
    for one, n_fewest in zip(merged, compared.n_fewest, strict=True):
        holds = (n_fewest == compared.n_compared) & (compared.n_compared > 0)
        yield Claim(str(one.found.facts.workload), FEWEST, holding_intervals(points, holds))


def shared_sizes(merged: Sequence[StudyEnvelopes]) -> list[int]:
    """The batch sizes that every workload has, ascending."""
    return sorted(set.intersection(*(set(one.found.facts.batch_sizes) for one in merged)))


def steps_at_shared_sizes(merged: Sequence[StudyEnvelopes], targets: Floats) -> list[Floats]:
    """Of each workload, least steps: targets by shared batch sizes."""
    shared = shared_sizes(merged)
    return [
        Sweep(one, targets).steps[:, [one.found.facts.batch_sizes.index(size) for size in shared]] for one in merged
    ]


def _between(points: Floats) -> Floats:
    """A target between each breakpoint and the next."""
    return np.append(points[1:], np.inf)

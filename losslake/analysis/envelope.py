"""The lower envelope of a study: of all its trials' records those that no trial bettered before.

It answers "how many steps to this target?" for every target at once, and "what is best within this budget?" for every
budget, since both are first and last entries of one strictly falling staircase. So scaling is an exact function of the
target: which targets to look at, who reaches them, and where claims hold (METHODS 3.6, 6.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from losslake_schema.reached import NEVER, Flags, Floats, Integers


@dataclass(frozen=True)
class Envelope:
    """The envelope of one study.

    step: ascending, equal ones possible. loss: strictly falling, lower is better. row: which of the given evaluations.
    """

    step: Integers
    loss: Floats
    row: Integers

    def first_hits(self, targets: Floats) -> Integers:
        """By target, the first entry with a loss strictly below it; NEVER for none, or for a target that is NaN."""
        found = np.searchsorted(-self.loss, -targets, side="right")
        return np.where((found < len(self.loss)) & ~np.isnan(targets), found, NEVER)

    def steps_to(self, targets: Floats) -> Floats:
        """By target, the least steps to it; inf where it is never reached."""
        hits = self.first_hits(targets)
        return np.where(hits != NEVER, self.step[hits], np.inf) if len(self.step) else np.full(len(targets), np.inf)

    def best_within(self, budgets: Integers) -> Integers:
        """By budget of steps, inclusive, the entry with the best loss within it; NEVER for none."""
        return np.searchsorted(self.step, budgets, side="right") - 1


def lower_envelope(step: Integers, loss: Floats) -> Envelope:
    """The envelope of evaluations of one study, given trial by trial in the order of trial_id; best only the records.

    Of evaluations at one step the one of the lower trial_id goes first, so that steps to any target, by either
    comparator, and the trial that has them are those of a search by (step, trial_id). Values that aren't finite don't
    count. Sources: METHODS 1.1 (order), 6.1 (proof).
    """
    order = np.argsort(step, kind="stable")
    losses = np.where(np.isfinite(loss), loss, np.inf)[order]
    best_before = np.concatenate([[np.inf], np.minimum.accumulate(losses)[:-1]]) if len(losses) else losses
    kept = order[losses < best_before]
    return Envelope(step[kept], loss[kept], kept)


def steps_to_targets(envelopes: Sequence[Envelope], targets: Floats) -> Floats:
    """Least steps, targets by studies; inf where a study never reaches a target."""
    if not envelopes:
        return np.empty((len(targets), 0))
    return np.stack([envelope.steps_to(targets) for envelope in envelopes], axis=1)


def best_losses(envelopes: Sequence[Envelope]) -> Floats:
    """By study, the best loss of all; inf for a study without any."""
    return np.array([envelope.loss[-1] if len(envelope.loss) else np.inf for envelope in envelopes])


def breakpoints(envelopes: Sequence[Envelope]) -> Floats:
    """Every target at which steps to target, or whose they are, change for some study; ascending, in exact float64.

    Between neighbours a < b nothing changes: all targets in (a, b] have the answers of b, those up to the first of the
    list have no result, and those above the last have the answers of infinity.
    """
    losses = [envelope.loss for envelope in envelopes]
    return np.unique(np.concatenate(losses)) if losses else np.empty(0)


@dataclass(frozen=True)
class Reach:
    """How far the studies of a workload get. hardest_for_all: t_all, the worst over batch sizes of the best loss: every
    study gets better than any target above it. limiting: index of the study that sets it. hardest_for_any: the best
    loss of all. None where not every study, or none, has a finite loss.
    """

    hardest_for_all: float | None
    limiting: int | None
    hardest_for_any: float | None


def reach(envelopes: Sequence[Envelope]) -> Reach:
    """What the hardest targets are (METHODS 3.6)."""
    best = best_losses(envelopes)
    is_known = np.isfinite(best)
    if not is_known.any():
        return Reach(None, None, None)
    limiting = int(best.argmax()) if is_known.all() else None
    worst = float(best.max()) if limiting is not None else None
    return Reach(worst, limiting, float(best.min()))


def coverage(steps: Floats) -> Floats:
    """The share of studies that reach each target. steps: targets by studies, inf for never; NaN without studies."""
    if not steps.shape[1]:
        return np.full(len(steps), np.nan)
    share: Floats = np.isfinite(steps).mean(axis=1)
    return share


def chosen_targets(envelopes: Sequence[Envelope], count: int) -> Floats:
    """So many targets for which something changes, from the easiest to the hardest, evenly by rank among breakpoints.

    The hardest is reached by one batch size at least; the easiest by none at its very first evaluation, if there is
    such a one. Fewer than `count` where fewer things change; none without finite losses.
    """
    points = breakpoints(envelopes)
    if not len(points):
        return points
    # A target equal to the least loss of all is not reached, so it is no target to look at.
    candidates = points[1:] if len(points) > 1 else np.nextafter(points, np.inf)
    easiest = min(float(each.loss[each.step == each.step[0]].min()) for each in envelopes if len(each.loss))
    useful = candidates[candidates <= easiest]
    candidates = useful if len(useful) else candidates
    ranks = np.unique(np.linspace(0, len(candidates) - 1, min(count, len(candidates))).round().astype(np.int64))
    return candidates[ranks][::-1]


@dataclass(frozen=True)
class TargetInterval:
    """Targets as losses: above `hardest` (itself not included), up to and including `easiest`; inf for all above."""

    hardest: float
    easiest: float


def holding_intervals(points: Floats, holds: Flags) -> list[TargetInterval]:
    """Where a claim holds, exactly, from the hardest targets on.

    points: (k,) the breakpoints, ascending. holds: (k,), whether it holds between each and the next, for targets in
    (points[i], points[i + 1]]; the last goes on to infinity.
    """
    edges = np.diff(np.concatenate([[False], holds, [False]]).astype(np.int8))
    ends = np.append(points, np.inf)
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [TargetInterval(float(ends[a]), float(ends[b])) for a, b in zip(starts, stops, strict=True)]


@dataclass(frozen=True)
class Ranks:
    """How workloads compare at each target; arrays of workloads by targets.

    mean_rank: over the shared batch sizes at which any reached the target, 1 for the fewest steps, ties shared, never
    after all that reached; NaN where none reached it. n_fewest: at how many of these none needed fewer steps.
    n_compared: (targets,), how many these are.
    """

    mean_rank: Floats
    n_fewest: Integers
    n_compared: Integers


def ranks(steps: Sequence[Floats]) -> Ranks:
    """Rank workloads at each target. steps: of each workload, targets by shared batch sizes; inf for never.

    Ranks go by batch size, never by mean steps: an order can flip with batch size (METHODS 5.3).
    """
    stacked = np.stack(steps)
    is_compared = np.isfinite(stacked).any(axis=0)
    counts = is_compared.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        mean = np.where(is_compared, scipy.stats.rankdata(stacked, axis=0), 0.0).sum(axis=-1) / counts
    is_fewest = (stacked <= stacked.min(axis=0)) & np.isfinite(stacked)
    return Ranks(mean, is_fewest.sum(axis=-1).astype(np.int64), counts.astype(np.int64))

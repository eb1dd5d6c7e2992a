"""The lower envelope of a study: the best loss of any of its trials as a strictly falling function of the step.

The first entry below a target gives the steps to that target, for every target at once; the last entry within a budget
gives the best loss within it. So scaling is an exact function of the target: which targets are useful, which studies
reach them, and for which targets a claim holds. Source: METHODS 3.6, 6.1 (proof that records suffice).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from losslake_schema.reached import NEVER, Flags, Floats, Integers, best_before


@dataclass(frozen=True)
class Envelope:
    """The envelope of one study.

    step: ascending, not strictly. loss: strictly falling, lower is better. previous_step: of the evaluation before.
    """

    step: Integers
    loss: Floats
    previous_step: Integers

    def first_hits(self, targets: Floats) -> Integers:
        """Return, per target, the first entry with a loss strictly below it; NEVER for none and for NaN."""
        first = np.searchsorted(-self.loss, -targets, side="right")
        return np.where((first < len(self.loss)) & ~np.isnan(targets), first, NEVER)

    def steps_to(self, targets: Floats) -> Floats:
        """Return the steps to each target; inf if it is never reached."""
        hits = self.first_hits(targets)
        return np.where(hits != NEVER, self.step[hits], np.inf) if len(self.step) else np.full(len(targets), np.inf)


def lower_envelope(step: Integers, loss: Floats, previous_step: Integers) -> Envelope:
    """Return the envelope of the evaluations of one study.

    step, loss, previous_step: (evaluations,), trial by trial in the order of trial_id; records alone are enough and
    faster. Among evaluations at the same step the lower trial_id goes first, so steps to any target and the trial that
    needs them equal those of a search by (step, trial_id), for either comparator. Non-finite values are ignored.
    Source: compute_steps_to_result of Shallue et al. 2019 (order); METHODS 6.1 (proof).
    """
    order = np.argsort(step, kind="stable")
    losses = np.where(np.isfinite(loss), loss, np.inf)[order]
    rows = order[losses < best_before(losses)]
    return Envelope(step[rows], loss[rows], previous_step[rows])


def steps_to_targets(envelopes: Sequence[Envelope], targets: Floats) -> Floats:
    """Return the steps to each target by study, shape (targets, studies); inf if a study never reaches a target."""
    if not envelopes:
        return np.empty((len(targets), 0))
    return np.stack([envelope.steps_to(targets) for envelope in envelopes], axis=1)


def best_losses(envelopes: Sequence[Envelope]) -> Floats:
    """Return the best loss of each study; inf for a study without finite losses."""
    return np.array([envelope.loss[-1] if len(envelope.loss) else np.inf for envelope in envelopes])


def breakpoints(envelopes: Sequence[Envelope]) -> Floats:
    """Return every target at which the steps, or the trial that needs them, change for any study; ascending.

    Exact float64 values. Between neighbours a < b nothing changes: all targets in (a, b] have the result of b. Targets
    up to the first breakpoint have no result; those above the last have the result of infinity.
    """
    losses = [envelope.loss for envelope in envelopes]
    return np.unique(np.concatenate(losses)) if losses else np.empty(0)


@dataclass(frozen=True)
class Reach:
    """The hardest targets that the studies of a workload reach.

    hardest_for_all: the worst over studies of their best loss; every study reaches any target above it. limiting: index
    of the study that sets it. Both are None unless every study has a finite loss. hardest_for_any: the best loss of any
    study; None if no study has a finite loss.
    """

    hardest_for_all: float | None
    limiting: int | None
    hardest_for_any: float | None


def reach(envelopes: Sequence[Envelope]) -> Reach:
    """Return the hardest targets that all studies, and any study, reach (METHODS 3.6)."""
    best = best_losses(envelopes)
    is_known = np.isfinite(best)
    if not is_known.any():
        return Reach(None, None, None)
    limiting = int(best.argmax()) if is_known.all() else None
    worst = float(best.max()) if limiting is not None else None
    return Reach(worst, limiting, float(best.min()))


def coverage(steps: Floats) -> Floats:
    """Return the share of studies that reach each target; NaN without studies.

    steps: (targets, studies), inf for never.
    """
    if not steps.shape[1]:
        return np.full(len(steps), np.nan)
    share: Floats = np.isfinite(steps).mean(axis=1)
    return share


def chosen_targets(envelopes: Sequence[Envelope], count: int) -> Floats:
    """Return up to `count` targets from the easiest to the hardest, evenly spaced by rank among the breakpoints.

    The hardest is reached by at least one study. The easiest is reached by none at its first evaluation, where such
    targets exist. Empty without finite losses.
    """
    points = breakpoints(envelopes)
    if not len(points):
        return points
    # The least loss is not a useful target: no study gets strictly below it.
    candidates = points[1:] if len(points) > 1 else np.nextafter(points, np.inf)
    easiest = min(float(each.loss[each.step == each.step[0]].min()) for each in envelopes if len(each.loss))
    useful = candidates[candidates <= easiest]
    candidates = useful if len(useful) else candidates
    ranks = np.unique(np.linspace(0, len(candidates) - 1, min(count, len(candidates))).round().astype(np.int64))
    return candidates[ranks][::-1]


@dataclass(frozen=True)
class TargetInterval:
    """The targets, as losses, in (hardest, easiest]; easiest is inf if there is no upper end."""

    hardest: float
    easiest: float


def holding_intervals(points: Floats, holds: Flags) -> list[TargetInterval]:
    """Return the exact intervals of targets for which a claim holds, the hardest first.

    points: (k,), the breakpoints, ascending. holds: (k,), True if the claim holds for targets in
    (points[i], points[i + 1]]; the last interval extends to infinity.
    """
    edges = np.diff(np.concatenate([[False], holds, [False]]).astype(np.int8))
    ends = np.append(points, np.inf)
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [TargetInterval(float(ends[a]), float(ends[b])) for a, b in zip(starts, stops, strict=True)]


@dataclass(frozen=True)
class Ranks:
    """The ranks of workloads at each target; arrays of shape (workloads, targets).

    mean_rank: over the shared batch sizes at which any workload reached the target; 1 for the fewest steps, ties share
    their mean rank, workloads that never reach come last; NaN if none reached it. n_fewest: at how many of these batch
    sizes no workload needed fewer steps. n_compared: (targets,), the number of these batch sizes.
    """

    mean_rank: Floats
    n_fewest: Integers
    n_compared: Integers


def ranks(steps: Sequence[Floats]) -> Ranks:
    """Rank workloads at each target.

    steps: for each workload (targets, shared batch sizes), inf for never. Ranks are taken per batch size, not of mean
    steps, since the order of workloads can change with the batch size (METHODS 5.3).
    """
    import scipy  # here, since the most frequent question doesn't need it

    stacked = np.stack(steps)
    is_compared = np.isfinite(stacked).any(axis=0)
    counts = is_compared.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        mean = np.where(is_compared, scipy.stats.rankdata(stacked, axis=0), 0.0).sum(axis=-1) / counts
    is_fewest = (stacked <= stacked.min(axis=0)) & np.isfinite(stacked)
    return Ranks(mean, is_fewest.sum(axis=-1).astype(np.int64), counts.astype(np.int64))

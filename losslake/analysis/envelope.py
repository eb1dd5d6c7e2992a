"""The lower envelope of a study: of all its trials' records those that no trial bettered before.

It answers "how many steps to this target?" for every target at once, and "what is best within this budget?" for every
budget, since both are first and last entries of one strictly falling staircase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from losslake_schema.reached import NEVER, Floats, Integers


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

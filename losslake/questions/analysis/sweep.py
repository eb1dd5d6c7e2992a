"""A workload's scaling at many targets, from the lower envelopes of its studies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from losslake.analysis.break_points_of_curves import BreakPoints, max_useful, perfect_ends
from losslake.analysis.envelope import steps_to_targets
from losslake.analysis.identified_fits import IdentifiedFits, identified_fits
from losslake.questions.analysis.envelopes import StudyEnvelopes
from losslake.questions.search import Search, at
from losslake_schema.reached import NEVER, Floats, Integers


@dataclass(frozen=True)
class Sweep:
    """By target and study of one workload. targets: as losses to be beaten strictly."""

    merged: StudyEnvelopes
    targets: Floats

    @property
    def found(self) -> Search:
        return self.merged.found

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        return self.found.facts.batch_sizes

    @cached_property
    def steps(self) -> Floats:
        """Least steps, targets by studies; inf for never."""
        return steps_to_targets(self.merged.envelopes, self.targets)

    @cached_property
    def usable_steps(self) -> Floats:
        """The same, NaN where there is no logarithm: at batch size 0, or where the target was reached at step 0."""
        return np.where((self.steps > 0) & (np.asarray(self.batch_sizes) > 0), self.steps, np.nan)

    @cached_property
    def previous_steps(self) -> Floats:
        """Of the trials with these, the step of the evaluation before; NaN for none."""
        previous = np.full(self.steps.shape, np.nan)
        for study, envelope in enumerate(self.merged.envelopes):
            hits = envelope.first_hits(self.targets)
            is_hit = hits != NEVER
            steps = at(self.found.records.previous_step, envelope.row[hits[is_hit]])
            previous[is_hit, study] = np.where(steps >= 0, steps, np.nan)
        return previous

    @cached_property
    def ran(self) -> Integers:
        """By study, the last step that any admitted trial ran to; -1 for none."""
        return self.found.last_steps

    def perfect_ends(self) -> BreakPoints:
        """By target, where perfect scaling ends."""
        return perfect_ends(self.batch_sizes, self.usable_steps, censored_at=self.ran)

    def max_useful(self) -> BreakPoints:
        """By target, the batch size that no larger one betters by much."""
        return max_useful(self.usable_steps)

    def fits(self) -> IdentifiedFits:
        """By target, the fit, or why there is none."""
        sizes = np.asarray(self.batch_sizes, np.float64)
        kept = sizes > 0
        return identified_fits(sizes[kept], self.usable_steps[:, kept], self.ran[kept], self.previous_steps[:, kept])

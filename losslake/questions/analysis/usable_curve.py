"""The part of a scaling curve that can be drawn on logarithmic axes, and in words what is left out of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.questions.analysis.scaling_curve import ScalingCurve, never_reached
from losslake.questions.search import Search
from losslake_schema.reached import Flags, Floats, Integers


@dataclass(frozen=True)
class UsableCurve:
    """The studies with a batch size and steps above 0, or that never reached the target; by ascending batch size.

    measured: all studies. studies: the index of each usable one among them. steps: inf for never.
    """

    found: Search
    measured: ScalingCurve
    studies: Integers

    @property
    def name(self) -> str:
        return str(self.found.facts.workload)

    @property
    def batch_sizes(self) -> Floats:
        return self.measured.batch_sizes[self.studies]

    @property
    def steps(self) -> Floats:
        return self.measured.steps[self.studies]

    @property
    def previous_steps(self) -> Floats:
        return self.measured.previous_steps[self.studies]

    @property
    def censored_at(self) -> Floats:
        """Steps that never-reached studies ran to."""
        return self.measured.censored_at[self.studies].astype(np.float64)

    @property
    def is_reached(self) -> Flags:
        return np.isfinite(self.steps)

    @property
    def n_reached(self) -> int:
        """How many batch sizes reached the target."""
        return int(self.is_reached.sum())

    def left_out(self) -> list[str]:
        """In words, the batch sizes that have no steps to use."""
        curve = self.measured
        at_once, sizeless = curve.is_reached & (curve.steps <= 0), curve.batch_sizes <= 0
        found = never_reached(self.found, curve)
        if at_once.any():
            found.append(
                f"{self.name}: the target is reached at step 0 at batch size {self._listed(at_once)}: give a harder one"
            )
        if sizeless.any():
            found.append(f"{self.name}: batch size {self._listed(sizeless)} has no place on a logarithmic scale")
        return found

    def _listed(self, studies: Flags) -> str:
        return ", ".join(str(self.found.facts.batch_sizes[index]) for index in np.flatnonzero(studies))


def usable_curve(found: Search, measured: ScalingCurve) -> UsableCurve:
    """The curve of a workload as the fits take it. measured: all of it, by the same search."""
    usable = (measured.batch_sizes > 0) & (measured.steps > 0)
    return UsableCurve(found, measured, np.flatnonzero(usable).astype(np.int64))

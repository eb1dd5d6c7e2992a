"""The part of a scaling curve that can be fitted on logarithmic axes, and in words what is left out of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from losslake.analysis.log_curves import ScalingShape
from losslake.questions.trials.batch_size_words import listed
from losslake.questions.trials.scaling_curve import ScalingCurve, never_reached
from losslake.questions.trials.search import Search
from losslake.questions.trials.step_warnings import coarse_studies, unequal_searches
from losslake_schema.reached import NEVER, Flags, Floats, Integers


@dataclass(frozen=True)
class UsableCurve:
    """The studies with a batch size and steps above 0, or that never reached the target; by ascending batch size.

    measured: all studies. studies: the index of each usable one among them. steps: inf for never.
    """

    search: Search
    measured: ScalingCurve
    studies: Integers

    @property
    def name(self) -> str:
        """The workload."""
        return str(self.search.facts.workload)

    @property
    def batch_sizes(self) -> Floats:
        """The batch sizes of the usable studies."""
        return self.measured.batch_sizes[self.studies]

    @property
    def steps(self) -> Floats:
        """The fewest steps; inf for never."""
        return self.measured.steps[self.studies]

    @property
    def previous_steps(self) -> Floats:
        """The steps of the evaluations before; NaN for none."""
        return self.measured.previous_steps[self.studies]

    @property
    def censored_at(self) -> Floats:
        """The last steps of studies that never reached the target."""
        return self.measured.censored_at[self.studies].astype(np.float64)

    @property
    def is_reached(self) -> Flags:
        """True where the target was reached."""
        return np.isfinite(self.steps)

    @property
    def n_reached(self) -> int:
        """The number of batch sizes that reached the target."""
        return int(self.is_reached.sum())

    def left_out(self) -> list[str]:
        """Return in words the batch sizes without usable steps."""
        curve = self.measured
        at_once, sizeless = curve.is_reached & (curve.steps <= 0), curve.batch_sizes <= 0
        texts = [*never_reached(self.search, curve)]
        if at_once.any():
            texts.append(
                f"{self.name}: the target is reached at step 0 at batch size {self._listed(at_once)}: give a harder one"
            )
        if sizeless.any():
            texts.append(f"{self.name}: batch size {self._listed(sizeless)} can't be placed on a logarithmic scale")
        return texts

    def _listed(self, studies: Flags) -> str:
        return ", ".join(str(self.search.facts.batch_sizes[index]) for index in np.flatnonzero(studies))


def usable_curve(search: Search, measured: ScalingCurve) -> UsableCurve:
    """Return the part of a curve that can be fitted. measured: the whole curve, of the same search."""
    usable = (measured.batch_sizes > 0) & (measured.steps > 0)
    return UsableCurve(search, measured, np.flatnonzero(usable).astype(np.int64))


def curve_warnings(curve: UsableCurve, shape: ScalingShape) -> Iterator[str]:
    """Yield warnings: coarse evaluations, unequal searches, batch sizes that need more steps than smaller ones."""
    measured = curve.measured
    yield from unequal_searches(curve.name, measured.n_trials.tolist(), "trials= takes equally many")
    counts = measured.is_reached.copy()
    counts[np.setdiff1d(np.arange(len(counts)), curve.studies)] = False
    steps, previous = (
        np.where(np.isfinite(each), each, NEVER).astype(np.int64) for each in (measured.steps, measured.previous_steps)
    )
    yield from coarse_studies(curve.search, counts, steps, previous)
    if shape.is_undertuned.any():
        sizes = listed(curve.batch_sizes[shape.is_undertuned])
        yield f"{curve.name}: batch size {sizes} needs more steps than a smaller one: tuned worse, or noise"

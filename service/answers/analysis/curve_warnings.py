"""What to know of steps by batch size before anything is read off them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from service.analysis.scaling_shape import ScalingShape
from service.answers.analysis.usable_curve import UsableCurve

COARSE = 0.05


def curve_warnings(curve: UsableCurve, shape: ScalingShape) -> Iterator[str]:
    """In words: coarse evaluations, unequal searches, batch sizes that need more steps than smaller ones."""
    measured = curve.measured
    trials = measured.n_trials[measured.n_trials > 0]
    if len(trials) and trials.min() != trials.max():
        yield (
            f"{curve.name}: batch sizes have {trials.min()} to {trials.max()} trials, and the best of more is better "
            "by chance; trials= takes equally many"
        )
    with np.errstate(invalid="ignore"):
        resolution = (curve.steps - curve.previous_steps) / curve.steps
        coarse = curve.is_reached & (resolution > COARSE)
    if coarse.any():
        yield (
            f"{curve.name}: evaluations are up to {resolution[coarse].max():.0%} of the steps apart at batch size "
            f"{listed(curve, np.flatnonzero(coarse).tolist())}, so steps are known no better there"
        )
    first = curve.is_reached & np.isnan(curve.previous_steps)
    if first.any():
        yield (
            f"{curve.name}: the first evaluation reached the target already at batch size "
            f"{listed(curve, np.flatnonzero(first).tolist())}: fewer steps may do"
        )
    if shape.is_undertuned.any():
        yield (
            f"{curve.name}: batch size {listed(curve, np.flatnonzero(shape.is_undertuned).tolist())} needs more steps "
            "than a smaller one: tuned worse, or noise"
        )


def lone_batch_size(name: str, batch_size: float) -> str:
    """In words, that a workload has a result at one batch size only."""
    return f"{name}: only batch size {batch_size:,.0f} reached the target: there is nothing to compare it with"


def listed(curve: UsableCurve, indices: Sequence[int]) -> str:
    """Batch sizes in words."""
    return ", ".join(f"{curve.batch_sizes[index]:g}" for index in indices)

"""What to know of steps by batch size before anything is read off them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from losslake.analysis.scaling_shape import ScalingShape
from losslake.questions.analysis.usable_curve import UsableCurve
from losslake.questions.coarseness import coarse_studies
from losslake.questions.in_words import listed, unequal_searches
from losslake_schema.reached import NEVER


def curve_warnings(curve: UsableCurve, shape: ScalingShape) -> Iterator[str]:
    """In words: coarse evaluations, unequal searches, batch sizes that need more steps than smaller ones."""
    measured = curve.measured
    yield from unequal_searches(curve.name, measured.n_trials.tolist(), "trials= takes equally many")
    counts = measured.is_reached.copy()
    counts[np.setdiff1d(np.arange(len(counts)), curve.studies)] = False
    steps, previous = (
        np.where(np.isfinite(own), own, NEVER).astype(np.int64) for own in (measured.steps, measured.previous_steps)
    )
    yield from coarse_studies(curve.found, counts, steps, previous)
    if shape.is_undertuned.any():
        sizes = listed(curve.batch_sizes[shape.is_undertuned])
        yield f"{curve.name}: batch size {sizes} needs more steps than a smaller one: tuned worse, or noise"

"""Warnings, in words, about steps to target: unequal searches and evaluations that are far apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from losslake.analysis.crossings import COARSE, resolution
from losslake.questions.trials.batch_size_words import listed
from losslake.questions.trials.search import Search
from losslake_schema.names import CHANGES
from losslake_schema.reached import NEVER, Flags, Integers


def unequal_searches(name: str, n_trials: Sequence[int], advice: str = "trials= takes equally many") -> Iterator[str]:
    """Yield a warning if batch sizes differ in their trials. n_trials: by batch size; those without any don't count."""
    counts = [count for count in n_trials if count]
    if counts and min(counts) != max(counts):
        yield (
            f"{name}: batch sizes have {min(counts)} to {max(counts)} trials, and the best of more is better by "
            f"chance: {advice}"
        )


def lone_batch_size(name: str, batch_size: float) -> str:
    """Return the warning that a workload has a result at one batch size only."""
    return f"{name}: only batch size {batch_size:.0f} reached the target: there is nothing to compare it with"


def coarse_studies(search: Search, is_reached: Flags, steps: Integers, previous_steps: Integers) -> Iterator[str]:
    """Yield warnings about batch sizes whose crossing is known less precisely than COARSE.

    is_reached: by study, whether it counts. steps, previous_steps: between which it crosses; NEVER for none before.
    """
    relative = np.where(is_reached, resolution(steps, previous_steps), 0.0)
    sizes = np.asarray(search.facts.batch_sizes)
    wide, open_ended = (relative > COARSE) & np.isfinite(relative), np.isinf(relative)
    if wide.any():
        yield (
            f"{search.facts.workload}: evaluations are far apart {_at(sizes[wide])}, where the "
            f"crossing may lie up to {relative[wide].max():.0%} below steps: see previous_step"
        )
    if open_ended.any():
        yield (
            f"{search.facts.workload}: the first evaluation reached the target "
            f"{_at(sizes[open_ended])}, so the crossing may lie anywhere before it"
        )


def _at(batch_sizes: Integers) -> str:
    fixed = batch_sizes[batch_sizes != CHANGES]
    if not len(fixed):
        return "in trials whose batch size changes"
    return f"at batch size {listed(fixed)}" + (
        " and in trials whose batch size changes" if len(fixed) < len(batch_sizes) else ""
    )


def coarse_trials(search: Search, hits: Integers, steps: Integers, previous_steps: Integers) -> Iterator[str]:
    """Yield a warning about trials whose crossing is known less precisely than COARSE."""
    reached = hits != NEVER
    n_coarse = int((resolution(steps, previous_steps)[reached] > COARSE).sum())
    if n_coarse:
        yield (
            f"{search.facts.workload}: in {n_coarse} of {int(reached.sum())} trials that reached the target, the "
            f"previous evaluation is more than {COARSE:.0%} of the steps earlier, and the crossing lies in between: "
            "see previous_step"
        )

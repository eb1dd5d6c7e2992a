"""Warnings, in words, about steps to target that the logs' evaluations don't pin down."""

from __future__ import annotations

import numpy as np

from losslake.analysis.crossings import COARSE, resolution
from losslake.questions.in_words import listed
from losslake.questions.search import Search
from losslake_schema.reached import NEVER, Flags, Integers


def coarse_studies(found: Search, is_reached: Flags, steps: Integers, previous_steps: Integers) -> list[str]:
    """The batch sizes whose best trial's crossing is known worse than COARSE.

    is_reached: by study, whether it counts. steps, previous_steps: between which it crosses; NEVER for none before.
    """
    relative = np.where(is_reached, resolution(steps, previous_steps), 0.0)
    if not (relative > COARSE).any():
        return []
    sizes = np.asarray(found.facts.batch_sizes)
    wide, open_ended = (relative > COARSE) & np.isfinite(relative), np.isinf(relative)
    texts = []
    if wide.any():
        texts.append(
            f"{found.facts.workload}: evaluations are far apart at batch size {listed(sizes[wide])}, where the "
            f"crossing may lie up to {relative[wide].max():.0%} below steps: see previous_step"
        )
    if open_ended.any():
        texts.append(
            f"{found.facts.workload}: the first evaluation reached the target at batch size "
            f"{listed(sizes[open_ended])}, so the crossing may lie anywhere before it"
        )
    return texts


def coarse_trials(found: Search, hits: Integers, steps: Integers, previous_steps: Integers) -> list[str]:
    """How many trials that reach the target do so at a step that is known worse than COARSE."""
    reached = hits != NEVER
    n_coarse = int((resolution(steps, previous_steps)[reached] > COARSE).sum())
    if not n_coarse:
        return []
    text = f"in {n_coarse} of {int(reached.sum())} trials that reached the target, the evaluation before is more than"
    return [
        f"{found.facts.workload}: {text} {COARSE:.0%} of the steps earlier, the crossing in between: see previous_step"
    ]

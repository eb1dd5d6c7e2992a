"""Phrases of warnings.

Batch sizes in words: 1 to 8, 32 and 64.
Warnings, in words, about steps to target that the logs' evaluations don't pin down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from losslake.analysis.crossings import COARSE, resolution
from losslake.questions.search import Search
from losslake_schema.reached import NEVER, Flags, Integers

_MOST_LISTED = 12


def listed(batch_sizes: Iterable[float]) -> str:
    """Return batch sizes separated by commas, with all digits; of more than 12, the ends and the number."""
    texts = [str(int(size)) for size in batch_sizes]
    if len(texts) <= _MOST_LISTED:
        return ", ".join(texts)
    return f"{', '.join(texts[:3])}, …, {texts[-1]} ({len(texts)} of them)"


def unequal_searches(name: str, n_trials: Sequence[int], advice: str) -> Iterator[str]:
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


_LEAST_RANGE = 3


def size_ranges(sizes: Iterable[int], among: Sequence[int]) -> str:
    """Return batch sizes in words; three or more that are successive in `among` become a range.

    among: ascending, with all of the sizes. So "1 to 8" means every one of those there from 1 to 8.
    """
    wanted = set(sizes)
    runs: list[list[int]] = []
    is_going = False
    for size in among:
        if size in wanted and is_going:
            runs[-1].append(size)
        elif size in wanted:
            runs.append([size])
        is_going = size in wanted
    parts = [
        part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) >= _LEAST_RANGE else map(str, run))
    ]
    return joined(parts)


def at_sizes(sizes: Sequence[int], among: Sequence[int]) -> str:
    """Return the same with its noun: batch sizes 1 to 8 and 32."""
    return f"batch size{'s' if len(sizes) > 1 else ''} {size_ranges(sizes, among)}"


def joined(parts: Sequence[str]) -> str:
    """Join parts as in a sentence: a, b and c."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def coarse_studies(search: Search, is_reached: Flags, steps: Integers, previous_steps: Integers) -> list[str]:
    """Return a warning about batch sizes whose crossing is known less precisely than COARSE.

    is_reached: by study, whether it counts. steps, previous_steps: between which it crosses; NEVER for none before.
    """
    relative = np.where(is_reached, resolution(steps, previous_steps), 0.0)
    if not (relative > COARSE).any():
        return []
    sizes = np.asarray(search.facts.batch_sizes)
    wide, open_ended = (relative > COARSE) & np.isfinite(relative), np.isinf(relative)
    texts = []
    if wide.any():
        texts.append(
            f"{search.facts.workload}: evaluations are far apart at batch size {listed(sizes[wide])}, where the "
            f"crossing may lie up to {relative[wide].max():.0%} below steps: see previous_step"
        )
    if open_ended.any():
        texts.append(
            f"{search.facts.workload}: the first evaluation reached the target at batch size "
            f"{listed(sizes[open_ended])}, so the crossing may lie anywhere before it"
        )
    return texts


def coarse_trials(search: Search, hits: Integers, steps: Integers, previous_steps: Integers) -> list[str]:
    """Return a warning about trials whose crossing is known less precisely than COARSE."""
    reached = hits != NEVER
    n_coarse = int((resolution(steps, previous_steps)[reached] > COARSE).sum())
    if not n_coarse:
        return []
    text = f"in {n_coarse} of {int(reached.sum())} trials that reached the target, the previous evaluation is more than"
    return [
        (
            f"{search.facts.workload}: {text} {COARSE:.0%} of the steps earlier, and the crossing lies in between: "
            "see previous_step"
        )
    ]

"""Phrases that the answers' warnings share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def listed(batch_sizes: Iterable[float]) -> str:
    """Batch sizes, with all of their digits."""
    return ", ".join(str(int(size)) for size in batch_sizes)


def unequal_searches(name: str, n_trials: Sequence[int], advice: str) -> Iterator[str]:
    """That batch sizes have unequally many trials; n_trials: by batch size, of which those without any don't count."""
    counts = [count for count in n_trials if count]
    if counts and min(counts) != max(counts):
        yield (
            f"{name}: batch sizes have {min(counts)} to {max(counts)} trials, and the best of more is better by "
            f"chance: {advice}"
        )


def lone_batch_size(name: str, batch_size: float) -> str:
    """That a workload has a result at one batch size only."""
    return f"{name}: only batch size {batch_size:.0f} reached the target: there is nothing to compare it with"


def not_admitted(name: str, n_trials: int) -> Iterator[str]:
    """How many trials the selection leaves out, if it does."""
    if n_trials:
        yield f"{name}: {n_trials} trials of another status, or beyond the first so many"

"""Batch sizes in words: 1 to 8, 32 and 64."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from losslake_schema.names import size_name
from losslake_schema.quantities import plural

_MOST_LISTED = 12


def listed(batch_sizes: Iterable[float]) -> str:
    """Return batch sizes separated by commas, with all digits; of more than 12, the ends and the number."""
    texts = [size_name(int(size)) for size in batch_sizes]
    if len(texts) <= _MOST_LISTED:
        return ", ".join(texts)
    return f"{', '.join(texts[:3])}, …, {texts[-1]} ({len(texts)} of them)"


_LEAST_RANGE = 3


def size_ranges(sizes: Iterable[int], among: Sequence[int]) -> str:
    """Return batch sizes in words; three or more that are successive in `among` become a range.

    among: ascending, with all of the sizes. So "1 to 8" means every one of those there from 1 to 8.
    """
    wanted = set(sizes)
    runs = [[*run] for is_wanted, run in groupby(among, wanted.__contains__) if is_wanted]
    parts = [
        part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) >= _LEAST_RANGE else map(str, run))
    ]
    return joined(parts)


def at_sizes(sizes: Sequence[int], among: Sequence[int]) -> str:
    """Return the same with its noun: batch sizes 1 to 8 and 32."""
    return f"{plural('batch size', len(sizes))} {size_ranges(sizes, among)}"


def joined(parts: Sequence[str]) -> str:
    """Join parts as in a sentence: a, b and c."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)

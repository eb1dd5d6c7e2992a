"""Numbers as the sentences have them."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_LISTED = 6


def rough(number: float, digits: int = 2) -> str:
    """To two significant digits, as an estimate deserves: 13, 1,200, 0.0071."""
    return f"{float(f'{number:.{digits}g}'):,.12g}"


def estimate_words(value: float, lower: float | None, upper: float | None) -> tuple[str, str, str]:
    """An estimate with its interval, to three digits where two don't tell them apart; empty for an end that isn't."""
    for digits in (2, 3):
        words = rough(value, digits)
        ends = ["" if end is None else rough(end, digits) for end in (lower, upper)]
        if words not in ends:
            break
    return words, ends[0], ends[1]


def percent(share: float) -> str:
    """A tolerance: 20%."""
    return f"{share:.0%}"


def size_list(batch_sizes: Sequence[int]) -> str:
    """Batch sizes 1, 2 and 4; of many only how many there are."""
    if len(batch_sizes) > _MOST_LISTED:
        return f"{len(batch_sizes)} batch sizes, {batch_sizes[0]:,} to {batch_sizes[-1]:,}"
    words = [f"{size:,}" for size in batch_sizes]
    if len(words) == 1:
        return f"batch size {words[0]}"
    return f"batch sizes {', '.join(words[:-1])} and {words[-1]}"

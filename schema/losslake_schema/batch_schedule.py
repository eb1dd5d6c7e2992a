"""The batch size of a trial that changes it: pieces of steps, each with one size.

A trial has it as the attribute `batch_schedule`, JSON such as `[[0, 64], [1000, 128]]`: updates 1 to 1000 use 64, later
ones 128. Mappings write the same as `0:64 1000:128`.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from losslake_schema.names import LARGEST_INTEGER, natural_number
from losslake_schema.reached import Floats, Integers

ATTRIBUTE, NAME_ATTRIBUTE = "batch_schedule", "batch_schedule_name"
MOST_PIECES = 10_000
_LARGEST_STEP = 2**53
_MOST_NAMED = 6


@dataclass(frozen=True)
class BatchSchedule:
    """Batch sizes by step: updates starts[i] + 1 to starts[i + 1] use sizes[i]; the last piece has no end."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]

    @staticmethod
    def of_text(text: str) -> BatchSchedule:
        """Read `0:64 1000:128`. Raises ValueError with what is wrong."""
        pieces = [piece.partition(":") for piece in text.split()]
        numbers = [(natural_number(start), natural_number(size)) for start, _, size in pieces]
        for (start, size), piece in zip(numbers, text.split(), strict=True):
            if start is None or size is None:
                raise ValueError(f"'{piece[:40]}' is not STEP:BATCH_SIZE")
        return BatchSchedule.of_pieces((start or 0, size or 0) for start, size in numbers)

    @staticmethod
    def of_json(text: str) -> BatchSchedule:
        """Read the attribute of a trial. Raises ValueError with what is wrong."""
        pieces = json.loads(text)
        if not isinstance(pieces, list) or not all(_is_piece(piece) for piece in pieces):
            raise ValueError("it is not a list of [from_step, batch_size]")
        return BatchSchedule.of_pieces(pieces)

    @staticmethod
    def of_pieces(pieces: Iterable[Iterable[int]]) -> BatchSchedule:
        """Return the schedule of [from_step, batch_size] in order, equal neighbours as one. Raises ValueError."""
        starts, sizes = list[int](), list[int]()
        last = -1
        for start, size in pieces:
            if start <= last or (last < 0 and start != 0):
                raise ValueError(f"its steps must ascend from 0, and {start} follows {max(last, 0)}")
            if not 0 < size <= LARGEST_INTEGER or start > _LARGEST_STEP:
                raise ValueError(f"from step {start} on it has a batch size of {size}, not an integer above 0")
            last = start
            if not sizes or sizes[-1] != size:
                starts.append(start)
                sizes.append(size)
        if not starts or len(starts) > MOST_PIECES:
            raise ValueError(f"it has {len(starts)} pieces, not 1 to {MOST_PIECES:,}")
        schedule = BatchSchedule(tuple(starts), tuple(sizes))
        if schedule.examples_before[-1] > LARGEST_INTEGER:
            raise ValueError(f"its first {starts[-1]:,} steps have more examples than fit in 64 bits")
        return schedule

    @property
    def pieces(self) -> list[list[int]]:
        """The pieces, as the attribute has them."""
        return [[start, size] for start, size in zip(self.starts, self.sizes, strict=True)]

    @property
    def name(self) -> str:
        """The name of the schedule unless it has one: its sizes in order, of many the first and the last."""
        sizes = list(map(str, self.sizes))
        return "-".join(sizes if len(sizes) <= _MOST_NAMED else [*sizes[: _MOST_NAMED // 2], "…", sizes[-1]])

    @cached_property
    def examples_before(self) -> list[int]:
        """The examples before each piece."""
        totals = [0]
        for (start, end), size in zip(pairwise(self.starts), self.sizes, strict=False):
            totals.append(totals[-1] + (end - start) * size)
        return totals

    def examples(self, step: int) -> int:
        """Return the examples of the first `step` updates, exactly."""
        piece = max(bisect_left(self.starts, step) - 1, 0)
        return self.examples_before[piece] + (step - self.starts[piece]) * self.sizes[piece]

    def examples_at(self, steps: Integers) -> Floats:
        """Return the examples of the first so many updates, as float64. steps: (n,), from 0."""
        piece = np.maximum(np.searchsorted(np.array(self.starts), steps) - 1, 0)
        before, sizes = np.array(self.examples_before, np.float64), np.array(self.sizes, np.float64)
        examples: Floats = before[piece] + (steps - np.array(self.starts)[piece]) * sizes[piece]
        return examples

    def last_step_within(self, examples: int) -> int:
        """Return the largest number of updates that have at most so many examples."""
        piece = max(bisect_left(self.examples_before, examples) - 1, 0)
        return self.starts[piece] + (examples - self.examples_before[piece]) // self.sizes[piece]


def _is_piece(piece: object) -> bool:
    return isinstance(piece, list) and len(piece) == 2 and all(type(number) is int for number in piece)


@lru_cache(1024)
def stored_schedule(text: str) -> BatchSchedule:
    """Return the schedule of the attribute of a stored trial, which is valid; those used last are kept."""
    return BatchSchedule.of_json(text)

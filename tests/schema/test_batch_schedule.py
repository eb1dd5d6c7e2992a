"""Batch sizes by step: their examples are the sum over single updates, and only valid ones are read."""

from __future__ import annotations

import json
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_schema.batch_schedule import BatchSchedule
from tests.scheduled_lake import examples

PIECES = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 50)), min_size=1, max_size=6).map(
    lambda gaps: [(start, size) for start, (_, size) in zip([0, *accumulate(g for g, _ in gaps)], gaps, strict=False)]
)


@given(PIECES, st.integers(0, 80))
def test_examples_are_the_sum_over_updates(pieces: list[tuple[int, int]], step: int) -> None:
    schedule = BatchSchedule.of_pieces(pieces)
    assert schedule.examples(step) == examples(pieces, step)
    assert schedule.examples_at(np.array([step])).tolist() == [examples(pieces, step)]


@given(PIECES, st.integers(0, 2000))
def test_the_last_step_within_a_budget_is_that_of_counting_up(pieces: list[tuple[int, int]], budget: int) -> None:
    step = BatchSchedule.of_pieces(pieces).last_step_within(budget)
    assert examples(pieces, step) <= budget < examples(pieces, step + 1)


@given(PIECES)
def test_text_and_attribute_give_the_same_schedule(pieces: list[tuple[int, int]]) -> None:
    schedule = BatchSchedule.of_pieces(pieces)
    assert BatchSchedule.of_text(" ".join(f"{start}:{size}" for start, size in pieces)) == schedule
    assert BatchSchedule.of_json(json.dumps(schedule.pieces)) == schedule
    assert all(size != after for size, after in zip(schedule.sizes, schedule.sizes[1:], strict=False))


def test_a_name_lists_the_sizes_of_many_the_first_and_the_last() -> None:
    assert BatchSchedule.of_text("0:131072 1000:262144").name == "131072-262144"
    assert BatchSchedule.of_pieces((start, start + 1) for start in range(9)).name == "1-2-3-…-9"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "0 pieces"),
        ("5:64", "ascend from 0"),
        ("0:64 7:8 7:9", "7 follows 7"),
        ("0:64 9:1 5:8", "5 follows 9"),
        ("0:0", "batch size of 0"),
        ("0:64 x:8", "'x:8' is not STEP:BATCH_SIZE"),
        ("0:64 7", "'7' is not STEP:BATCH_SIZE"),
        (f"0:{2**62} 9:1", "64 bits"),
    ],
)
def test_invalid_schedules_are_refused_with_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        BatchSchedule.of_text(text)

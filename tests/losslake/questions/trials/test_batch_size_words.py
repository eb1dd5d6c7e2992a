"""Batch sizes in words name those meant and no others."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.questions.trials.batch_size_words import at_sizes, joined, listed, size_ranges

SIZES = st.lists(st.integers(1, 2**40), unique=True, min_size=1, max_size=14).map(sorted)


def read(text: str, among: list[int]) -> list[int]:
    """The batch sizes that words mean."""
    found: list[int] = []
    for part in re.split(", | and ", text):
        first, _, last = part.partition(" to ")
        found += [size for size in among if int(first) <= size <= int(last or first)]
    return found


@given(SIZES, st.data())
def test_words_are_read_as_the_sizes_meant(among: list[int], data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.sampled_from(among), min_size=1))
    assert read(size_ranges(wanted, among), among) == sorted(wanted)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ([8], "8"),
        ([8, 16], "8 and 16"),
        ([1, 2, 4], "1 to 4"),
        ([1, 2, 4, 16], "1 to 4 and 16"),
        ([1, 4, 16], "1, 4 and 16"),
        ([1, 2, 4, 8, 16, 32], "1 to 32"),
    ],
)
def test_sizes_that_follow_each_other_are_a_range_from_three_on(sizes: list[int], words: str) -> None:
    assert size_ranges(sizes, [1, 2, 4, 8, 16, 32]) == words


def test_one_size_is_singular() -> None:
    assert at_sizes([8], [4, 8]) == "batch size 8"
    assert at_sizes([4, 8], [4, 8]) == "batch sizes 4 and 8"


def test_the_last_part_is_joined_by_and() -> None:
    assert [joined(parts) for parts in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]


def test_few_batch_sizes_are_all_listed() -> None:
    assert listed([8, 16.0, 67456]) == "8, 16, 67456"
    assert listed(range(1, 13)) == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"


def test_of_many_batch_sizes_the_ends_and_the_number_are_said() -> None:
    assert listed(range(1, 14)) == "1, 2, 3, …, 13 (13 of them)"

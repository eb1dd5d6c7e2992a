"""Phrases of warnings are short, however many batch sizes they are about."""

from __future__ import annotations

from losslake.questions.wording import listed


def test_few_batch_sizes_are_all_listed() -> None:
    assert listed([8, 16.0, 67456]) == "8, 16, 67456"
    assert listed(range(1, 13)) == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"


def test_of_many_batch_sizes_the_ends_and_the_number_are_said() -> None:
    assert listed(range(1, 14)) == "1, 2, 3, …, 13 (13 of them)"

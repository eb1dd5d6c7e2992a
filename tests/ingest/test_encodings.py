"""Which encoding a column gets."""

from __future__ import annotations

import numpy as np

from losslake_ingest.encodings import DIGITS, INTERVALS, STEPS, for_numbers, smallest

CHANCE = np.random.default_rng(1)
SPLIT, DICTIONARY = DIGITS


def test_steps_that_repeat_from_trial_to_trial_stay_plain() -> None:
    steps = np.cumsum(CHANCE.integers(60, 140, 500))
    assert smallest(np.tile(steps, 40), STEPS) == STEPS[0]


def test_steps_of_each_trial_s_own_are_kept_as_deltas() -> None:
    steps = np.cumsum(CHANCE.integers(60, 140, (40, 500)), axis=1).ravel()
    assert smallest(steps, STEPS) == STEPS[1]


def test_intervals_that_are_mostly_alike_go_into_a_dictionary() -> None:
    assert smallest(CHANCE.choice([10, 1000, 5000], 20_000), INTERVALS) == INTERVALS[0]


def test_digits_that_repeat_in_a_wide_range_go_into_a_dictionary() -> None:
    digits = np.rint(CHANCE.integers(1, 3000, 50_000) / 55_000 * 1e6)
    assert for_numbers(digits, SPLIT, DICTIONARY, 65_536) == DICTIONARY


def test_digits_that_hardly_repeat_are_split() -> None:
    assert for_numbers(CHANCE.integers(100_000, 999_999, 50_000).astype(float), SPLIT, DICTIONARY, 65_536) == SPLIT


def test_digits_in_a_narrow_range_are_split_though_they_repeat() -> None:
    walk = 5000 + np.cumsum(CHANCE.integers(-1, 2, 50_000)).astype(float)
    assert for_numbers(walk, SPLIT, DICTIONARY, 65_536) == SPLIT


def test_a_column_without_rows_has_an_encoding() -> None:
    assert smallest(np.zeros(0, np.int64), STEPS) in STEPS
    assert for_numbers(np.zeros(0), SPLIT, DICTIONARY, 65_536) == SPLIT

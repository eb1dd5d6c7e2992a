"""Trials of one setting are one piece of evidence, which brute force over them finds too."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.settings import (
    are_repeated,
    evidence,
    least_of_settings,
    medians_of_settings,
    shares_of_settings,
)

TRIALS = st.lists(st.tuples(st.sampled_from([1.0, 2.0, 3.0, math.inf]), st.integers(0, 4)), max_size=12)


@given(TRIALS)
def test_medians_and_least_values_are_those_of_each_setting(trials: list[tuple[float, int]]) -> None:
    values = np.array([value for value, _ in trials], np.float64)
    settings = np.array([setting for _, setting in trials], np.int64)
    groups = [[value for value, setting in trials if setting == one] for one in sorted({each for _, each in trials})]
    assert medians_of_settings(values, settings).tolist() == [median_low(group) for group in groups]
    assert least_of_settings(values, settings).tolist() == [min(group) for group in groups]
    assert are_repeated(settings) == (len(groups) > 1 and any(len(group) > 1 for group in groups))
    if len(groups) > 1:
        assert evidence(settings) == pytest.approx(len(trials) ** 2 / sum(len(group) ** 2 for group in groups))
        assert len(groups) >= evidence(settings) - 1e-9 >= 1


@given(TRIALS)
def test_shares_of_settings_are_those_of_trials_that_are_copied_to_equal_numbers(
    trials: list[tuple[float, int]],
) -> None:
    counts = Counter(setting for _, setting in trials)
    if not 1 < len(counts) < len(trials):
        counts = Counter(dict.fromkeys(range(len(trials)), 1))
    size = math.lcm(*counts.values())
    is_apart = len(counts) == len(trials)
    copies = sorted(value for value, one in trials for _ in range(1 if is_apart else size // counts[one]))
    shares = [copies[at : at + size] for at in range(0, len(copies), size)]
    least, greatest = shares_of_settings(np.array([v for v, _ in trials]), np.array([s for _, s in trials], np.int64))
    assert least.tolist() == [share[0] for share in shares]
    assert greatest.tolist() == [share[-1] for share in shares]


def test_equally_many_seeds_of_each_setting_are_worth_its_settings() -> None:
    assert evidence(np.repeat(np.arange(5), 4)) == 5
    assert evidence(np.array([0, 0, 0, 0, 1])) == pytest.approx(25 / 17)


def test_a_single_setting_and_settings_of_one_trial_each_are_worth_all_trials() -> None:
    assert evidence(np.zeros(7, np.int64)) == evidence(np.arange(7)) == 7
    assert not are_repeated(np.zeros(7, np.int64))
    assert not are_repeated(np.arange(7))
    assert are_repeated(np.array([0, 1, 1]))

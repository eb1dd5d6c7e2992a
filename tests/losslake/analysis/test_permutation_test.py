"""The permutation test of two searches, against all ways to share their settings out, and how often it errs."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from losslake.analysis.permutation_test import ERROR, GROUP, least_p_value, p_values

INF = math.inf


def share_of_groups(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    """The share of groups of 4 of both of which the best one is of the first, where it is the only best one or not."""
    marked = [(steps, True) for steps in first] + [(steps, False) for steps in second]
    groups = list(combinations(sorted(marked), GROUP))
    return sum(group[0][1] for group in groups) / len(groups)


def test_p_value_counts_all_ways_to_share_the_settings_out() -> None:
    pooled = (3.0, 5.0, 6.0, 8.0, 9.0, 12.0, 20.0, INF)
    shares = {own: share_of_groups(own, tuple(set(pooled) - set(own))) for own in combinations(pooled, 4)}
    for own, share in shares.items():
        at_least = sum(other >= share - 1e-9 for other in shares.values()) / len(shares)
        at_most = sum(other <= share + 1e-9 for other in shares.values()) / len(shares)
        (found,) = p_values(np.array([own]), np.array([sorted(set(pooled) - set(own))]))
        assert abs(found) == pytest.approx(min(1.0, 2 * min(at_least, at_most)))
        assert found > 0 if at_least < at_most else found <= 0 or at_least == at_most


@pytest.mark.parametrize(("n_first", "n_second"), [(30, 25), (25, 30), (280, 20)])
def test_many_settings_are_shared_out_in_a_fixed_sample_of_ways(n_first: int, n_second: int) -> None:
    total = n_first + n_second
    steps = np.random.default_rng(3).permutation(total).astype(np.float64) + 1
    scores = np.array([math.comb(total - int(rank), GROUP - 1) for rank in steps]) / math.comb(total, GROUP)
    is_first = np.arange(total) < n_first
    drawn = np.random.default_rng(20190320).permuted(np.tile(is_first, (9999, 1)), axis=1) @ scores
    above, below = ((sign * drawn >= sign * scores[is_first].sum() - 1e-5).sum() + 1 for sign in (1, -1))
    (found,) = p_values(steps[None, :n_first], steps[None, n_first:])
    assert abs(found) == pytest.approx(min(1.0, 2 * min(above, below) / 10_000), abs=1e-12)
    assert (found > 0) == (above <= below)


def test_equal_steps_never_differ_and_three_settings_a_side_never_do() -> None:
    assert abs(p_values(np.full((1, 9), 7.0), np.full((1, 9), 7.0))[0]) == 1.0
    assert p_values(np.array([[1.0, 2.0, 3.0]]), np.array([[7.0, 8.0, INF]]))[0] == pytest.approx(0.1)
    assert [least_p_value(3, 3) > ERROR, least_p_value(4, 4) > ERROR, least_p_value(0, 9)] == [True, False, 1.0]
    with pytest.raises(ValueError, match="have to be numbers"):
        p_values(np.array([[1.0, np.nan]]), np.array([[1.0]]))


@pytest.mark.parametrize(
    ("trials", "n"), [(3, 2000), (5, 2000), (20, 500), pytest.param(20, 2000, marks=pytest.mark.slow)]
)
def test_equal_searches_differ_in_at_most_five_percent(trials: int, n: int) -> None:
    rng = np.random.default_rng(5)
    p = np.abs(p_values(rng.exponential(1.0, (n, trials)), rng.exponential(1.0, (n, trials))))
    assert (p <= ERROR).mean() <= ERROR + 3 * math.sqrt(ERROR * (1 - ERROR) / n)


def test_twenty_trials_find_a_ratio_of_seven_tenths() -> None:
    rng = np.random.default_rng(6)
    spread = 1 + 0.3 * rng.exponential(1.0, (2, 200, 20))
    assert (p_values(0.7 * spread[0], spread[1]) <= ERROR / 8).mean() > 0.95

"""Bounds of the best of new trials hold as often as stated, and are those of all orders of old and new trials."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.best_of_n import new_search

INF = math.inf


def chance_that_the_first_are_old(n_old: int, n_new: int, rank: int) -> float:
    """By going through all places that the new trials can have among all trials in order."""
    places = list(combinations(range(n_old + n_new), n_new))
    return sum(min(new) >= rank for new in places) / len(places)


@pytest.mark.parametrize(("n_old", "n_new"), [(1, 1), (4, 2), (9, 1), (7, 5), (12, 3), (5, 9)])
def test_bounds_are_those_of_all_orders(n_old: int, n_new: int) -> None:
    values = np.arange(1.0, n_old + 1)
    found = new_search(values, n_new)
    above = [chance_that_the_first_are_old(n_old, n_new, rank) for rank in range(1, n_old + 1)]
    below = [rank for rank in range(1, n_old + 1) if 1 - above[rank - 1] <= 0.05 + 1e-12]
    assert found.lower == (float(below[-1]) if below else None)
    assert found.chance == pytest.approx(1 - above[-1])
    for bound, level in ((found.median, 0.5), (found.upper, 0.95)):
        enough = [rank for rank in range(1, n_old + 1) if 1 - above[rank - 1] >= level - 1e-12]
        if level > 0.5 or n_new <= n_old:
            assert bound == (enough[0] if enough else INF)


def test_median_is_unknown_where_the_best_is_mostly_below_all_earlier_trials() -> None:
    assert new_search(np.arange(5.0), 5).median == 0
    assert new_search(np.arange(5.0), 6).median is None
    assert new_search(np.array([]), 1).median is None


@pytest.mark.parametrize("n_new", [1, 5, 20])
def test_bounds_cover_as_stated_in_a_simulation(n_new: int) -> None:
    random = np.random.default_rng(1)
    n_draws, below, above, halves, reached, chances = 4000, 0, 0, 0, 0, 0.0
    for _ in range(n_draws):
        trials = random.lognormal(size=40 + n_new)
        trials[random.random(len(trials)) < 0.2] = INF
        found, best = new_search(trials[:40], n_new), trials[40:].min()
        below += found.lower is not None and best < found.lower
        above += bool(best > found.upper)
        assert found.median is not None
        halves += bool(best <= found.median)
        reached += bool(np.isfinite(best))
        chances += found.chance
    error = 3 * math.sqrt(0.05 * 0.95 / n_draws)
    assert below / n_draws <= 0.05 + error
    assert above / n_draws <= 0.05 + error
    assert reached / n_draws == pytest.approx(chances / n_draws, abs=0.02)
    assert halves / n_draws >= 0.5 - 3 * math.sqrt(0.25 / n_draws)


SETTINGS, SEEDS = 20, 4


@pytest.mark.parametrize(("spread", "noise"), [(0.3, 0.0), (0.3, 0.3), (0.1, 0.3), (0.0, 0.3)])
def test_bounds_of_one_new_trial_hold_where_stored_ones_repeat_settings(spread: float, noise: float) -> None:
    random = np.random.default_rng(2)
    n_draws, below, above = 2000, 0, 0
    of_setting = np.arange(SETTINGS + 1).repeat([SEEDS] * SETTINGS + [1])
    for _ in range(n_draws):
        trials = np.exp(random.normal(0, spread, SETTINGS + 1)[of_setting] + random.normal(0, noise, len(of_setting)))
        found = new_search(trials[:-1], 1, of_setting[:-1])
        below += found.lower is not None and trials[-1] < found.lower
        above += bool(trials[-1] > found.upper)
    error = 3 * math.sqrt(0.05 * 0.95 / n_draws)
    assert below / n_draws <= 0.05 + error
    assert above / n_draws <= 0.05 + error


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0, INF]), max_size=12), st.integers(1, 10**6), st.integers(1, 5))
def test_bounds_are_in_order_and_among_the_values(values: list[float], n_new: int, n_settings: int) -> None:
    found = new_search(np.array(values, np.float64), n_new, np.arange(len(values)) % n_settings)
    assert {found.median or INF, found.upper} <= {*values, INF}
    lower = -INF if found.lower is None else found.lower
    assert lower <= (found.upper if found.median is None else found.median) <= found.upper


def test_nan_and_no_new_trial_are_refused() -> None:
    with pytest.raises(ValueError, match="not NaN"):
        new_search(np.array([math.nan]), 1)
    with pytest.raises(ValueError, match="give 1 or more"):
        new_search(np.array([1.0]), 0)

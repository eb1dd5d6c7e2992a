import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.heuristics import regret, scaled_learning_rate
from losslake.analysis.tuned_study import TunedStudy, nearest_trials

INF, NAN = math.inf, math.nan


def study(trials: list[tuple[float, float, float]]) -> TunedStudy:
    """Trials as (learning rate, momentum, steps)."""
    rates, momenta, steps = np.array(trials, np.float64).reshape(-1, 3).T
    return TunedStudy(64.0, steps, rates, momenta, np.zeros(len(trials), bool))


def brute_force_nearest(places: list[tuple[float, float]], at: tuple[float, float], k: int) -> list[int]:
    """Rows of the k nearest, each axis divided by its standard deviation."""
    known = [row for row, place in enumerate(places) if not any(map(math.isnan, place))]
    spreads = [statistics.pstdev([places[row][axis] for row in known]) for axis in (0, 1)] if known else [1.0, 1.0]
    spreads = [spread if spread >= 1e-9 else 1.0 for spread in spreads]

    def distance(row: int) -> float:
        return sum(((places[row][axis] - at[axis]) / spreads[axis]) ** 2 for axis in (0, 1))

    return sorted(known, key=lambda row: (distance(row), row))[:k]


PLACES = st.tuples(st.integers(-6, 2), st.integers(-4, 0))


@given(st.lists(PLACES | st.just((NAN, NAN)), max_size=12), PLACES, st.integers(1, 5))
def test_the_nearest_trials_are_what_brute_force_finds(
    places: list[tuple[float, float]], at: tuple[int, int], k: int
) -> None:
    found = nearest_trials(np.array(places, np.float64).reshape(-1, 2), np.array([at], np.float64), k)
    distances = [math.dist(places[row], at) for row in found.rows[0]]
    assert found.decades[0].tolist() == pytest.approx(distances)
    expected = brute_force_nearest(places, at, k)
    # Rounding may turn a tie round: the distances have to agree, and the rows where they are apart.
    assert len(found.rows[0]) == len(expected)
    assert {places[row] for row in found.rows[0]} == {places[row] for row in expected} or sorted(distances) != sorted(
        math.dist(places[row], at) for row in expected
    )


def test_an_axis_counts_by_how_far_it_was_searched() -> None:
    # Learning rates over six decades, 1 - momentum over one: half a decade of momentum is farther than one of rate.
    momenta = [0.0, 0.9, 0.0, 0.9, 0.0, 1 - 10**-0.5]
    rates = [1e-6, 1e-4, 1e-2, 1.0, 1e-1, 1e-3]
    plane = study([(rate, momentum, 10.0) for rate, momentum in zip(rates, momenta, strict=True)]).places
    assert nearest_trials(plane, np.array([[-3.0, 0.0]]), 1).rows.tolist() == [[2]]


@pytest.mark.parametrize(("exponent", "expected"), [(1.0, 0.8), (0.5, 0.2 * math.sqrt(4))])
def test_heuristics_scale_the_learning_rate_by_a_power_of_the_batch_size(exponent: float, expected: float) -> None:
    assert scaled_learning_rate(0.2, 16, 64, exponent) == pytest.approx(expected)


def test_the_regret_is_the_median_of_the_nearest_over_the_best() -> None:
    # Four trials stand about the place at 0.1, 0.2, 0.3 and 0.4 decades; the best one is far away.
    near = [(10**-1.1, 0.0, 120.0), (10**-0.8, 0.0, 300.0), (10**-1.3, 0.0, 200.0), (10**-0.6, 0.0, INF)]
    found = regret(study([*near, (10.0, 0.0, 100.0)]), 0.1, 0.0, k=3)
    assert (found.regret, found.n_nearest, found.n_reached) == (2.0, 3, 3)
    assert found.decades == pytest.approx(0.1)
    with_four = regret(study([*near, (10.0, 0.0, 100.0)]), 0.1, 0.0, k=4)
    assert (with_four.regret, with_four.n_nearest, with_four.n_reached) == (2.5, 4, 3)


@pytest.mark.parametrize(("decades", "is_known"), [(0.24, True), (0.26, False)])
def test_no_regret_where_no_trial_is_within_a_quarter_of_a_decade(decades: float, is_known: bool) -> None:
    found = regret(study([(10**-1.0, 0.0, 100.0), (1e3, 0.0, 100.0)]), 10 ** (-1.0 - decades), 0.0, k=1)
    assert (found.regret is not None) == is_known
    assert found.decades == pytest.approx(decades)


def test_distance_is_of_both_metaparameters_together() -> None:
    found = regret(study([(0.1, 0.0, 100.0)]), 10**-1.2, 1 - 10**-0.2, k=1)
    assert found.decades == pytest.approx(0.2 * math.sqrt(2))
    assert found.regret is None


def test_no_regret_where_at_least_half_of_the_nearest_never_reach_the_target() -> None:
    found = regret(study([(0.1, 0.0, 100.0), (0.11, 0.0, INF), (0.09, 0.0, INF), (0.12, 0.0, 90.0)]), 0.1, 0.0)
    assert (found.regret, found.n_nearest, found.n_reached) == (None, 4, 2)


def test_a_diverged_trial_counts_as_infinitely_many_steps() -> None:
    steps = np.array([INF, INF, 100.0])
    diverging = TunedStudy(64.0, steps, np.array([0.1, 0.1, 0.01]), np.zeros(3), np.array([True, True, False]))
    assert regret(diverging, 0.1, 0.0, k=3).regret is None


def test_a_study_without_hits_or_without_trials_has_no_regret() -> None:
    assert regret(study([(0.1, 0.0, INF)]), 0.1, 0.0).regret is None
    nothing = regret(study([]), 0.1, 0.0)
    assert (nothing.regret, nothing.decades, nothing.n_nearest) == (None, None, 0)


@pytest.mark.parametrize(("learning_rate", "momentum"), [(0.0, 0.5), (0.1, 1.0), (NAN, 0.0), (-1.0, 0.0), (INF, 0.0)])
def test_metaparameters_without_a_logarithm_are_refused(learning_rate: float, momentum: float) -> None:
    with pytest.raises(ValueError, match="no finite logarithm"):
        regret(study([(0.1, 0.0, 100.0)]), learning_rate, momentum)


def test_study_with_bad_arrays_names_the_fault() -> None:
    one = np.ones(1)
    with pytest.raises(ValueError, match="one length"):
        TunedStudy(1.0, one, np.ones(2), one, np.zeros(1, bool))
    with pytest.raises(ValueError, match="inf, not NaN"):
        TunedStudy(1.0, np.array([NAN]), one, one, np.zeros(1, bool))
    with pytest.raises(ValueError, match="diverged"):
        TunedStudy(1.0, one, one, one, np.ones(1, bool))

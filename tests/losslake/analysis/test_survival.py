from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.survival import CENSORED, DIVERGED, FAILED, REACHED, Survival, survival, wilson

TRIALS = st.lists(
    st.tuples(st.sampled_from([0, 5, 10, 20, 30]), st.sampled_from([CENSORED, REACHED, DIVERGED, FAILED])), max_size=8
)


def of(*trials: tuple[int, int]) -> Survival:
    steps, ends = (np.array([trial[place] for trial in trials], np.int64) for place in (0, 1))
    return survival(steps, ends)


def test_divergence_competes_with_reaching_and_is_not_censoring() -> None:
    found = of((10, REACHED), (15, DIVERGED), (20, CENSORED), (30, REACHED))
    assert found.steps.tolist() == [10, 15, 20, 30]
    assert found.reached.tolist() == pytest.approx([0.25, 0.25, 0.25, 0.75])
    assert found.diverged.tolist() == pytest.approx([0, 0.25, 0.25, 0.25])
    assert found.at_risk.tolist() == [4, 3, 2, 1]
    as_censored = of((10, REACHED), (15, CENSORED), (20, CENSORED), (30, REACHED))
    assert as_censored.reached[-1] == pytest.approx(1)


def test_trials_that_all_ran_to_the_same_step_need_no_survival_machinery() -> None:
    found = of((10, REACHED), (30, REACHED), (100, CENSORED), (100, CENSORED), (100, CENSORED))
    assert found.reached.tolist() == pytest.approx([0.2, 0.4, 0.4])
    expected = wilson(2, 5)
    assert (found.lower[1], found.upper[1]) == pytest.approx((expected.lower, expected.upper))
    assert found.median_steps() is None


def test_where_none_or_all_have_reached_the_interval_is_that_of_all_trials() -> None:
    all_reach = of(*[(step, REACHED) for step in range(1, 65)])
    assert (all_reach.lower[-1], all_reach.upper[-1]) == pytest.approx((wilson(64, 64).lower, 1.0))
    all_diverge = of(*[(step, DIVERGED) for step in range(1, 65)])
    assert (all_diverge.lower[-1], all_diverge.upper[-1]) == pytest.approx((0.0, wilson(0, 64).upper))
    censored = of(*[(1, CENSORED)] * 9, (2, REACHED))
    assert (censored.reached[-1], censored.lower[-1]) == pytest.approx((1.0, wilson(1, 1).lower))


def test_without_divergence_the_variance_is_greenwood_s() -> None:
    """Of 1 - Kaplan-Meier; the effective number of trials F (1 - F) / variance gives it back."""
    found = of((5, REACHED), (10, CENSORED), (10, REACHED), (20, REACHED), (30, CENSORED), (30, CENSORED))
    alive, total = 1.0, 0.0
    for n, d in ((6, 1), (5, 1), (3, 1)):
        alive *= 1 - d / n
        total += d / (n * (n - d))
    share, effective = 1 - alive, (1 - alive) * alive / (alive**2 * total)
    z = 1.959963984540054
    middle = (share + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z * math.sqrt(share * (1 - share) / effective + z * z / (4 * effective**2)) / (1 + z * z / effective)
    assert found.reached[-1] == pytest.approx(share)
    assert (found.lower[-1], found.upper[-1]) == pytest.approx((middle - half, middle + half))


def test_median_is_none_when_it_lies_beyond_the_last_evaluation() -> None:
    assert of((10, REACHED), (20, REACHED), (30, CENSORED), (40, CENSORED)).median_steps() == 20
    assert of((10, REACHED), (20, CENSORED), (20, CENSORED)).median_steps() is None
    assert of().median_steps() is None


def test_informative_censoring_is_bounded_by_never_and_by_at_once() -> None:
    found = of((10, REACHED), (20, CENSORED), (30, REACHED), (40, DIVERGED))
    assert found.least.tolist() == [0.25, 0.25, 0.5, 0.5]
    assert found.most.tolist() == [0.25, 0.5, 0.75, 0.75]


def incidence_by_hand(trials: list[tuple[int, int]], end: int, until: int) -> Fraction:
    alive, found = Fraction(1), Fraction(0)
    for step in sorted({step for step, _ in trials if step <= until}):
        at_risk = sum(own >= step for own, _ in trials)
        found += alive * sum(trial == (step, end) for trial in trials) / at_risk
        alive *= 1 - Fraction(sum(own == step and how != CENSORED for own, how in trials), at_risk)
    return found


@given(TRIALS)
def test_incidences_are_those_computed_by_hand_and_lie_within_their_bounds(trials: list[tuple[int, int]]) -> None:
    found = of(*trials)
    for place, step in enumerate(found.steps.tolist()):
        assert found.reached[place] == pytest.approx(float(incidence_by_hand(trials, REACHED, step)))
        assert found.diverged[place] == pytest.approx(float(incidence_by_hand(trials, DIVERGED, step)))
        assert found.failed[place] == pytest.approx(float(incidence_by_hand(trials, FAILED, step)))
    assert (found.reached + found.diverged + found.failed + found.running).tolist() == pytest.approx(
        [1.0] * len(found.steps)
    )
    for low, high in ((found.lower, found.upper), (found.least, found.most)):
        assert ((low <= found.reached + 1e-9) & (found.reached <= high + 1e-9)).all()
    assert np.isfinite(np.concatenate([found.lower, found.upper])).all()


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """Exponential times to reach, to diverge and to be stopped: F(s) = (1 - exp(-2 s)) / 2 for equal hazards of 1."""
    rng = np.random.default_rng(7)
    truth, covered = (1 - math.exp(-1.0)) / 2, 0
    for _ in range(300):
        times = rng.exponential([1.0, 1.0, 2.0], (40, 3))
        found = survival(
            (times.min(axis=1) * 1e6).astype(np.int64), np.array([REACHED, DIVERGED, CENSORED])[times.argmin(axis=1)]
        )
        place = np.searchsorted(found.steps, 500_000, side="right") - 1
        covered += bool(found.lower[place] <= truth <= found.upper[place])
    assert 0.92 <= covered / 300 <= 0.98


@pytest.mark.parametrize(("count", "total"), [(0, 10), (3, 10), (10, 10), (1, 1), (50, 64)])
def test_wilson_s_interval_is_scipy_s(count: int, total: int) -> None:
    from scipy.stats import binomtest

    expected = binomtest(count, total).proportion_ci(method="wilson")
    found = wilson(count, total)
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.share == count / total


def test_proportion_of_zero_trials_is_none() -> None:
    found = wilson(0, 0)
    assert (found.share, found.lower, found.upper) == (None, 0.0, 1.0)
    for count, total, confidence in ((2, 1, 0.95), (-1, 1, 0.95), (0, 1, 1.0)):
        with pytest.raises(ValueError, match=r"not a proportion|confidence"):
            wilson(count, total, confidence)


def test_bad_shapes_and_ends_are_refused() -> None:
    for steps, ends in (([1, 2], [1]), ([1], [4])):
        with pytest.raises(ValueError, match="one end"):
            survival(np.array(steps), np.array(ends))

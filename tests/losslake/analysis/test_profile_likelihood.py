from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.fit_intervals import log_standard_errors, profile_intervals
from losslake.analysis.hyperbola import HUBER, KINDS, Kind, criteria, fit_hyperbolas
from losslake.analysis.identifiability import gates, identifiability
from losslake.analysis.log_curves import log_curves
from losslake_schema.reached import Floats

N_DRAWS = 300


def drawn(n_batch_sizes: int, noise: float, critical: Floats, seed: int) -> tuple[Floats, Floats]:
    """Steps of curves with these B_c, with log-normal noise, at batch sizes that double."""
    sizes = np.asarray(4 * 2.0 ** np.arange(n_batch_sizes), np.float64)
    noises = np.random.default_rng(seed).normal(0, noise, (len(critical), n_batch_sizes))
    return sizes, np.asarray(1000 * (1 + critical[:, None] / sizes) * np.exp(noises), np.float64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_batch_sizes", "noise"), [(8, 0.1), (10, 0.06), (13, 0.03)])
def test_the_interval_covers_a_bend_within_the_grid_in_85_to_95_percent_of_draws(
    kind: Kind, n_batch_sizes: int, noise: float
) -> None:
    sizes = 4 * 2.0 ** np.arange(n_batch_sizes)
    critical = np.exp(np.random.default_rng(1).uniform(math.log(sizes[0]), math.log(sizes[-1]), N_DRAWS))
    intervals = profile_intervals(*drawn(n_batch_sizes, noise, critical, seed=2), kind=kind)
    covered = (intervals.lower <= critical) & (critical <= intervals.upper)
    assert 0.85 <= covered.mean() <= 0.95


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", [0.03, 0.1])
def test_the_stated_interval_covers_it_when_evaluations_hide_the_crossing(kind: Kind, noise: float) -> None:
    spacing = 25.0
    critical = np.exp(np.random.default_rng(3).uniform(math.log(8), math.log(1024), N_DRAWS))
    sizes, exact = drawn(10, noise, critical, seed=4)
    steps = np.ceil(exact / spacing) * spacing
    found = gates(sizes, steps, previous_steps=steps - spacing, kind=kind)
    assert found.is_identifiable.mean() >= 0.9
    covered = (found.lower <= critical) & (critical <= found.upper)
    assert covered[found.is_identifiable].mean() >= 0.87


@pytest.mark.parametrize("spacing", [500.0, 4000.0])
def test_coarse_evaluations_widen_the_interval_until_it_is_refused(spacing: float) -> None:
    sizes = 16 * 2.0 ** np.arange(8)
    exact = 1000 * (1 + 256 / sizes) * np.exp(np.random.default_rng(6).normal(0, 0.05, (100, 8)))
    steps = np.ceil(exact / spacing) * spacing
    found = gates(sizes, steps, previous_steps=steps - spacing)
    assert (found.is_identifiable == (spacing == 500)).all()
    assert ((found.lower <= 256) & (found.upper >= 256)).mean() >= 0.9 - 3 * math.sqrt(0.09 / 100)


def test_batch_sizes_that_reach_at_their_first_evaluation_are_counted_and_refused() -> None:
    sizes, steps = drawn(8, 0.03, np.array([64.0]), seed=7)
    previous = np.where(np.arange(8) < 2, steps * 0.99, steps * 0.98)
    assert gates(sizes, steps, previous_steps=previous).is_identifiable[0]
    assert gates(sizes, steps, previous_steps=np.where(np.arange(8) < 6, previous, np.nan)).n_at_first[0] == 2
    known = identifiability(sizes, steps[0], previous_steps=np.where(np.arange(8) < 5, previous, np.nan)[0])
    assert (known.lower, known.upper) == (None, None)
    assert known.reasons == (
        "too coarse: 3 of 8 batch sizes reached the target at their first evaluation; a fit allows 25%",
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", [0.03, 0.1])
@pytest.mark.parametrize("beyond", [1 / 100, 1 / 5, 5, 100])
def test_gates_refuse_95_percent_of_draws_whose_bend_lies_outside_the_grid(
    kind: Kind, noise: float, beyond: float
) -> None:
    truth = (4 if beyond < 1 else 2048) * beyond
    sizes, steps = drawn(10, noise, np.full(N_DRAWS, truth), seed=5)
    found = gates(sizes, steps, kind=kind)
    assert found.is_identifiable.mean() <= 0.05
    assert ((found.lower <= truth) & (truth <= found.upper)).mean() >= 0.85


def test_least_squares_intervals_are_those_of_the_f_test() -> None:
    from scipy import stats

    sizes, steps = drawn(9, 0.05, np.array([60.0]), seed=6)
    found = profile_intervals(sizes, steps, kind="least-squares")
    fit = fit_hyperbolas(sizes, steps, kind="least-squares")

    def squares(critical: float) -> float:
        above = np.log(steps[0]) - np.log1p(critical / sizes)
        return float(np.square(above - above.mean()).sum())

    limit = squares(float(fit.critical_batch_size[0])) * (1 + stats.f.ppf(0.9, 1, 7) / 7)
    assert squares(float(found.lower[0])) == pytest.approx(limit, rel=1e-5)
    assert squares(float(found.upper[0])) == pytest.approx(limit, rel=1e-5)
    wald = math.log(found.upper[0] / found.lower[0]) / 2 / stats.t.ppf(0.95, 7)
    assert log_standard_errors(sizes, steps, kind="least-squares")[0] == pytest.approx(wald, rel=0.05)


def huber_loss(steps: list[float], limit: float, scale: float, critical: float, log_s_min: float) -> float:
    """The criterion of METHODS 2.2, in plain Python; batch sizes double from 1."""
    total = 0.0
    for place, own in enumerate(steps):
        z = (math.log(min(own, limit)) - math.log1p(critical / 2.0**place) - log_s_min) / scale
        z = z if math.isfinite(own) else max(z, 0.0)
        total += z * z / 2 if abs(z) <= HUBER else HUBER * (abs(z) - HUBER / 2)
    return total


@given(
    st.lists(st.floats(1, 1e6) | st.sampled_from([math.inf, 1.0, 2.0, 1000.0]), min_size=3, max_size=8).filter(
        lambda steps: sum(map(math.isfinite, steps)) >= 3
    ),
    st.floats(-3, 9),
)
def test_the_profile_is_the_least_loss_over_s_min(steps: list[float], log_critical: float) -> None:
    limit = 1e6
    ((_, criterion),) = criteria(log_curves(2.0 ** np.arange(len(steps)), steps, np.full(len(steps), limit)), "robust")
    best, loss = (float(each[0, 0]) for each in criterion.profile(np.array([log_critical])))
    scale, critical = float(criterion.scale[0]), math.exp(log_critical)
    assert loss == pytest.approx(huber_loss(steps, limit, scale, critical, best), rel=1e-9, abs=1e-9)
    # The loss is convex, so thirds close in on its minimum.
    low, high = best - 50.0, best + 50.0
    for _ in range(150):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        if huber_loss(steps, limit, scale, critical, one) <= huber_loss(steps, limit, scale, critical, two):
            high = two
        else:
            low = one
    assert loss <= huber_loss(steps, limit, scale, critical, low) * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", [0.01, 0.1, 0.5])
def test_both_ends_of_an_interval_fit_the_steps_equally_well(kind: Kind, noise: float) -> None:
    sizes, steps = drawn(8, noise, np.full(100, 60.0), seed=8)
    found = profile_intervals(sizes, steps, kind=kind)
    closed = np.flatnonzero((found.lower > 0) & np.isfinite(found.upper))
    assert len(closed) >= 30
    ((_, criterion),) = criteria(log_curves(sizes, steps[closed]), kind)
    losses = criterion.profile(np.log(np.stack([found.lower[closed], found.upper[closed]], -1)))[1]
    assert losses[:, 0] == pytest.approx(losses[:, 1], rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_interval_is_open_where_steps_give_no_bound(kind: Kind) -> None:
    sizes, steps = drawn(8, 0.02, np.array([1e6, 1e-3]), seed=7)
    found = profile_intervals(sizes, steps, kind=kind)
    assert found.lower[0] > 512
    assert found.upper[0] == math.inf
    assert found.lower[1] == 0
    assert found.upper[1] < 4


def test_too_few_points_leave_no_interval() -> None:
    found = profile_intervals([1, 2, 4], [[3, math.inf, 1]])
    assert np.isnan([found.lower, found.upper, log_standard_errors([1, 2, 4], [[3, math.inf, 1]])]).all()


@given(
    st.lists(st.floats(1, 1e9) | st.sampled_from([math.inf, math.nan, 1.0]), min_size=1, max_size=8),
    st.sampled_from(KINDS),
    st.none() | st.floats(1, 1e9),
)
def test_whatever_the_steps_the_interval_holds_the_fit(steps: list[float], kind: Kind, limit: float | None) -> None:
    sizes = 2.0 ** np.arange(len(steps))
    censored_at = None if limit is None else np.full(len(steps), limit)
    found = profile_intervals(sizes, [steps], censored_at, kind)
    fit = fit_hyperbolas(sizes, [steps], censored_at, kind)
    if fit.n_points[0] >= 3:
        assert found.lower[0] <= fit.critical_batch_size[0] * (1 + 1e-6)
        assert found.upper[0] >= fit.critical_batch_size[0] * (1 - 1e-6)
    answer = identifiability(sizes, steps, censored_at, kind=kind)
    assert all(end is None or math.isfinite(end) for end in (answer.lower, answer.upper))
    assert answer.is_identifiable <= (answer.lower is not None and answer.upper is not None)

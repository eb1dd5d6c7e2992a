"""Forecasts equal a calculation by hand, hold as often as they say, and refuse what can't be forecast."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.analysis.comparable import Comparable
from losslake.analysis.forecast import (
    MOST_TRIALS,
    Forecast,
    ForecastRefused,
    TooFewSettings,
    forecast,
    held_out,
    quantile,
)
from losslake_schema.reached import Floats
from tests.losslake.analysis.test_comparable import comparable_of

VALUES = st.one_of(st.sampled_from([0.0, 0.5, 1.0, math.nan, math.inf, 1e308, -1e308, 5e-324]), st.floats(-10, 10))


def falling(rate: float, n: int = 21) -> list[float]:
    """A curve from 1, at steps 0, 10, …, that falls by this rate from one to the next."""
    return [math.exp(-rate * at) for at in range(n)]


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=12), st.sampled_from([0.25, 0.5, 0.75]))
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    assert quantile(np.sort(values), share) == np.quantile(values, share)


def ten(bound: float = 0.0) -> Comparable:
    return comparable_of([falling(0.01 * k) for k in range(1, 11)], bound)


def test_run_equal_to_all_others_ends_as_they_do() -> None:
    alike = comparable_of([falling(0.05)] * 10, bound=0.5)
    result = forecast(alike, [0, 10, 20], falling(0.05)[:3])
    first = next(10 * at for at, value in enumerate(falling(0.05)) if value < 0.5)
    for band in result.bands[:2]:
        assert band.final == pytest.approx((falling(0.05)[-1],) * 2)
        assert band.target_steps == (first, first)
    assert result.bands[2].final is None
    assert result.median == pytest.approx(falling(0.05)[-1])
    assert result.target is not None
    assert (result.target.median, result.target.n_alike, result.target.n_alike_reached) == (first, 5, 5)
    assert (result.step, result.place, result.n_trials, result.n_settings) == (20, "within", 10, 10)
    assert result.best == pytest.approx(math.exp(-0.1))


def test_change_is_that_of_similar_trials_on_the_logarithmic_scale() -> None:
    # Ten trials, of which each halves its value after step 10: so does the new one, whose value lies between.
    trials = comparable_of([[1.0 + k, 1.0 + k, (1.0 + k) / 2] for k in range(10)])
    (_, band, _) = forecast(trials, [0, 10], [4.5, 4.5]).bands
    assert band.final == pytest.approx((2.25, 2.25))
    # With values of both signs, differences are compared: each falls by 3.
    trials = comparable_of([[k - 5.0, k - 5.0, k - 8.0] for k in range(10)])
    assert forecast(trials, [0, 10], [-0.5, -0.5]).bands[1].final == pytest.approx((-3.5, -3.5))


def test_change_is_that_of_the_distance_from_the_least_loss_of_the_metric() -> None:
    trials = comparable_of([[2.0 + k, 2.0 + k, 1.5 + k / 2] for k in range(10)])
    halved = dataclasses.replace(trials, least_loss=1.0)
    assert forecast(halved, [0, 10], [5.5, 5.5]).bands[1].final == pytest.approx((3.25, 3.25))
    # Of a metric that had been thought to have no value below 3, and of one whose losses may be 0, differences.
    for least, least_loss in ((1.0, 3.0), (0.0, -math.inf)):
        trials = comparable_of([[least + 3 + k, least + 3 + k, least + k] for k in range(10)])
        falls = dataclasses.replace(trials, least_loss=least_loss)
        assert forecast(falls, [0, 10], [7.5, 7.5]).bands[1].final == pytest.approx((4.5, 4.5))


def test_maximizing_is_minimizing_with_the_other_sign() -> None:
    minimized = forecast(ten(0.5), [0, 10, 20], [1.0, 0.9, 0.85])
    other = dataclasses.replace(ten(0.5), sign=-1.0)
    maximized = forecast(other, [0, 10, 20], [-1.0, -0.9, -0.85])
    for first, second in zip(minimized.bands[:2], maximized.bands[:2], strict=True):
        assert first.final is not None
        assert second.final == (-first.final[1], -first.final[0])
        assert second.target_steps == first.target_steps
    assert (maximized.best, maximized.median) == (-minimized.best, -minimized.median)


def test_target_that_is_reached_has_a_step_and_no_band() -> None:
    result = forecast(ten(0.5), [0, 10, 20, 30], [1.0, 0.4, 0.7, 0.3])
    assert (result.reached_at, result.target, result.best) == (10, None, 0.3)
    assert [band.target_steps for band in result.bands] == [None] * 3


def test_target_that_few_others_say_anything_of_has_no_band() -> None:
    result = forecast(ten(0.9), [0, 10, 20], [1.0, 0.99, 0.98])
    assert result.target is not None
    assert result.target.n_settings < 9
    assert result.target.bands == (None, None, None)
    assert result.bands[1].final is not None
    stopped = dataclasses.replace(ten(), is_stopped=np.arange(10) < 2)
    unknown = forecast(stopped, [0, 10], [1.0, 0.9]).target
    assert unknown is not None
    assert (unknown.n_trials, unknown.median) == (8, None)


def test_target_that_nobody_reaches_is_not_reached() -> None:
    result = forecast(ten(-1.0), [0, 10], [1.0, 0.95])
    assert result.target is not None
    assert result.bands[1].target_steps == (math.inf, math.inf)
    assert (result.target.median, result.target.n_alike_reached) == (math.inf, 0)


def test_run_unlike_all_others_is_said_to_be() -> None:
    assert forecast(ten(), [0, 10], [1.0, 0.1]).place == "better than all"
    assert forecast(ten(), [0, 10], [1.0, 1.0]).place == "worse than all"


def test_trials_that_ended_or_have_no_value_yet_are_counted_and_not_compared() -> None:
    late = [math.nan, math.nan, *falling(0.1)]
    trials = comparable_of([*[falling(0.01 * k) for k in range(1, 11)], falling(0.02, 2), late])
    result = forecast(trials, [0, 10], [1.0, 0.9])
    assert (result.n_trials, result.n_ended, result.n_unmeasured, result.n_beyond) == (10, 1, 1, 0)


def test_more_trials_than_can_be_compared_are_counted() -> None:
    trials = comparable_of([falling(0.0001 * k, 4) for k in range(1, MOST_TRIALS + 8)])
    result = forecast(trials, [0, 10], [1.0, 0.99])
    assert (result.n_trials, result.n_beyond) == (MOST_TRIALS, 7)


@pytest.mark.parametrize(
    ("steps", "values", "why"),
    [
        ([0, 10], [math.nan, math.inf], "no value of the partial curve is a number"),
        ([0, 200], [1.0, 0.5], "step 200 isn't before the last step of any comparable trial, 200"),
        ([0, 900], [1.0, 0.5], "step 900 isn't before the last step"),
    ],
)
def test_curve_that_nothing_can_be_said_of_is_refused(steps: list[int], values: list[float], why: str) -> None:
    with pytest.raises(ForecastRefused, match=why):
        forecast(ten(), steps, values)


def test_fewer_settings_than_a_band_needs_are_refused() -> None:
    nine = ten().chosen(np.arange(9))
    assert forecast(nine, [0, 10], [1.0, 0.9]).bands[1].final is not None
    with pytest.raises(
        TooFewSettings, match="only 8 comparable settings have a number by step 10 and went on, and a band of 80%"
    ):
        forecast(nine.chosen(np.arange(8)), [0, 10], [1.0, 0.9])
    seeds = comparable_of([falling(0.01 * k) for k in range(1, 25)], settings_of=[k // 3 for k in range(24)])
    with pytest.raises(TooFewSettings, match="only 8 comparable settings"):
        forecast(seeds, [0, 10], [1.0, 0.9])
    # Seeds of one setting aren't drawn one by one when those of the others ended.
    ended = comparable_of([*[falling(0.01)] * 12, falling(0.02, 2)], settings_of=[0] * 12 + [1])
    with pytest.raises(TooFewSettings, match="only 1 comparable setting has"):
        forecast(ended, [0, 10], [1.0, 0.9])


@st.composite
def odd_trials(draw: st.DrawFn) -> tuple[Comparable, list[float]]:
    n = draw(st.integers(9, 14))
    curve = st.lists(VALUES, min_size=2, max_size=8).filter(lambda each: any(map(math.isfinite, each)))
    curves = draw(st.lists(curve, min_size=n, max_size=n))
    bound = draw(st.sampled_from([0.5, 0.0, -1e308, 1e308]))
    return comparable_of(curves, bound), draw(st.lists(VALUES, min_size=1, max_size=5))


@given(odd_trials())
@settings(max_examples=settings().max_examples * 2)
@pytest.mark.filterwarnings("error")
def test_odd_curves_are_refused_or_have_ordered_bands_of_numbers(population: tuple[Comparable, list[float]]) -> None:
    trials, values = population
    try:
        result = forecast(trials, 10 * np.arange(len(values)), values)
    except ForecastRefused:
        return
    best = min(value for value in values if math.isfinite(value))
    assert result.best == best
    assert math.isfinite(result.median)
    assert result.median <= best
    _check_bands(result, best)


def _check_bands(result: Forecast, best: float) -> None:
    finals = [band.final for band in result.bands if band.final is not None]
    for lower, upper in finals:
        assert math.isfinite(lower)
        assert lower <= upper <= best
    for band in result.bands:
        if band.target_steps is not None:
            first, last = band.target_steps
            assert result.step < first <= last


def population(random: np.random.Generator, n: int) -> list[Floats]:
    """Curves that fall to floors of their own, with noise; drawn alike."""
    floors, rates = random.uniform(0.05, 0.5, n), random.lognormal(-2, 0.7, n)
    steps = np.arange(30)
    noise = 0.02 * random.normal(size=(n, 30))
    curves = floors[:, None] + np.exp(-rates[:, None] * steps) + noise
    return list(np.abs(curves))


def test_bands_of_runs_drawn_alike_hold_as_often_as_stated() -> None:
    random = np.random.default_rng(20261128)
    held: dict[float, list[bool]] = {0.5: [], 0.8: [], 0.9: []}
    steps_held: dict[float, list[bool]] = {0.5: [], 0.8: [], 0.9: []}
    n_runs = 200
    for _ in range(n_runs):
        *stored, run = (curve.tolist() for curve in population(random, 31))
        result = forecast(comparable_of(stored, bound=0.4), 10 * np.arange(10), run[:10])
        reached = next((10 * at for at, value in enumerate(run) if value < 0.4), math.inf)
        for band in result.bands:
            assert band.final is not None
            held[band.level].append(band.final[0] <= min(run) * (1 + 1e-12) and min(run) <= band.final[1] * (1 + 1e-12))
            if band.target_steps is not None:
                steps_held[band.level].append(band.target_steps[0] <= reached <= band.target_steps[1])
    for level in held:
        for flags in (held[level], steps_held[level]):
            error = math.sqrt(level * (1 - level) / len(flags))
            assert sum(flags) / len(flags) >= level - 3 * error
        # Bands would hold too often if they were much wider than they need to be.
        assert sum(held[level]) / n_runs <= level + 0.15


def test_held_out_trials_are_those_that_a_loop_holds_out() -> None:
    random = np.random.default_rng(7)
    curves = [curve.tolist() for curve in population(random, 24)]
    trials = comparable_of(curves, bound=0.4)
    n_held = n_target = n_target_held = 0
    for at, curve in enumerate(curves):
        others = comparable_of([other for place, other in enumerate(curves) if place != at], bound=0.4)
        result = forecast(others, 10 * np.arange(8), curve[:8])
        band = result.bands[1]
        assert band.final is not None
        n_held += band.final[0] - 1e-12 <= min(curve) <= band.final[1] + 1e-12
        if band.target_steps is not None:
            reached = next((10 * place for place, value in enumerate(curve) if value < 0.4), math.inf)
            n_target += 1
            n_target_held += band.target_steps[0] <= reached <= band.target_steps[1]
    (_, level, _) = held_out(trials, 70)
    assert (level.n, level.n_held, level.n_target, level.n_target_held) == (24, n_held, n_target, n_target_held)
    assert n_target

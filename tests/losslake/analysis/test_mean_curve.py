"""Mean curves of settings, and where they cross a target, beside plain Python in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.crossings import Curves
from losslake.analysis.mean_curve import mean_crossings, mean_curves
from losslake_schema.reached import NEVER, NO_STEP, Comparator

NAN, INF = math.nan, math.inf
Curve = dict[int, float]
# Sums of these are exact, so are their means over 1, 2 and 4.
EIGHTHS = st.integers(-6, 6).map(lambda eighths: eighths / 8)
CURVES = st.lists(st.dictionaries(st.integers(0, 6), EIGHTHS | st.sampled_from([NAN, INF, -INF])), max_size=6)


def curves_of(trials: Sequence[Curve]) -> Curves:
    points = [(step, trial[step]) for trial in trials for step in sorted(trial)]
    steps, losses = np.array([step for step, _ in points], np.int64), np.array([loss for _, loss in points], np.float64)
    return Curves(steps, losses, np.cumsum([0, *map(len, trials)]))


def is_enough(losses: Sequence[float], target: float, comparator: Comparator, margin: float) -> bool:
    """Whether the mean reaches the target, by the definition, squared to be exact."""
    short = Fraction(target) - sum(map(Fraction, losses), Fraction()) / len(losses)
    if margin:
        return short > 0 and short**2 * len(losses) >= Fraction(margin) ** 2
    return short >= 0 if comparator == "inclusive" else short > 0


@given(
    CURVES,
    st.lists(st.integers(0, 2), min_size=6, max_size=6),
    EIGHTHS,
    st.sampled_from(["strict", "inclusive"]),
    st.sampled_from([0.0, 0.125, 0.25, 0.5]),
)
def test_a_mean_curve_crosses_where_the_definition_says(
    trials: list[Curve], numbers: list[int], target: float, comparator: Comparator, margin: float
) -> None:
    settings = numbers[: len(trials)]
    crossed = mean_crossings(curves_of(trials), np.array(settings, np.int64), target, comparator, margin)
    for place, setting in enumerate(settings):
        seeds = [trial for trial, own in zip(trials, settings, strict=True) if own == setting]
        finite = [{step for step, loss in seed.items() if math.isfinite(loss)} for seed in seeds]
        shared = sorted(set.intersection(*finite))
        at = [s for s in shared if is_enough([seed[s] for seed in seeds], target, comparator, margin)]
        assert crossed.n_seeds[place] == len(seeds)
        assert crossed.step[place] == (at[0] if at else NEVER)
        assert crossed.has_ended[place] == (not at and max(set.union(*finite), default=-1) > max(shared, default=-1))
        if at:
            assert crossed.previous_step[place] == max((s for s in shared if s < at[0]), default=NO_STEP)
            assert crossed.mean[place] == pytest.approx(sum(seed[at[0]] for seed in seeds) / len(seeds))


def test_a_mean_over_equal_values_is_that_value() -> None:
    """0.1 + 0.1 + 0.1 is above 0.3."""
    curves, one = curves_of([{5: 0.1}] * 3), np.zeros(3, np.int64)
    assert mean_crossings(curves, one, 0.1, "inclusive").step.tolist() == [5] * 3
    assert mean_crossings(curves, one, 0.1, "strict").step.tolist() == [NEVER] * 3


def test_means_have_the_t_interval_of_their_finite_values() -> None:
    values = [3.1, 3.3, 3.2, NAN, 3.5, 3.0]
    means = mean_curves(np.array([8] * 4 + [9] * 2), np.array(values), np.array([0, 0, 0, 0, 0, 1]))
    assert list(zip(means.setting.tolist(), means.step.tolist(), means.n.tolist(), strict=True)) == [
        (0, 8, 3), (0, 9, 1), (1, 9, 1),
    ]  # fmt: skip
    expected = scipy.stats.t.interval(0.95, 2, np.mean(values[:3]), scipy.stats.sem(values[:3]))
    low, high = means.mean[0] - means.half_width()[0], means.mean[0] + means.half_width()[0]
    assert (low, high) == pytest.approx(expected)
    assert np.isnan(means.half_width()[1:]).all()


@pytest.mark.parametrize("target", [NAN, INF])
def test_a_target_that_is_not_finite_is_refused(target: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        mean_crossings(curves_of([{1: 0.1}]), np.zeros(1, np.int64), target)

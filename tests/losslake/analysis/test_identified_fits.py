"""Fits of many curves are let through, refused and bounded as those of one curve are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from losslake.analysis.hyperbola import fit_hyperbola
from losslake.analysis.identifiability import identifiability, identified_fits

INF = math.inf
SIZES = 2.0 ** np.arange(0, 20, 2)


def curves(count: int, seed: int) -> np.ndarray:
    """Noisy hyperbolas with bends anywhere, some batch sizes never reached or absent."""
    chance = np.random.default_rng(seed)
    bends = 2.0 ** chance.uniform(-6, 24, (count, 1))
    steps: np.ndarray = 500 * (1 + bends / SIZES) * np.exp(chance.normal(0, 0.1, (count, len(SIZES))))
    steps[chance.random(steps.shape) < 0.2] = INF
    steps[chance.random(steps.shape) < 0.05] = math.nan
    steps[0, 3:] = INF
    return steps


@pytest.mark.parametrize(
    ("has_previous", "count"), [(False, 25), (True, 8), pytest.param(True, 25, marks=pytest.mark.slow)]
)
def test_many_curves_are_each_as_by_itself(has_previous: bool, count: int) -> None:
    steps, ran = curves(25, 3)[:count], np.full(len(SIZES), 1e8)
    previous = steps * 0.9 if has_previous else None
    found = identified_fits(SIZES, steps, ran, previous)
    for at, curve in enumerate(steps):
        alone = identifiability(SIZES, curve, ran, None if previous is None else previous[at])
        assert (found.refusal[at] is None) == alone.is_identifiable == found.is_identifiable[at]
        for mine, its in ((found.lower[at], alone.lower), (found.upper[at], alone.upper)):
            assert math.isnan(mine) if its is None else mine == pytest.approx(its, rel=1e-6)
        if alone.is_identifiable:
            fit = fit_hyperbola(SIZES, curve, ran)
            assert fit is not None
            assert found.critical_batch_size[at] == pytest.approx(fit.critical_batch_size, rel=1e-6)
            assert found.s_min[at] == pytest.approx(fit.s_min, rel=1e-6)
        else:
            assert str(found.refusal[at]).split()[0] in " ".join(alone.reasons) or found.refusal[at] == "too few"


def test_every_identifiability_check_refuses_some_curve() -> None:
    refusals = set(identified_fits(SIZES, curves(200, 4), np.full(len(SIZES), 1e8)).refusal)
    assert refusals == {None, "too few", "no bend", "no scaling", "extrapolated"}


def test_the_best_of_more_than_twice_as_many_trials_is_not_compared() -> None:
    """4 to 9 trials are too unequal, 4 to 8 aren't; those of a batch size that never reached don't count."""
    steps = 1000 * (1 + 100 / SIZES)
    never = np.r_[steps[:-1], np.inf]
    n_trials = np.linspace(4, 8, len(SIZES)).round()
    more = np.r_[n_trials[:-1], 9]
    assert identifiability(SIZES, steps, n_trials=n_trials) == identifiability(SIZES, steps)
    assert identifiability(SIZES, never, n_trials=more) == identifiability(SIZES, never)
    refused = identifiability(SIZES, steps, n_trials=more)
    assert refused.lower is refused.upper is None
    assert refused.reasons[0].startswith("too unequal: batch sizes have 4 to 9 trials")
    assert identified_fits(SIZES, np.stack([steps, never]), n_trials=more).refusal[0] == "too unequal"


def test_four_batch_sizes_have_bounds_but_no_number() -> None:
    """Of those that pass the other gates, 75 to 83% of the intervals held (noise 15%), where 90% were stated."""
    sizes = 8 * 4.0 ** np.arange(5)
    steps = 1000 * (1 + 100 / sizes) * np.array([1.0, 1.01, 0.99, 1.0, 1.0])
    four, five = identifiability(sizes[:4], steps[:4]), identifiability(sizes, steps)
    assert five.is_identifiable
    assert four.reasons == ("4 batch sizes have steps that count; an estimate needs 5",)
    assert four.lower is not None
    assert four.upper is not None
    assert four.lower < 100 < four.upper

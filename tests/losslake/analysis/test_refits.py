from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from losslake.analysis.fit_intervals import fewest_of_half, leave_one_out, residual_bootstrap, subsampled_search
from losslake.analysis.hyperbola import KINDS, Kind, fit_hyperbola
from tests.losslake.analysis.test_hyperbola import ZHANG, ZHANG_BATCH_SIZES


@pytest.mark.parametrize(("model", "lower", "upper"), [("85M", 1954, 2439), ("151M", 2843, 3732)])
def test_residual_bootstrap_of_zhang_2024(model: str, lower: float, upper: float) -> None:
    steps = ZHANG[model][0]
    fit = fit_hyperbola(ZHANG_BATCH_SIZES, steps, kind="least-squares")
    assert fit is not None
    found = residual_bootstrap(fit, ZHANG_BATCH_SIZES, steps, kind="least-squares")
    # METHODS 3.3, by other draws.
    assert math.log(found.upper / found.lower) == pytest.approx(math.log(upper / lower), rel=0.15)
    assert found.lower == pytest.approx(lower, rel=0.03)
    assert found.upper == pytest.approx(upper, rel=0.03)
    assert found == residual_bootstrap(fit, ZHANG_BATCH_SIZES, steps, kind="least-squares")


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_one_out_is_fitting_without_it(kind: Kind) -> None:
    steps = np.array([*ZHANG["85M"][0][:6], math.inf, *ZHANG["85M"][0][7:]])
    found = leave_one_out(ZHANG_BATCH_SIZES, steps, kind=kind)
    alone = []
    for index in (0, 1, 2, 3, 4, 5, 7, 8):
        fit = fit_hyperbola(np.delete(ZHANG_BATCH_SIZES, index), np.delete(steps, index), kind=kind)
        assert fit is not None
        alone.append(fit.critical_batch_size)
    assert found is not None
    assert found.lower == pytest.approx(min(alone), rel=1e-6)
    assert found.upper == pytest.approx(max(alone), rel=1e-6)
    assert leave_one_out([1, 2, 4, 8], [8, 4, 2, math.inf]) is None


@pytest.mark.parametrize("n_trials", [1, 2, 3, 7])
def test_the_fewest_of_half_is_the_minimum_of_every_half_equally_often(n_trials: int) -> None:
    steps = np.array([30.0, 10.0, math.inf, 20.0, 10.0, math.inf, 50.0])[:n_trials]
    found = fewest_of_half(steps, 20000, np.random.default_rng(1))
    halves = [min(half) for half in combinations(steps, max(1, n_trials // 2))]
    for value in set(halves):
        assert np.mean(found == value) == pytest.approx(halves.count(value) / len(halves), abs=0.015)


def test_a_study_without_trials_is_absent() -> None:
    assert np.isnan(fewest_of_half([], 3, np.random.default_rng(1))).all()


def test_identical_trials_give_no_range() -> None:
    sizes = 2.0 ** np.arange(8)
    steps = 100 * (1 + 20 / sizes)
    found = subsampled_search(sizes, [np.full(6, own) for own in steps])
    assert found is not None
    assert found.lower == pytest.approx(20, rel=1e-6)
    assert found.upper == pytest.approx(20, rel=1e-6)
    spread = [own * np.linspace(1, 1.5, 20) for own in steps]
    wider = subsampled_search(sizes, spread)
    assert wider is not None
    assert wider.lower < 20 < wider.upper


def test_searches_that_never_reach_the_target_give_no_range() -> None:
    assert subsampled_search([1, 2, 4, 8], [[math.inf, math.inf]] * 4) is None

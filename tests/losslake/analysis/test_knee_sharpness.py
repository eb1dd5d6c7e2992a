from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest

from losslake.analysis.critical_batch_size import fit_other_forms, runs_test
from tests.losslake.analysis.test_hyperbola import ZHANG, ZHANG_BATCH_SIZES

SIZES = 2.0 ** np.arange(12)


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 1.3, 4.0])
def test_a_curve_of_the_family_gives_its_own_sharpness(sharpness: float) -> None:
    found = fit_other_forms(SIZES, 500 * (1 + (40 / SIZES) ** sharpness) ** (1 / sharpness))
    assert found is not None
    assert found.sharpness == pytest.approx(sharpness, rel=1e-4)
    assert found.sharpness_critical_batch_size == pytest.approx(40, rel=1e-3)
    assert (found.p_value < 1e-6) == (sharpness != 1.0)


def test_a_power_law_above_a_floor_gives_its_own_exponent() -> None:
    found = fit_other_forms(SIZES, 500 + 9000 / SIZES**0.8)
    assert found is not None
    assert found.exponent == pytest.approx(0.8, rel=1e-4)
    assert found.exponent_critical_batch_size == pytest.approx(18**1.25, rel=1e-3)


def test_other_forms_of_the_curve_change_zhang_2024_by_known_factors() -> None:
    for model, (steps, _, _, critical) in ZHANG.items():
        found = fit_other_forms(ZHANG_BATCH_SIZES, steps)
        assert found is not None, model
        assert 0.8 <= found.sharpness <= 1.4
        for other in (found.sharpness_critical_batch_size, found.exponent_critical_batch_size):
            assert -0.25 <= other / critical - 1 <= 0.32


def test_a_hyperbola_with_noise_is_rarely_rejected() -> None:
    rng = np.random.default_rng(1)
    found = [fit_other_forms(SIZES, 500 * (1 + 40 / SIZES) * np.exp(rng.normal(0, 0.05, 12))) for _ in range(40)]
    assert np.mean([each is not None and each.p_value < 0.05 for each in found]) <= 0.1


def test_four_points_dont_carry_three_parameters() -> None:
    assert fit_other_forms(SIZES[:5], [8, 4, math.inf, 2, 1]) is None


@pytest.mark.parametrize("signs", ["++--", "+-+-", "++++--", "+--+++-", "+++-"])
def test_runs_are_counted_as_if_every_order_were_equally_likely(signs: str) -> None:
    def runs(order: tuple[str, ...]) -> int:
        return 1 + sum(one != other for one, other in pairwise(order))

    orders = list(permutations(signs))
    fewer = sum(runs(order) <= runs(tuple(signs)) for order in orders)
    found = runs_test([0.0, math.nan, *(1.0 if sign == "+" else -2.0 for sign in signs)])
    assert found == pytest.approx(fewer / len(orders))


def test_residuals_of_one_sign_tell_nothing() -> None:
    assert runs_test([1, 2, 3]) is None
    assert runs_test([]) is None

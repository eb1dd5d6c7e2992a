import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.learning_rate_growth import LearningRateForm, aicc, learning_rate_forms

BATCH_SIZES = np.array([2.0**power for power in range(14)])
FORMS: dict[str, Callable[[float], float]] = {
    "constant": lambda b: 0.3 * b**0,
    "linear": lambda b: 0.3 * b,
    "square-root": lambda b: 0.3 * math.sqrt(b),
    "power": lambda b: 0.3 * b**0.8,
    "saturating": lambda b: 0.3 / (1 + 100 / b),
    "surge": lambda b: 0.3 / (0.5 * (math.sqrt(100 / b) + math.sqrt(b / 100))),
}


def forms(rates: npt.NDArray[np.float64]) -> dict[str, LearningRateForm]:
    comparison = learning_rate_forms(BATCH_SIZES[: len(rates)], rates)
    assert comparison.refusal is None
    return {form.name: form for form in comparison.forms}


@pytest.mark.parametrize("name", FORMS)
def test_exact_data_of_a_form_picks_that_form(name: str) -> None:
    found = forms(np.array([FORMS[name](b) for b in BATCH_SIZES.tolist()]))
    assert next(iter(found)) == name
    assert found[name].delta_aicc == 0
    assert found[name].rms_log_residual == pytest.approx(0, abs=1e-7)
    assert len(found) == 6


@pytest.mark.parametrize("name", ["saturating", "surge"])
def test_the_noise_batch_size_of_exact_data_is_found(name: str) -> None:
    form = forms(np.array([FORMS[name](b) for b in BATCH_SIZES.tolist()]))[name]
    assert [form.noise_batch_size, form.noise_lower, form.noise_upper] == pytest.approx([100] * 3, rel=1e-4)


def test_noise_widens_the_interval_of_the_noise_batch_size_about_the_truth() -> None:
    noise = np.random.default_rng(3).normal(0, 0.1, len(BATCH_SIZES))
    exact = np.array([FORMS["saturating"](b) for b in BATCH_SIZES.tolist()])
    form = forms(exact * np.exp(noise))["saturating"]
    assert form.noise_lower is not None
    assert form.noise_upper is not None
    assert form.noise_lower < 100 < form.noise_upper < 2 * form.noise_lower


def test_linear_data_bounds_the_noise_batch_size_from_below_only() -> None:
    noise = np.random.default_rng(4).normal(0, 0.1, len(BATCH_SIZES))
    form = forms(0.3 * BATCH_SIZES * np.exp(noise))["saturating"]
    assert form.noise_batch_size is None
    assert form.noise_upper is None
    assert form.noise_lower is not None
    assert form.noise_lower > BATCH_SIZES[-1]


def test_the_power_is_the_least_squares_slope() -> None:
    rates = np.random.default_rng(5).lognormal(size=8)
    expected = np.polyfit(np.log(BATCH_SIZES[:8]), np.log(rates), 1)[0]
    assert forms(rates)["power"].exponent == pytest.approx(expected)


def test_aicc_is_the_likelihood_of_normal_residuals_with_a_penalty() -> None:
    # -2 log likelihood at the best variance is n log(RSS/n), but for a constant; 7 points, 3 parameters.
    assert aicc(7, 0.04, 3) == pytest.approx(7 * math.log(0.04) + 6 + 24 / 3)


@given(st.lists(st.floats(1e-9, 1e9), min_size=5, max_size=10))
def test_any_learning_rates_give_finite_comparisons(rates: list[float]) -> None:
    found = forms(np.array(rates))
    scores = [form.aicc for form in found.values()]
    assert scores == sorted(scores)
    assert min(form.delta_aicc for form in found.values()) == 0
    for form in found.values():
        assert all(math.isfinite(value) for value in (form.aicc, form.delta_aicc, form.rms_log_residual))
        if form.noise_batch_size is not None:
            assert form.noise_lower is not None
            assert form.noise_upper is not None
            assert form.noise_lower <= form.noise_batch_size <= form.noise_upper


@pytest.mark.parametrize("count", [0, 1, 4])
def test_fewer_than_five_batch_sizes_are_refused(count: int) -> None:
    rates = np.array([0.1] * count + [math.nan, 0.0, -1.0, math.inf])
    comparison = learning_rate_forms(BATCH_SIZES[: len(rates)], rates)
    assert comparison.forms == ()
    assert comparison.refusal is not None
    assert f"{count} batch size" in comparison.refusal
    assert "needs 5" in comparison.refusal


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="as many"):
        learning_rate_forms(BATCH_SIZES, np.ones(3))

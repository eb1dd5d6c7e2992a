"""The simple noise scale is that of the gradients that made the norms, and null where these don't give one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.noise_scale import simple_noise_scale


@given(st.floats(0.01, 100), st.floats(0.01, 1e4), st.integers(1, 64), st.integers(2, 64))
def test_expected_norms_give_the_noise_scale_exactly(signal: float, noise: float, small: int, times: int) -> None:
    large = small * times
    norms = [math.sqrt(signal + noise / batch) for batch in (small, large)]
    (scale,) = simple_noise_scale([norms[0]], [norms[1]], small, large, smoothing=0)
    assert scale == pytest.approx(noise / signal, rel=1e-6)


def test_averages_over_steps_find_the_noise_scale_of_gradients() -> None:
    rng = np.random.default_rng(1)
    mean, spread = rng.normal(0, 1, 50), rng.uniform(0.5, 4, 50)
    truth = np.square(spread).sum() / np.square(mean).sum()
    # The large batch is the mean of 8 small ones, as over processes.
    parts = mean + spread * rng.normal(0, 1, (4000, 8, 50)) / math.sqrt(4)
    small, large = (np.linalg.norm(each, axis=-1) for each in (parts[:, 0], parts.mean(axis=1)))
    scales = simple_noise_scale(small, large, 4, 32, smoothing=0.999)
    assert scales[-1] == pytest.approx(truth, rel=0.1)


def test_average_is_a_plain_loop() -> None:
    small, large = [2.0, 3.0, 2.5, math.nan, 2.0], [1.0, 2.0, 1.5, 1.0, 1.9]
    signal = noise = 0.0
    expected = []
    for one, other in zip(small, large, strict=True):
        if math.isnan(one):
            expected.append(math.nan)
            continue
        signal = 0.5 * signal + 0.5 * (8 * other**2 - 2 * one**2) / 6
        noise = 0.5 * noise + 0.5 * (one**2 - other**2) / (1 / 2 - 1 / 8)
        expected.append(noise / signal if signal > 0 and noise > 0 else math.nan)
    assert simple_noise_scale(small, large, 2, 8, smoothing=0.5).tolist() == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(("small", "large"), [(1.0, 1.0), (1.0, 2.0), (10.0, 1.0)])
def test_no_noise_or_no_signal_is_no_noise_scale(small: float, large: float) -> None:
    # Equal norms have no noise, a larger norm of the larger batch less than none, and much smaller ones no signal.
    assert np.isnan(simple_noise_scale([small], [large], 1, 4, smoothing=0)).all()


@pytest.mark.parametrize(
    ("small", "large", "smoothing", "message"),
    [
        (4, 4, 0.9, "smaller one first"),
        (0, 4, 0.9, "smaller one first"),
        (4, math.inf, 0.9, "smaller one first"),
        (1, 4, 1.0, "smoothing 1.0"),
        (1, 4, -0.1, "smoothing -0.1"),
    ],
)
def test_values_out_of_range_are_refused(small: float, large: float, smoothing: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simple_noise_scale([1.0], [1.0], small, large, smoothing)


def test_norms_of_unequal_numbers_of_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="as many small_norms as large_norms"):
        simple_noise_scale([1.0, 2.0], [1.0], 1, 4)

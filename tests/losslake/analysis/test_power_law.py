"""Power laws through a few points: the published fit, plain formulas, and what no law can be fitted to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.power_law import LawKind, fit_power_law, log_errors, refused
from losslake_schema.reached import Floats
from tests.critical_batch_sizes import NOMINAL, PRINTED

SIZES = np.array([NOMINAL[size] for size in PRINTED], np.float64)
CRITICAL = np.array([printed[3] for printed in PRINTED.values()])
# Student's 0.95 quantile with 1 and 3 degrees of freedom, from tables.
T_1, T_3 = 6.3138, 2.3534


def noisy(k: int = 6, seed: int = 1) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = np.exp(np.linspace(0, 4, k) + rng.normal(0, 0.2, k))
    return x, 3 * x**0.4 * np.exp(rng.normal(0, 0.3, k)), rng.uniform(0.02, 0.2, k)


@pytest.mark.parametrize(
    ("kind", "coefficient", "exponent"), [("equal", 93.196814, 0.468278), ("linear", 99.505898, 0.457641)]
)
def test_published_critical_batch_sizes_give_the_published_law(
    kind: LawKind, coefficient: float, exponent: float
) -> None:
    law = fit_power_law(SIZES, CRITICAL, kind=kind)
    assert law.coefficient == pytest.approx(coefficient, rel=2e-8)
    assert law.exponent == pytest.approx(exponent, abs=5e-7)
    assert law.at(85.0) == pytest.approx(coefficient * 85**exponent, rel=1e-5)


def test_equal_weights_give_the_textbook_line() -> None:
    x, y, _ = noisy()
    law = fit_power_law(x, y, kind="equal")
    (slope, intercept), covariance = np.polyfit(np.log(x), np.log(y), 1, cov=True)
    assert law.exponent == pytest.approx(slope)
    assert law.coefficient == pytest.approx(math.exp(intercept))
    assert law.covariance[1][1] == pytest.approx(covariance[0][0])
    assert law.covariance[0][0] == pytest.approx(covariance[1][1])
    assert law.covariance[0][1] == pytest.approx(covariance[0][1])


def test_weighted_fit_equals_a_plain_reading_of_its_definition() -> None:
    x, y, errors = noisy()
    law = fit_power_law(x, y, errors)
    assert law.scatter > 0
    log_x, log_y = np.log(x), np.log(y)

    def line(scatter: float) -> tuple[float, float, float]:
        """Return slope, its error and the sum of squares over variances, by sums over points."""
        w = [1 / (e**2 + scatter**2) for e in errors.tolist()]
        total = sum(w)
        at, to = (sum(a * b for a, b in zip(w, each.tolist(), strict=True)) / total for each in (log_x, log_y))
        sxx = sum(a * (b - at) ** 2 for a, b in zip(w, log_x.tolist(), strict=True))
        sxy = sum(a * (b - at) * (c - to) for a, b, c in zip(w, log_x.tolist(), log_y.tolist(), strict=True))
        slope = sxy / sxx
        rest = [c - to - slope * (b - at) for b, c in zip(log_x.tolist(), log_y.tolist(), strict=True)]
        return slope, math.sqrt(1 / sxx), sum(a * r**2 for a, r in zip(w, rest, strict=True))

    scan = np.linspace(0, 1, 200_001)
    place = np.argmin([abs(line(scatter)[2] - 4) for scatter in scan[::100]])
    near = scan[max(0, 100 * place - 100) : 100 * place + 100]
    scatter = float(min(near, key=lambda each: abs(line(float(each))[2] - 4)))
    assert law.scatter == pytest.approx(scatter, abs=1e-5)
    slope, error, _ = line(law.scatter)
    assert law.exponent == pytest.approx(slope)
    assert law.covariance[1][1] == pytest.approx(error**2)


def test_points_that_agree_better_than_their_errors_have_no_scatter_and_no_narrower_interval() -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    errors = np.full(5, 0.1)
    law = fit_power_law(x, 5 * x**0.5, errors)
    assert law.scatter == 0
    assert law.exponent == pytest.approx(0.5)
    half = T_3 * 0.1 / math.sqrt(np.square(np.log(x) - np.log(x).mean()).sum())
    assert law.exponent_range.upper - law.exponent == pytest.approx(half, rel=1e-4)


def test_points_without_any_error_give_a_line_through_them() -> None:
    x = np.array([1.0, 2.0, 4.0])
    law = fit_power_law(x, 5 * x**0.5, np.zeros(3))
    assert law.exponent == pytest.approx(0.5)
    assert law.exponent_range.upper - law.exponent_range.lower < 1e-6


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.sampled_from(["weighted", "equal"]))
def test_units_of_x_and_y_change_the_coefficient_only(of_x: float, of_y: float, kind: LawKind) -> None:
    x, y, errors = noisy()
    plain, scaled = fit_power_law(x, y, errors, kind), fit_power_law(of_x * x, of_y * y, errors, kind)
    assert scaled.exponent == pytest.approx(plain.exponent, rel=1e-6)
    assert scaled.exponent_range.lower == pytest.approx(plain.exponent_range.lower, abs=1e-6)
    assert scaled.at(of_x * x) == pytest.approx(of_y * plain.at(x), rel=1e-6)
    for ours, theirs in zip(scaled.band(of_x * x), plain.band(x), strict=True):
        assert ours == pytest.approx(of_y * theirs, rel=1e-5)


def test_band_is_narrowest_among_the_points() -> None:
    law = fit_power_law(*noisy())
    lower, upper = law.band([1.0, 7.0, 1000.0])
    width = np.log(upper / lower)
    assert width[1] < min(width[0], width[2])


def test_errors_of_points_are_those_of_their_intervals() -> None:
    # 3 and 5 batch sizes: 1 and 3 degrees of freedom.
    assert log_errors([1.0, 1.0], [math.e**2, math.e**2], [3, 5]) == pytest.approx([1 / T_1, 1 / T_3], rel=1e-4)


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        ([], "no points have a number; a law needs 3"),
        ([1.0], "1 point has a number; a law needs 3"),
        ([1.0, 2.0], "2 points have a number; a law needs 3"),
        ([1.0, 2.0, 2.0], "there are 2 different values; a law needs 3"),
        ([1.0, 1.2, 1.5], "the largest is 1.50 times the smallest; a law needs 2 times"),
    ],
)
def test_points_that_support_no_law_are_refused(x: list[float], reason: str) -> None:
    assert refused(x) == reason
    with pytest.raises(ValueError, match="a law needs"):
        fit_power_law(x, np.ones(len(x)), np.ones(len(x)))


@pytest.mark.parametrize(
    ("x", "y", "errors"),
    [
        ([1, 2, 4], [1, 2], [0, 0, 0]),
        ([1, 2, 0], [1, 2, 3], [0, 0, 0]),
        ([1, 2, 4], [1, math.nan, 3], [0, 0, 0]),
        ([1, 2, 4], [1, 2, 3], [0, -1, 0]),
        ([1, 2, 4], [1, 2, 3], [0, math.nan, 0]),
        ([1, 2, 4], [1, 2, 3], None),
    ],
)
def test_values_out_of_range_are_refused(x: list[float], y: list[float], errors: list[float] | None) -> None:
    with pytest.raises(ValueError, match="give "):
        fit_power_law(x, y, errors)

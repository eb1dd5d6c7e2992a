from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.hyperbola import HUBER, KINDS, Kind, fit_hyperbola, fit_hyperbolas
from losslake_schema.reached import Floats

DOUBLED = 2.0 ** np.arange(10)
# METHODS 7.2: Zhang et al. 2024, steps to goal loss at batch sizes 64 to 16384.
ZHANG_BATCH_SIZES = 64 * 2.0 ** np.arange(9)
ZHANG = {
    "85M": ((46000, 23000, 13282, 7000, 3840, 2528, 1917, 1600, 1600), 1293.8269, 2834258.09, 2190.60),
    "151M": ((96000, 49000, 24000, 12000, 7128, 4350, 2940, 2400, 2300), 1752.4212, 5677478.78, 3239.79),
}


@pytest.mark.parametrize("model", ZHANG)
def test_least_squares_equals_the_fits_of_zhang_2024(model: str) -> None:
    steps, s_min, e_min, critical = ZHANG[model]
    fit = fit_hyperbola(ZHANG_BATCH_SIZES, steps, kind="least-squares")
    assert fit is not None
    # Theirs stopped at their optimizer's tolerance.
    assert fit.s_min == pytest.approx(s_min, rel=3e-7)
    assert fit.e_min == pytest.approx(e_min, rel=3e-7)
    assert fit.critical_batch_size == pytest.approx(critical, abs=0.01)

    def squares(a: float, b: float) -> float:
        return float(np.square(np.log(steps) - np.log(a + b / ZHANG_BATCH_SIZES)).sum())

    assert squares(fit.s_min, fit.e_min) <= squares(s_min, e_min)


def curves(n: int, noise: float, seed: int = 1) -> Floats:
    rng = np.random.default_rng(seed)
    return 1000 * (1 + 30 / DOUBLED) * np.exp(rng.normal(0, noise, (n, len(DOUBLED))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("critical", [0.5, 3.0, 40.0, 700.0])
def test_a_curve_without_noise_gives_its_own_parameters(kind: Kind, critical: float) -> None:
    fit = fit_hyperbola(DOUBLED, 1000 * (1 + critical / DOUBLED), kind=kind)
    assert fit is not None
    assert fit.critical_batch_size == pytest.approx(critical, rel=1e-8)
    assert fit.s_min == pytest.approx(1000, rel=1e-8)
    assert fit.rms_log_residual < 1e-8
    assert fit.steps([critical])[0] == pytest.approx(2000)


@pytest.mark.parametrize("kind", KINDS)
def test_many_fits_at_once_are_the_minima_that_a_general_optimizer_finds(kind: Kind) -> None:
    steps = curves(12, 0.08)
    fits = fit_hyperbolas(DOUBLED, steps, kind=kind)
    bound = HUBER if kind == "robust" else 1e9
    for row in range(len(steps)):

        def loss(point: Floats, row: int = row) -> float:
            predicted = [point[0] + math.log1p(math.exp(point[1]) / size) for size in DOUBLED]
            sizes = [abs(math.log(s) - p) / fits.scale[row] for s, p in zip(steps[row], predicted, strict=True)]
            return float(sum(z * z / 2 if z <= bound else bound * (z - bound / 2) for z in sizes))

        from scipy.optimize import minimize

        found = minimize(loss, [math.log(900), math.log(20)], method="Nelder-Mead", options={"xatol": 1e-7})
        assert loss(np.log([fits.s_min[row], fits.critical_batch_size[row]])) <= found.fun + 1e-12
        assert math.log(fits.critical_batch_size[row]) == pytest.approx(found.x[1], abs=1e-4)


def test_the_robust_scale_is_that_of_the_residuals_around_the_curve_of_least_absolute_ones() -> None:
    """1.4826 times their median without the two smallest, which that curve makes vanish; at least 0.005."""
    steps = np.vstack([curves(4, 0.08), curves(1, 0.0)])
    logs = np.log(steps[:, None, :]) - np.log1p(np.exp(np.linspace(2, 5, 3001))[:, None] / DOUBLED)
    residuals = np.abs(logs - np.median(logs, axis=-1, keepdims=True))
    least = residuals.sum(-1).argmin(-1)
    kept = np.sort(residuals[np.arange(len(steps)), least], -1)[:, 2:]
    expected = np.maximum(1.4826 * np.median(kept, axis=-1), 0.005)
    assert fit_hyperbolas(DOUBLED, steps).scale == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_doesnt_depend_on_the_others_beside_it(kind: Kind) -> None:
    steps = curves(5, 0.05)
    steps[1, 3] = np.inf
    together = fit_hyperbolas(DOUBLED, steps, kind=kind)
    for row in range(5):
        alone = fit_hyperbola(DOUBLED, steps[row], kind=kind)
        assert alone is not None
        assert alone.critical_batch_size == pytest.approx(together.critical_batch_size[row], rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [np.nan, np.inf])
def test_absent_studies_are_ignored(kind: Kind, missing: float) -> None:
    steps = curves(1, 0.05)[0]
    without = fit_hyperbola(np.delete(DOUBLED, 4), np.delete(steps, 4), kind=kind)
    steps[4] = missing
    fit = fit_hyperbola(DOUBLED, steps, kind=kind)
    assert fit is not None
    assert without is not None
    assert fit.n_points == 9
    assert fit.critical_batch_size == pytest.approx(without.critical_batch_size, rel=1e-8)


def test_a_never_reached_study_pulls_only_if_it_should_have_been_reached() -> None:
    steps = curves(1, 0.02)[0]
    steps[0] = np.inf
    free = fit_hyperbola(DOUBLED, steps)
    unsurprising = fit_hyperbola(DOUBLED, steps, np.full(10, 5000.0))
    surprising = fit_hyperbola(DOUBLED, steps, np.full(10, 60000.0))
    assert free is not None
    assert unsurprising is not None
    assert surprising is not None
    assert unsurprising.critical_batch_size == pytest.approx(free.critical_batch_size, rel=1e-8)
    # Not by much: no single study pulls more than Huber's constant.
    assert 1.005 < surprising.critical_batch_size / free.critical_batch_size < 1.05
    plain = fit_hyperbola(DOUBLED, steps, np.full(10, 60000.0), kind="least-squares")
    assert plain == fit_hyperbola(DOUBLED, steps, kind="least-squares")


def test_one_badly_tuned_study_hardly_moves_the_robust_fit() -> None:
    steps = 1000 * (1 + 30 / DOUBLED) * np.exp(np.tile([0.01, -0.01], 5))
    steps[8] *= 2
    robust = fit_hyperbola(DOUBLED, steps)
    plain = fit_hyperbola(DOUBLED, steps, kind="least-squares")
    assert robust is not None
    assert plain is not None
    assert abs(math.log(robust.critical_batch_size / 30)) < 0.05
    assert abs(math.log(plain.critical_batch_size / 30)) > 0.15


@pytest.mark.parametrize("slope", [0.0, -1.0])
def test_a_straight_line_ends_at_the_edge_of_the_search(slope: float) -> None:
    fit = fit_hyperbola(DOUBLED, 1000 * DOUBLED**slope, kind="least-squares")
    assert fit is not None
    edges = np.array([DOUBLED[0] / 100, DOUBLED[-1] * 100])
    assert np.abs(np.log(fit.critical_batch_size / edges)).min() <= 1e-9


def test_two_studies_make_no_fit() -> None:
    assert fit_hyperbola([1, 2, 4], [30, 20, np.inf]) is None
    assert np.isnan(fit_hyperbolas([1, 2, 4], [[30, 20, np.inf]]).s_min).all()


@pytest.mark.parametrize(
    ("batch_sizes", "steps", "words"),
    [
        ([1, 1, 2], [3, 2, 1], "ascending"),
        ([0, 1, 2], [3, 2, 1], "above 0"),
        ([1, 2, math.nan], [3, 2, 1], "finite"),
        ([1, 2, 4], [3, 2], "one for each of the 3"),
        ([1, 2, 4], [3, 2, 0], "above 0"),
    ],
)
def test_unusable_curves_are_refused(batch_sizes: list[float], steps: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fit_hyperbola(batch_sizes, steps)


@given(
    st.lists(st.floats(1, 1e12) | st.sampled_from([math.inf, math.nan, 1.0]), min_size=1, max_size=8),
    st.sampled_from(KINDS),
    st.none() | st.floats(1, 1e9),
)
def test_whatever_the_steps_a_fit_is_finite_or_none(steps: list[float], kind: Kind, limit: float | None) -> None:
    censored_at = None if limit is None else np.full(len(steps), limit)
    fit = fit_hyperbola(2.0 ** np.arange(len(steps)), steps, censored_at, kind)
    if sum(map(math.isfinite, steps)) < 3:
        assert fit is None
    else:
        assert fit is not None
        assert np.isfinite([fit.critical_batch_size, fit.s_min, fit.e_min, fit.rms_log_residual]).all()
        assert 0.01 * (1 - 1e-9) <= fit.critical_batch_size <= 100 * 2.0 ** (len(steps) - 1) * (1 + 1e-9)

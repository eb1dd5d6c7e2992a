from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.critical_batch_size import CurveFit, fit_curve, fit_other_forms, mccandlish2018, zhang2024
from losslake.analysis.hyperbola import KINDS, Kind, fit_hyperbola
from tests.losslake.analysis.test_hyperbola import ZHANG, ZHANG_BATCH_SIZES

SIZES = 2.0 ** np.arange(11)


def curve(critical: float, noise: float = 0.03, kind: Kind = "robust") -> CurveFit:
    rng = np.random.default_rng(3)
    return fit_curve(SIZES, 500 * (1 + critical / SIZES) * np.exp(rng.normal(0, noise, len(SIZES))), kind=kind)


@pytest.mark.parametrize(("model", "star"), [("85M", 745.3201), ("151M", 955.1582)])
def test_both_definitions_for_zhang_2024(model: str, star: float) -> None:
    steps, s_min, e_min, critical = ZHANG[model]
    fit = fit_curve(ZHANG_BATCH_SIZES, steps, kind="least-squares")
    ours, theirs = mccandlish2018(fit), zhang2024(fit)
    assert ours.value == pytest.approx(critical, abs=0.01)
    assert theirs.value == pytest.approx(star, rel=3e-7)
    assert [ours.definition, theirs.definition] == ["mccandlish2018", "zhang2024"]
    for each in (ours, theirs):
        assert each.is_identifiable
        assert each.s_min == pytest.approx(s_min, rel=3e-7)
        assert each.e_min == pytest.approx(e_min, rel=3e-7)
        assert each.warnings == ()
        assert each.lower is not None
        assert each.upper is not None
        assert each.value is not None
        assert each.lower < each.value < each.upper
    assert fit.delta_method is not None
    # METHODS 3.3: the standard error of log B_c is 0.06 to 0.07.
    assert math.log(fit.delta_method.upper / critical) / 1.8946 == pytest.approx(0.066, abs=0.01)


def test_zhangs_number_needs_the_overhead_over_the_optimal_batch_size() -> None:
    fit = curve(200)
    for overhead, optimal in ((0.2, 100), (0.5, 10), (0.2, 0)):
        found = zhang2024(fit, overhead, optimal).value
        assert found is not None
        assert fit.fit is not None
        examples = fit.fit.steps([found])[0] * found
        at_optimal = fit.fit.e_min if optimal == 0 else fit.fit.steps([optimal])[0] * optimal
        assert examples == pytest.approx((1 + overhead) * at_optimal, rel=1e-9)


def test_zhangs_number_is_refused_where_it_would_only_repeat_the_optimal_batch_size() -> None:
    found = zhang2024(curve(30))
    assert found.value is None
    assert found.s_min is None
    assert not found.is_identifiable
    assert "optimal_batch_size" in found.warnings[0]
    assert mccandlish2018(curve(30)).is_identifiable


@pytest.mark.parametrize(("overhead", "optimal"), [(0, 1), (-1, 1), (math.inf, 1), (0.2, -1), (0.2, math.nan)])
def test_bad_definitions_are_refused(overhead: float, optimal: float) -> None:
    with pytest.raises(ValueError, match=r"overhead|optimal_batch_size"):
        zhang2024(curve(30), overhead, optimal)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_bend_there_is_a_lower_bound_and_no_number(kind: Kind) -> None:
    fit = curve(1e7, kind=kind)
    found = mccandlish2018(fit)
    assert (found.value, found.upper, found.s_min, found.e_min) == (None, None, None, None)
    assert found.lower is not None
    assert 1024 < found.lower < 1e7
    assert fit.known.reasons[0].startswith("no bend")
    assert fit.bootstrap is None


@pytest.mark.parametrize("kind", KINDS)
def test_without_scaling_there_is_an_upper_bound_and_no_number(kind: Kind) -> None:
    fit = curve(1e-4, kind=kind)
    found = mccandlish2018(fit)
    assert (found.value, found.lower, found.s_min) == (None, None, None)
    assert found.upper is not None
    assert found.upper < 1
    assert fit.known.reasons[0].startswith("no scaling")


def test_three_batch_sizes_give_neither_number_nor_bounds() -> None:
    fit = fit_curve([1, 2, 4, 8], [800, 420, 230, math.inf])
    found = mccandlish2018(fit)
    assert (found.value, found.lower, found.upper) == (None, None, None)
    assert fit.known.reasons == ("3 batch sizes have steps that count; an estimate needs 5",)


def test_every_range_holds_the_truth_of_a_quiet_curve() -> None:
    rng = np.random.default_rng(4)
    steps = 500 * (1 + 40 / SIZES) * np.exp(rng.normal(0, 0.03, len(SIZES)))
    trials = [own * np.r_[1.0, rng.uniform(1, 3, 99)] for own in steps]
    fit = fit_curve(SIZES, steps, trial_steps=trials)
    for found in (fit.delta_method, fit.bootstrap, fit.left_out, fit.subsampled):
        assert found is not None
        assert 40 * 0.8 < found.lower < found.upper < 40 * 1.25
    assert fit.other_forms is not None
    assert fit.runs_p_value is not None


@given(st.lists(st.floats(1, 1e9) | st.sampled_from([math.inf, math.nan, 1.0]), min_size=1, max_size=9))
def test_whatever_the_steps_nothing_is_nan(steps: list[float]) -> None:
    fit = fit_curve(2.0 ** np.arange(len(steps)), steps, censored_at=np.full(len(steps), 50.0))
    for found in (mccandlish2018(fit), zhang2024(fit, optimal_batch_size=2)):
        numbers = [found.value, found.lower, found.upper, found.s_min, found.e_min, found.rms_log_residual]
        assert all(number is None or math.isfinite(number) for number in numbers)
        assert found.is_identifiable == (found.value is not None)


@pytest.mark.parametrize("noise", [0.03, 0.5])
def test_p_value_of_the_knee_is_that_of_the_f_test(noise: float) -> None:
    steps = 500 * (1 + 30 / SIZES) * np.exp(np.random.default_rng(5).normal(0, noise, len(SIZES)))
    forms, hyperbola = fit_other_forms(SIZES, steps), fit_hyperbola(SIZES, steps, kind="least-squares")
    assert forms is not None
    assert hyperbola is not None
    bend = (forms.sharpness_critical_batch_size / SIZES) ** forms.sharpness
    squares = len(SIZES) * np.var(np.log(steps) - np.log1p(bend) / forms.sharpness)
    ratio = (len(SIZES) * hyperbola.rms_log_residual**2 / squares - 1) * (len(SIZES) - 3)
    assert forms.p_value == pytest.approx(scipy.stats.f.sf(ratio, 1, len(SIZES) - 3), rel=1e-6)

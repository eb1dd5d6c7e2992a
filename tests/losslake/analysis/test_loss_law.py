"""The fit equals published ones, a plain objective and other optimizers, and refuses what the points don't say."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from losslake.analysis.loss_law import (
    LEVEL,
    NAMES,
    KaplanLaw,
    LossLaw,
    LossLawFit,
    LossLawRefused,
    fit_loss_law,
)
from losslake.analysis.loss_law_search import Points, huber, log_losses, search, starts
from losslake_schema.reached import Floats

DATA = Path(__file__).parents[2] / "data/loss_law"
TRUE = LossLaw(1.8, 480.0, 2000.0, 0.35, 0.37)
# Besiroglu et al. 2024: E, A, B, alpha, beta with their standard errors.
BESIROGLU = {
    "E": (1.81686, 0.02566),
    "A": (482.00572, 124.52232),
    "B": (2085.43420, 1293.28410),
    "alpha": (0.34781, 0.01540),
    "beta": (0.36585, 0.02060),
}


VARIANTS = ("hot", "hot_100b+", "hot_120b+_only", "lr_ablation_hot")


def rows_of(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def chinchilla() -> tuple[Floats, Floats, Floats]:
    """The runs of Hoffmann et al. 2022, without the five of the highest loss."""
    rows = sorted(rows_of("chinchilla.csv"), key=lambda row: float(row["loss"]))[:-5]
    n, d, loss = (np.array([float(row[name]) for row in rows]) for name in ("n", "d", "loss"))
    return n, d, loss


def gemstones(variant: str, size: str = "with") -> tuple[Floats, Floats, Floats, list[str]]:
    rows = [row for row in rows_of("gemstones.csv") if row["variant"] == variant]
    names = ("n" if size == "with" else "n_non_embedding", "d", "loss")
    n, d, loss = (np.array([float(row[name]) for row in rows]) for name in names)
    return n, d, loss, [row["run"] for row in rows]


def values_of(law: LossLaw) -> dict[str, float]:
    return dict(zip(NAMES, (law.e, law.a, law.b, law.alpha, law.beta), strict=True))


def objective(law: Sequence[float], n: Floats, d: Floats, loss: Floats, delta: float) -> float:
    """The sum of Huber's loss, point by point."""
    e, a, b, alpha, beta = law
    total = 0.0
    for size, tokens, value in zip(n.tolist(), d.tolist(), loss.tolist(), strict=True):
        size_of_residual = abs(math.log(value) - math.log(e + a / size**alpha + b / tokens**beta))
        if size_of_residual <= delta:
            total += 0.5 * size_of_residual**2
        else:
            total += delta * (size_of_residual - 0.5 * delta)
    return total


def grid(n_sizes: int = 8, n_tokens: int = 6) -> tuple[Floats, Floats]:
    n, d = np.meshgrid(np.geomspace(5e7, 5e9, n_sizes), np.geomspace(1e9, 1e11, n_tokens))
    return n.ravel(), d.ravel()


@pytest.fixture(scope="module")
def of_chinchilla() -> LossLawFit:
    return fit_loss_law(*chinchilla())


def test_chinchilla_gives_the_law_of_besiroglu_2024_within_their_standard_errors(of_chinchilla: LossLawFit) -> None:
    for name, value in values_of(of_chinchilla.law).items():
        published, error = BESIROGLU[name]
        assert abs(value - published) < 0.1 * error, name
    # What they print of the fit with the same delta, by L-BFGS from 4,500 starts.
    assert of_chinchilla.huber <= 0.0010182740346154362
    assert values_of(of_chinchilla.law) == pytest.approx(
        {"E": 1.817235, "A": 477.84171, "B": 2143.86379, "alpha": 0.3473127, "beta": 0.3671826}, rel=3e-4
    )


def test_a_delta_near_0_gives_the_digits_of_besiroglu_2024() -> None:
    # Their last fit scales residuals by e^-12.3, so that it minimizes absolute values.
    law = fit_loss_law(*chinchilla(), delta=1e-8, n_resamples=2).law
    for name, value in values_of(law).items():
        assert value == pytest.approx(BESIROGLU[name][0], rel=2e-5), name


def test_the_bootstrap_gives_the_standard_errors_of_besiroglu_2024(of_chinchilla: LossLawFit) -> None:
    errors = of_chinchilla.refits.std(0)[3:]
    assert errors == pytest.approx([0.0154, 0.0206], rel=0.2)


def test_hoffmanns_law_is_outside_the_intervals_that_their_runs_give(of_chinchilla: LossLawFit) -> None:
    beta = of_chinchilla.estimates["beta"]
    assert beta.lower is not None
    assert beta.lower > 0.28
    e = of_chinchilla.estimates["E"]
    assert e.lower is not None
    assert e.lower > 1.69


def published_gemstones() -> Iterator[ParameterSet]:
    for row in rows_of("gemstones_published.csv"):
        is_quick = row["variant"] == "cool_end" and row["delta"] == "1e-4"
        marks = () if is_quick else pytest.mark.slow
        yield pytest.param(row, id="-".join([*row.values()][:3]), marks=marks)


@pytest.mark.parametrize("row", [*published_gemstones()])
def test_gemstones_have_no_larger_sum_than_their_published_laws(row: dict[str, str]) -> None:
    n, d, loss, runs = gemstones(row["variant"], row["size"])
    fit = fit_loss_law(n, d, loss, runs, delta=float(row["delta"]), n_resamples=2)
    assert fit.huber <= float(row["huber"]) * (1 + 1e-6)
    published = LossLaw(**{name.lower(): float(row[name]) for name in NAMES})
    # The published laws stop where the sum is flat: the losses they give are the same.
    assert np.abs(np.log(fit.fitted) - np.log(published.losses(n, d))).max() < 0.02


@pytest.mark.parametrize(
    "variant",
    ["cool_end", *(pytest.param(each, marks=pytest.mark.slow) for each in VARIANTS)],
)
def test_laws_of_the_gemstones_lie_within_the_intervals_by_model(variant: str) -> None:
    n, d, loss, runs = gemstones(variant)
    fit = fit_loss_law(n, d, loss, runs)
    for row in rows_of("gemstones_published.csv"):
        if (row["variant"], row["size"]) == (variant, "with"):
            for name in NAMES:
                estimate = fit.estimates[name]
                assert estimate.lower is None or estimate.lower <= float(row[name]), name
                assert estimate.upper is None or float(row[name]) <= estimate.upper, name


def test_the_sum_is_that_of_the_points_one_by_one(of_chinchilla: LossLawFit) -> None:
    law = [*values_of(of_chinchilla.law).values()]
    assert objective(law, *chinchilla(), 1e-3) == pytest.approx(of_chinchilla.huber, rel=1e-9)


@settings(max_examples=settings().max_examples // 10)
@given(
    alpha=st.floats(0.2, 0.7),
    beta=st.floats(0.2, 0.7),
    share=st.floats(0.3, 0.8),
    noise=st.sampled_from([1e-4, 3e-3, 0.02]),
    seed=st.integers(0, 1000),
)
def test_no_other_optimizer_finds_a_smaller_sum(
    alpha: float, beta: float, share: float, noise: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n, d = grid(6, 5)
    law = LossLaw(2 * share, (2 - 2 * share) * 3e8**alpha, (2 - 2 * share) * 1e10**beta, alpha, beta)
    loss = law.losses(n, d) * np.exp(rng.normal(0, noise, len(n)))
    log_n, log_d = np.log(n) - np.log(n).mean(), np.log(d) - np.log(d).mean()
    points = Points(log_n, log_d, np.log(loss))
    found = search(points, starts(points)).loss.min()

    def total(parameters: Floats) -> float:
        return float(huber(points.log_loss - log_losses(points, parameters[None])[0]).sum())

    low, high = points.limits
    for first in starts(points)[::20]:
        # The sum is scaled, or tolerances that are relative to 1 end the search early.
        other = minimize(lambda x: total(x) * 1e4, first, bounds=[*zip(low, high, strict=True)], method="L-BFGS-B")
        assert found <= total(other.x) * (1 + 1e-6)


def test_refits_from_the_fit_find_what_those_from_every_start_find() -> None:
    n, d, loss, runs = gemstones("hot")
    log_n, log_d = np.log(n) - np.log(n).mean(), np.log(d) - np.log(d).mean()
    points = Points(log_n, log_d, np.log(loss))
    start = starts(points)
    every = search(points, start)
    groups = np.unique(runs, return_inverse=True)[1]
    drawn = np.random.default_rng(5).multinomial(22, np.full(22, 1 / 22), size=12)[:, groups].astype(np.float64)
    best = every.parameters[every.loss.argmin()]
    from_fit = search(points, np.tile(best, (12, 1)), drawn).loss
    from_all = np.min([search(points, np.tile(one, (12, 1)), drawn).loss for one in start[::5]], axis=0)
    assert (from_fit <= from_all * (1 + 1e-5)).all()


def test_points_without_noise_give_their_law() -> None:
    n, d = grid()
    fit = fit_loss_law(n, d, TRUE.losses(n, d), n_resamples=100)
    assert values_of(fit.law) == pytest.approx(values_of(TRUE), rel=1e-5)
    assert fit.r_squared == pytest.approx(1.0)
    assert fit.refusal == ""


def test_the_optimum_has_the_least_loss_of_its_compute() -> None:
    n, d = TRUE.optimum(1e21)
    assert 6 * n * d == pytest.approx(1e21)
    sizes = np.geomspace(n / 100, n * 100, 20_001)
    losses = TRUE.losses(sizes, 1e21 / 6 / sizes)
    assert n == pytest.approx(sizes[losses.argmin()], rel=1e-3)
    assert TRUE.losses(n, d) <= losses.min()


def test_the_optimum_of_refits_is_that_of_their_laws(of_chinchilla: LossLawFit) -> None:
    at_n, at_d = of_chinchilla.centre
    expected = []
    for log_a, log_b, log_e, alpha, beta in of_chinchilla.refits.tolist():
        law = LossLaw(math.exp(log_e), math.exp(log_a + alpha * at_n), math.exp(log_b + beta * at_d), alpha, beta)
        expected.append((*law.optimum(1e22), float(law.losses(*law.optimum(1e22)))))
    optimum = of_chinchilla.optimum(1e22)
    for estimate, column in zip((optimum.n, optimum.d, optimum.loss), np.array(expected).T, strict=True):
        assert estimate.lower is not None
        assert estimate.upper is not None
        assert column.min() < estimate.lower < np.median(column) < estimate.upper < column.max()
        assert (column < estimate.lower).mean() == pytest.approx((1 - LEVEL) / 2, abs=0.02)


def test_fewer_settings_have_wider_intervals() -> None:
    n, d = grid(8, 6)
    rng = np.random.default_rng(3)
    loss = TRUE.losses(n, d) * np.exp(rng.normal(0, 0.004, len(n)))
    each, paired = (fit_loss_law(n, d, loss, groups) for groups in (None, np.arange(48) // 4))
    widths = []
    for fit in (each, paired):
        alpha = fit.estimates["alpha"]
        assert alpha.lower is not None
        assert alpha.upper is not None
        widths.append(alpha.upper - alpha.lower)
    assert widths[0] < widths[1]


def test_points_that_leave_a_term_open_have_bounds_but_no_values() -> None:
    n, d = grid()
    # D is so large that it hardly matters.
    fit = fit_loss_law(n, 1e6 * d, TRUE.losses(n, 1e6 * d) * np.exp(np.random.default_rng(1).normal(0, 0.01, len(n))))
    assert "beta" in fit.refusal
    assert {each.value for each in fit.estimates.values()} == {None}
    assert fit.optimum(1e21).n.value is None
    alpha = fit.estimates["alpha"]
    assert alpha.lower is not None
    assert alpha.upper is not None
    assert alpha.lower < TRUE.alpha < alpha.upper


@pytest.mark.parametrize(
    ("n", "d", "why"),
    [
        (np.geomspace(1e8, 1e9, 9), np.geomspace(1e11, 1e9, 9), "9 settings: a fit needs 10"),
        (np.repeat([1e8, 3e8, 1e9], 6), np.tile(np.geomspace(1e9, 1e11, 6), 3), "3 model sizes: a fit needs 4"),
        (np.tile(np.geomspace(1e8, 1e9, 6), 2), np.repeat(1e10, 12), "1 number of tokens: a fit needs 4"),
        (np.geomspace(1e8, 2e8, 12), np.tile(np.geomspace(1e9, 1e11, 6), 2), "model sizes differ by 2 times"),
        (np.geomspace(1e8, 1e10, 12), 20 * np.geomspace(1e8, 1e10, 12), "vary together"),
    ],
)
def test_too_few_or_too_alike_points_are_refused(n: Floats, d: Floats, why: str) -> None:
    with pytest.raises(LossLawRefused, match=why):
        fit_loss_law(n, d, TRUE.losses(n, d))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_values_that_have_no_logarithm_are_errors(value: float) -> None:
    n, d = grid()
    for place in range(3):
        arrays = [n.copy(), d.copy(), TRUE.losses(n, d)]
        arrays[place][5] = value
        with pytest.raises(ValueError, match="finite numbers above 0"):
            fit_loss_law(*arrays)
    with pytest.raises(ValueError, match="same shape"):
        fit_loss_law(n, d[1:], TRUE.losses(n, d))


def test_losses_that_no_law_fits_are_refused() -> None:
    n, d = np.exp([10.0] * 11 + [11.0, 16.0, 14.0]), np.exp([15.0] * 11 + [16.0, 17.0, 18.0])
    with pytest.raises(LossLawRefused, match="no sum of terms that fall with model size or tokens fits these losses"):
        fit_loss_law(n, d, np.exp([0.0] * 13 + [3.0]), n_resamples=20)


@settings(max_examples=settings().max_examples // 2)
@given(st.data())
def test_any_points_give_a_fit_or_a_reason(data: st.DataObject) -> None:
    count = data.draw(st.integers(10, 16))
    logs = [data.draw(st.lists(st.floats(low, low + 14), min_size=count, max_size=count)) for low in (10, 15, -3)]
    n, d, loss = (np.exp(np.array(each)) for each in logs)
    try:
        fit = fit_loss_law(n, d, loss, n_resamples=20)
    except LossLawRefused:
        return
    assert np.isfinite(fit.fitted).all()
    assert fit.refusal or all(estimate.value is not None for estimate in fit.estimates.values())
    for name in NAMES:
        lower, upper = fit.estimates[name].lower, fit.estimates[name].upper
        assert lower is None or upper is None or lower <= upper


def test_kaplans_law_equals_its_limits() -> None:
    law = KaplanLaw(6.4e13, 1.8e13, 0.076, 0.103)
    assert law.losses(1e9, 1e30) == pytest.approx((6.4e13 / 1e9) ** 0.076)
    assert law.losses(1e40, 1e10) == pytest.approx((1.8e13 / 1e10) ** 0.103, rel=1e-3)

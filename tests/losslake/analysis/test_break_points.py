from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.break_points import (
    NO_BREAK_POINT,
    BreakPoint,
    max_useful_batch_size,
    perfect_scaling_end,
    widened,
)
from losslake.analysis.log_curves import scaling_shape
from tests.losslake.analysis.test_hyperbola import ZHANG, ZHANG_BATCH_SIZES

SIZES = (1, 2, 4, 8, 16)
PERFECT = (1600, 800, 400, 200, 100)


@pytest.mark.parametrize(("model", "end", "most"), [("85M", 256, 8192), ("151M", 1024, 8192)])
def test_break_points_of_zhang_2024(model: str, end: int, most: int) -> None:
    steps = ZHANG[model][0]
    assert perfect_scaling_end(ZHANG_BATCH_SIZES, steps) == BreakPoint(end, end, 2 * end, "none", 64)
    assert max_useful_batch_size(ZHANG_BATCH_SIZES, steps) == BreakPoint(most, most / 2, most, "none")


@pytest.mark.parametrize(
    "steps",
    [
        # 302M, 604M and 1.2B parameters, from the outputs of Zhang et al.'s plots/chinchilla.ipynb.
        (196000, 90000, 46000, 23400, 13300, 7224, 4980, 3400, 2879),
        (311000, 166000, 81000, 37440, 21320, 11400, 7199, 4700, 3800),
        (643000, 331000, 176000, 94000, 46500, 25000, 15360, 8900, 6500),
    ],
)
def test_larger_models_still_gain_at_the_largest_batch_size(steps: tuple[int, ...]) -> None:
    assert max_useful_batch_size(ZHANG_BATCH_SIZES, steps) == BreakPoint(16384, 8192, None, "right")


def test_perfect_scaling_throughout_ends_beyond_the_grid() -> None:
    assert perfect_scaling_end(SIZES, PERFECT) == BreakPoint(16, 16, None, "right", 1)
    assert max_useful_batch_size(SIZES, PERFECT) == BreakPoint(16, 8, None, "right")


def test_no_gain_at_all_ends_before_the_grid() -> None:
    assert perfect_scaling_end(SIZES, [100] * 5) == BreakPoint(1, None, 2, "left")
    assert max_useful_batch_size(SIZES, [100] * 5) == BreakPoint(1, None, 1, "left")


def test_exactly_one_plus_tau_is_still_within() -> None:
    assert perfect_scaling_end([1, 2], [10, 6], tau=0.2).batch_size == 2
    assert perfect_scaling_end([1, 2], [10, 6.01], tau=0.2).batch_size == 1
    assert max_useful_batch_size([1, 2], [11, 10], tau=0.1).batch_size == 1
    assert max_useful_batch_size([1, 2], [11.01, 10], tau=0.1).batch_size == 2


def test_a_never_reached_largest_batch_size_ends_perfect_scaling_if_its_steps_suffice_to_tell() -> None:
    steps = [1600, 800, 400, math.inf]
    sizes = SIZES[:4]
    assert perfect_scaling_end(sizes, steps, censored_at=[0, 0, 0, 241]) == BreakPoint(4, 4, 8, "none", 1)
    assert perfect_scaling_end(sizes, steps, censored_at=[0, 0, 0, 239]) == BreakPoint(4, 4, None, "right", 1)
    assert perfect_scaling_end(sizes, steps) == BreakPoint(4, 4, None, "right", 1)


def test_badly_tuned_batch_sizes_do_not_end_perfect_scaling() -> None:
    assert perfect_scaling_end(SIZES, [1600, 1500, math.inf, 200, 190]) == BreakPoint(8, 8, 16, "none", 1)


def test_never_reached_smaller_batch_sizes_are_passed_over() -> None:
    steps = [math.inf, 800, 400, 390, 380]
    assert perfect_scaling_end(SIZES, steps, censored_at=[10] * 5) == BreakPoint(4, 4, 8, "none", 2)
    assert max_useful_batch_size(SIZES, steps) == BreakPoint(4, 2, 4, "none")


def test_a_lucky_smallest_batch_size_ends_nothing_when_the_median_of_three_is_the_anchor() -> None:
    steps = [1200, 800, 400, 200, 190]
    assert perfect_scaling_end(SIZES, steps).censoring == "left"
    assert perfect_scaling_end(SIZES, steps, anchor="median of 3").batch_size == 8


def test_steps_that_fall_by_more_than_the_batch_grows_are_not_perfect_scaling() -> None:
    assert perfect_scaling_end([300, 510, 1020], [1100, 100, 90]) == BreakPoint(510, None, 1020, "left")
    assert perfect_scaling_end([300, 510], [1100, 100]) == BreakPoint(510, None, None, "right")
    assert perfect_scaling_end(SIZES, [1930, 800, 400, 200, 190]) == BreakPoint(8, 8, 16, "none", 2)
    assert perfect_scaling_end(SIZES, [1920, 800, 400, 200, 190]) == BreakPoint(8, 8, 16, "none", 1)


@pytest.mark.parametrize("steps", [[math.inf] * 5, [math.nan] * 5])
def test_without_results_there_is_no_break_point(steps: list[float]) -> None:
    assert perfect_scaling_end(SIZES, steps) == NO_BREAK_POINT
    assert max_useful_batch_size(SIZES, steps) == NO_BREAK_POINT
    assert perfect_scaling_end([], []) == NO_BREAK_POINT


def test_bad_tolerances_and_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="tau"):
        perfect_scaling_end(SIZES, PERFECT, tau=math.nan)
    with pytest.raises(ValueError, match="one curve"):
        max_useful_batch_size(SIZES, [PERFECT])


STEPS = st.lists(st.integers(1, 50).map(float) | st.sampled_from([math.inf, math.nan]), min_size=1, max_size=8)


@given(STEPS, st.sampled_from([0.0, 0.1, 0.2, 1.0]))
def test_break_points_are_what_their_definitions_say(steps: list[float], tau: float) -> None:
    sizes = [2.0**i for i in range(len(steps))]
    known = [(b, s) for b, s in zip(sizes, steps, strict=True) if math.isfinite(s)]
    useful = [b for b, s in known if s <= (1 + tau) * min(other for size, other in known if size >= b)]
    assert max_useful_batch_size(sizes, steps, tau).batch_size == min(useful, default=None)
    within = [b for b, s in known if b * s <= (1 + tau) * min(size * other for size, other in known)]
    assert perfect_scaling_end(sizes, steps, tau).batch_size == max(within, default=None)


def test_slopes_and_efficiencies_of_a_hyperbola_are_its_closed_forms() -> None:
    shape = scaling_shape([4, 4.0001, 1e9], 100 * (1 + 12 / np.array([4, 4.0001, 1e9])))
    assert shape.slope[0] == pytest.approx(12 / 16, rel=1e-4)
    assert math.isnan(shape.slope[-1])
    shape = scaling_shape([1e-6, 12], 100 * (1 + 12 / np.array([1e-6, 12])))
    assert shape.efficiency == pytest.approx([1, 0.5], rel=1e-6)


def test_larger_batch_sizes_that_need_more_steps_are_pooled() -> None:
    # MLPerf's retinanet does that from 2560 to 4096 (METHODS 2.3).
    shape = scaling_shape([1280, 2560, 4096, 8192, 9000], [6000, 3948, 4330, math.inf, 3900])
    pooled = math.sqrt(3948 * 4330)
    assert shape.isotonic_steps[[0, 1, 2, 4]] == pytest.approx([6000, pooled, pooled, 3900])
    assert np.isnan(shape.isotonic_steps[3])


@given(STEPS)
def test_isotonic_steps_never_rise_and_keep_the_mean_of_the_logarithms(steps: list[float]) -> None:
    shape = scaling_shape([2.0**i for i in range(len(steps))], steps)
    found = shape.isotonic_steps[np.isfinite(steps)]
    assert (np.diff(np.log(found)) <= 1e-12).all()
    assert np.log(found).sum() == pytest.approx(np.log(np.array(steps)[np.isfinite(steps)]).sum())


@pytest.mark.parametrize("noise", [0.05, 0.15])
def test_bounds_with_noise_hold_in_nine_of_ten_studies(noise: float) -> None:
    rng, sizes = np.random.default_rng(8), 8 * 2.0 ** np.arange(9)
    misses = 0
    for critical in np.exp(rng.uniform(math.log(16), math.log(1024), 60)):
        exact = 1000 * (1 + critical / sizes)
        steps = exact * np.exp(rng.normal(0, noise, len(sizes)))
        for end, tau in ((perfect_scaling_end, 0.2), (max_useful_batch_size, 0.1)):
            lower, upper = widened(sizes, steps, end, tau)
            misses += not (lower or 0) <= (end(sizes, exact, tau).batch_size or 0) <= (upper or math.inf)
    assert misses <= 0.1 * 120


def test_bounds_with_noise_are_the_grid_s_without_it_and_open_without_a_previous_evaluation() -> None:
    sizes = 8 * 2.0 ** np.arange(8)
    steps = 64000 / sizes
    end = perfect_scaling_end
    assert widened(sizes, steps, end, 0.2) == (1024, None)
    assert widened(sizes, steps, end, 0.2, steps * 0) == (None, None)
    assert widened(sizes[:4], steps[:4], end, 0.2) == (None, None)

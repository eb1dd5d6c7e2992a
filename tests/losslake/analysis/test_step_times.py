"""Seconds per step are linear between the known batch sizes, and marked where they are extrapolated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from losslake.analysis.step_times import falling, seconds_per_step


def test_times_are_linear_between_known_batch_sizes_and_go_on_outside() -> None:
    times, outside = seconds_per_step({64: 0.1, 128: 0.14, 512: 0.5}, [32, 64, 96, 128, 320, 512, 1024])
    assert times.tolist() == pytest.approx([0.08, 0.1, 0.12, 0.14, 0.32, 0.5, 0.98])
    assert outside.tolist() == [True, False, False, False, False, False, True]


def test_line_through_noisy_times_goes_on_between_constant_and_proportional_ones() -> None:
    times, _ = seconds_per_step({64: 0.1, 128: 0.3}, [32, 33, 256])
    assert times.tolist() == pytest.approx([0.05, 0.1 * 33 / 64, 0.6])
    times, _ = seconds_per_step({64: 0.1, 128: 0.05}, [32, 256])
    assert times.tolist() == pytest.approx([0.1, 0.05])


def test_times_further_than_twice_beyond_are_unknown() -> None:
    times, outside = seconds_per_step({64: 0.1, 128: 0.14}, [31, 32, 256, 257])
    assert np.isnan(times).tolist() == [True, False, False, True]
    assert outside.tolist() == [False, True, True, False]


def test_larger_batch_sizes_with_shorter_steps_are_found() -> None:
    assert falling({64: 0.1, 8: 0.2, 256: 0.1, 512: 0.05}) == [(8, 64), (256, 512)]
    assert falling({64: 0.1}) == []


def test_one_batch_size_tells_nothing_of_others() -> None:
    times, outside = seconds_per_step({64: 0.1}, [32, 64, 128])
    assert np.isnan(times).tolist() == [True, False, True]
    assert not outside.any()


@pytest.mark.parametrize("known", [{}, {64: 0.0}, {64: math.inf}, {0: 1.0}, {64: math.nan}])
def test_what_is_no_time_is_refused(known: dict[float, float]) -> None:
    with pytest.raises(ValueError, match="seconds per step"):
        seconds_per_step(known, [64])

"""What the analyses find in a workload whose steps to target are known exactly."""

from __future__ import annotations

import numpy as np
import pytest

from losslake.analysis.break_points import max_useful_batch_size, perfect_scaling_end
from losslake.analysis.critical_batch_size import fit_curve
from tests.losslake.analysis.noisy_quadratic import STEP_SIZES, steps_to_target, steps_with

BATCH_SIZES = [2**i for i in range(11)]
STEPS = [324071, 161581, 81326, 41255, 21059, 11182, 6455, 4513, 3704, 3293, 3015]


def test_steps_are_those_of_the_methods() -> None:
    assert steps_to_target([*BATCH_SIZES, 8192, 2**20], 0.1) == [*STEPS, 2811, 2785]


@pytest.mark.parametrize(("batch_size", "least"), [(16, 21059), (512, 3293)])
def test_the_best_step_size_is_the_best_of_all(batch_size: int, least: int) -> None:
    assert min(steps_with(batch_size, a, 0.1) for a in STEP_SIZES[40:]) == least


def test_it_scales_perfectly_to_32_and_gains_to_1024() -> None:
    sizes, steps = [*BATCH_SIZES, 8192], [*STEPS, 2811]
    assert perfect_scaling_end(sizes, steps).batch_size == 32
    assert max_useful_batch_size(sizes, steps).batch_size == 1024


def test_a_harder_target_moves_the_critical_batch_size_about_eightfold() -> None:
    sizes = [2**i for i in range(16)]
    easy, hard = (fit_curve(sizes, steps_to_target(sizes, target)) for target in (0.1, 0.01))
    assert easy.fit is not None
    assert hard.fit is not None
    assert easy.known.is_identifiable
    assert hard.known.is_identifiable
    assert hard.fit.critical_batch_size / easy.fit.critical_batch_size == pytest.approx(8, rel=0.2)
    assert easy.other_forms is not None
    assert easy.other_forms.sharpness == pytest.approx(1.3, abs=0.1)
    assert np.log(easy.fit.critical_batch_size / 110) == pytest.approx(0, abs=0.5)

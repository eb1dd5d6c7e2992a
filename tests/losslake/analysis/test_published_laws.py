"""The published law of critical batch sizes gives the numbers that its authors printed."""

from __future__ import annotations

import math

import pytest

from losslake.analysis.critical_batch_size import critical_batch_size_zhang2024


@pytest.mark.parametrize(
    ("parameters", "batch_size"),
    [(85e6, 746.287), (1.2e9, 2578.188), (2e9, 3274.927)],
)
def test_the_law_of_zhang_predicts_what_its_notebook_prints(parameters: float, batch_size: float) -> None:
    # Its constants are rounded, which the exponent turns into 4 in the sixth digit.
    assert critical_batch_size_zhang2024(parameters) == pytest.approx(batch_size, rel=4e-6)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_values_without_a_power_law_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="give a finite number above 0"):
        critical_batch_size_zhang2024(value)

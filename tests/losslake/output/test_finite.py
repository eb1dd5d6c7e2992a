from __future__ import annotations

import numpy as np

from losslake.output.plain import finite, whole


def test_nan_and_infinities_are_null_in_json() -> None:
    assert finite(np.array([1.5, np.nan, np.inf, -np.inf])).to_pylist() == [1.5, None, None, None]


def test_whole_numbers_that_64_bits_cannot_hold_are_null() -> None:
    assert whole(np.array([3.0, np.inf, np.nan, 2.0**63, 2.0**62])).to_pylist() == [3, None, None, None, 2**62]

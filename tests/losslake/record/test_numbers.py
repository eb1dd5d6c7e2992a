from __future__ import annotations

import math

import pytest

from losslake.record.numbers import NUMBER_WORDS, json_number


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_the_words_that_are_read_as_them(value: float) -> None:
    assert repr(NUMBER_WORDS[str(json_number(value))]) == repr(value)


@pytest.mark.parametrize("value", [0.1 + 0.2, -0.0, 5e-324, 3])
def test_finite_numbers_stay_as_they_are(value: float) -> None:
    assert repr(json_number(value)) == repr(value)

"""Values as decimals: the division gives back the same float64, whatever the values are."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from losslake_ingest.encodings import MOST_DIGITS, Decimals, Notation, decimals, notation_of

printed = st.decimals(min_value=0, max_value=10**6, places=6).map(lambda number: float(f"{number:.6g}"))
odd = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1.7e308, 0.1, -0.1])


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def values_of(found: Decimals, values: np.ndarray) -> list[float]:
    """What a reader makes of the columns, value by value."""
    is_exact = np.ones(len(values), bool) if found.is_exact is None else found.is_exact
    columns = zip(found.digits.tolist(), found.divisor.tolist(), values.tolist(), is_exact.tolist(), strict=True)
    return [digits / divisor if exact else value for digits, divisor, value, exact in columns]


@given(st.lists(st.one_of(printed, printed, printed, odd, st.floats()), max_size=200))
@example([0.0])
@example([-0.0, 0.25, -1.5])
@example([float(f"{10.0**exponent:.6g}") for exponent in range(-20, 20)])
def test_the_division_gives_back_every_value_to_the_last_bit(numbers: list[float]) -> None:
    values = np.array(numbers)
    found = decimals(values)
    if found is not None:
        assert [bits(value) for value in values_of(found, values)] == [bits(value) for value in numbers]
        exact = found.digits if found.is_exact is None else found.digits[found.is_exact]
        assert all(digits == int(digits) and abs(digits) < 2**53 for digits in exact.tolist())


def test_more_rows_than_fit_in_the_cache_give_what_each_row_gives() -> None:
    values = np.round(np.random.default_rng(1).random(30_000), 5)
    values[12_345] = math.nan
    found = decimals(values)
    assert found is not None
    assert found.is_exact is not None
    assert np.flatnonzero(~found.is_exact).tolist() == [12_345]
    assert (found.divisor == 1e5).all()
    assert np.array_equal(np.delete(found.digits / found.divisor, 12_345), np.delete(values, 12_345))


def test_error_rates_have_one_number_of_decimals() -> None:
    rates = np.arange(1, 5000) / 10_000
    assert notation_of(rates) == Notation(4, 4)


def test_losses_of_all_sizes_have_one_number_of_significant_digits() -> None:
    losses = np.array([float(f"{6.90948 * 0.99**step:.6g}") for step in range(1000)])
    assert notation_of(losses) == Notation(6, None)
    found = decimals(losses)
    assert found is not None
    assert found.is_exact is None
    assert found.digits.min() >= 10**5
    assert found.digits.max() < 10**6


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(2).random(100),
        np.float32(np.random.default_rng(3).random(100)).astype(float),
        np.array([math.nan, math.inf]),
        np.array([]),
        np.array([1 / 3, 0.5, 2 / 3]),
    ],
)
def test_what_is_mostly_no_decimal_stays_as_it_is(values: np.ndarray) -> None:
    assert decimals(values) is None


def test_more_digits_than_are_worth_it_stay_as_they_are() -> None:
    assert decimals(np.array([0.1234567890123])) is None
    assert decimals(np.array([float("0." + "3" * MOST_DIGITS)])) is not None

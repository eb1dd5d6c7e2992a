"""Values as data files hold them."""

from __future__ import annotations

import math

import pyarrow as pa

from losslake.lake.data_files import stored_columns, with_values


def rows(values: list[float | None]) -> pa.Table:
    numbers = pa.float64()
    columns = {
        "trial_id": pa.array([1, 1, 2]),
        "digits": pa.array([690948.0, None, -0.0], numbers),
        "divisor": pa.array([100000.0, None, 10.0], numbers),
        "value": pa.array(values, numbers),
    }
    return pa.table(columns)


def test_a_value_is_what_stands_there_or_else_the_quotient() -> None:
    found = with_values(rows([None, math.inf, None]))
    assert found.column_names == ["trial_id", "value"]
    assert list(map(str, found["value"].to_pylist())) == ["6.90948", "inf", "-0.0"]


def test_rows_read_without_values_stay_as_they_are() -> None:
    assert with_values(rows([None, 1.0, None]).select(["trial_id"])).column_names == ["trial_id"]


def test_reading_values_takes_three_columns() -> None:
    assert stored_columns(["step", "value"]) == ["step", "digits", "divisor", "value"]

"""Rows are the same in every format however their columns are held, and only columns that are written are computed."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.output.answer import Answer
from losslake.output.columns import Nullable, Rows, row_shape
from losslake.output.formats import FORMATS
from losslake.output.json_rows import FEW_ROWS
from losslake.output.rows import Row

FLOATS = st.floats(allow_nan=True, allow_infinity=True)
INTEGERS = st.integers(-(2**63), 2**63 - 1)


class EveryKind(Row):
    """A row with a column of each kind."""

    name: str
    """A text that all rows share."""
    count: int | None
    """A whole number."""
    value: float | None
    """A number."""
    ratio: float | None
    """A number, of which none are null."""
    is_good: bool
    """A flag."""
    words: list[str]
    """Texts."""
    code: Any
    """JSON."""
    nothing: int | None
    """Null in all rows."""


SHAPE = row_shape(EveryKind)


def written(answer: Answer, name: str = "json") -> bytes:
    return b"".join(bytes(piece) for piece in FORMATS[name].encode(answer))


def answer_of(rows: Rows) -> Answer:
    return Answer({"release": 1}, rows.shape.schema, iter([rows]))


@given(st.lists(st.tuples(INTEGERS, FLOATS, FLOATS, st.booleans(), st.booleans(), st.text(max_size=3)), max_size=5))
def test_columns_of_numpy_lists_and_functions_are_written_like_those_of_arrow(values: list[tuple[Any, ...]]) -> None:
    counts, numbers, ratios, flags, are_there, words = zip(*values, strict=True) if values else [()] * 6
    there = np.array(are_there, np.bool_)
    rows = SHAPE.of(
        {
            "name": "é\n",
            "count": Nullable(np.array(counts, np.int64), there),
            "value": lambda: Nullable(np.array(numbers, np.float64), ~there),
            "ratio": np.array(ratios, np.float64),
            "is_good": list(flags),
            "words": [[word] for word in words],
            "code": [json.dumps(word) for word in words],
        }
    )
    columns = {
        "name": ["é\n"] * len(values),
        "count": [count if is_there else None for count, is_there in zip(counts, are_there, strict=True)],
        "value": [None if is_there else number for number, is_there in zip(numbers, are_there, strict=True)],
        "ratio": list(ratios),
        "is_good": list(flags),
        "words": [[word] for word in words],
        "code": [json.dumps(word) for word in words],
        "nothing": [None] * len(values),
    }
    expected = pa.RecordBatch.from_pydict(columns, SHAPE.schema)
    for name in FORMATS:
        assert written(answer_of(rows), name) == written(Answer({"release": 1}, SHAPE.schema, iter([expected])), name)


def test_many_rows_are_written_like_few() -> None:
    few, many = (
        SHAPE.of({"count": np.arange(n), "value": Nullable(np.array([math.nan] * n), np.arange(n) % 2 == 0)})
        for n in (FEW_ROWS, FEW_ROWS + 1)
    )
    first, second = (json.loads(written(answer_of(rows)))["rows"] for rows in (few, many))
    assert first == second[:-1]
    assert first[:2] == [dict.fromkeys(SHAPE.by_name) | {"count": n, "value": [None, "NaN"][n == 0]} for n in (0, 1)]


def test_columns_that_are_not_chosen_are_not_computed() -> None:
    rows = SHAPE.of({"count": [3], "value": lambda: pytest.fail("computed"), "ratio": lambda: np.array([0.5])})
    chosen = answer_of(rows).only(["ratio", "count"])
    assert chosen.schema.names == ["ratio", "count"]
    assert json.loads(written(chosen))["rows"] == [{"ratio": 0.5, "count": 3}]


@pytest.mark.parametrize("name", FORMATS)
def test_chosen_columns_of_rows_and_of_arrow_are_the_same(name: str) -> None:
    rows = SHAPE.of({"count": [3, 4], "ratio": np.array([0.5, math.inf]), "is_good": [True, False]})
    names = ["is_good", "count"]
    chosen = answer_of(rows).only(names)
    of_arrow = Answer({"release": 1}, SHAPE.schema, iter([rows.batch()])).only(names)
    data = written(chosen, name)
    assert data == written(of_arrow, name)
    if name == "arrow":
        table = pa.ipc.open_stream(io.BytesIO(data)).read_all()
        assert table.to_pydict() == {"is_good": [True, False], "count": [3, 4]}

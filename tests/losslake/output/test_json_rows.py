"""Rows in JSON are the same however their columns are written: once, once for each run of rows, or row by row."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.output.answer import Answer
from losslake.output.formats import json_pieces
from losslake.output.json_rows import FEW_ROWS, LEAST_NUMBERS, ROWS_ALIKE
from losslake.output.texts import json_text

SIZES = [1, LEAST_NUMBERS - 1, LEAST_NUMBERS, FEW_ROWS, FEW_ROWS + 1, 3 * FEW_ROWS]
KINDS = ["text", "integer", "null", "runs", "rare", "integers", "floats", "not finite", "texts", "some null"]


def column(kind: str, size: int, seed: int) -> pa.Array:
    chance = np.random.default_rng(seed)
    match kind:
        case "text":
            return pa.repeat(pa.scalar('a "quoted", {text} é'), size)
        case "integer":
            return pa.repeat(pa.scalar(-3), size)
        case "null":
            return pa.nulls(size, pa.float64())
        case "runs":
            return pa.array(np.arange(size) // (ROWS_ALIKE * 3) + seed)
        case "rare":
            return pa.array(np.where(np.arange(size) == size // 2, 2**62, 5))
        case "integers":
            return pa.array(chance.integers(-(2**63), 2**63 - 1, size))
        case "floats":
            return pa.array(chance.normal(size=size) * 10.0 ** chance.integers(-300, 300, size))
        case "not finite":
            return pa.array(np.where(np.arange(size) % 3 == 1, chance.choice([np.nan, np.inf, -np.inf], size), 0.5))
        case "texts":
            return pa.array([f"{'é' * (number % 3)}\n{number}" for number in range(size)])
        case _:
            return pa.array([None if number % 2 else number for number in range(size)], pa.int64())


def text_of(answer: Answer) -> str:
    return b"".join(json_pieces(answer)).decode()


@settings(max_examples=80)
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=7), st.sampled_from(SIZES), st.integers(0, 5))
def test_text_is_that_of_each_row_by_itself(kinds: list[str], size: int, seed: int) -> None:
    columns = [column(kind, size, seed + number) for number, kind in enumerate(kinds)]
    batch = pa.RecordBatch.from_arrays(columns, names=[f"{kind} {number}" for number, kind in enumerate(kinds)])
    rows = ",".join(json_text(row) for row in batch.to_pylist())
    assert text_of(Answer({"n": 1}, batch.schema, iter([batch]))) == f'{{"n":1,"rows":[{rows}]}}'


@pytest.mark.parametrize("size", SIZES)
def test_batches_follow_each_other(size: int) -> None:
    batch = pa.record_batch({"a": column("runs", size, 0), "b": column("integers", size, 1)})
    sliced = batch.slice(size // 2)
    answer = json.loads(text_of(Answer({}, batch.schema, iter([batch, sliced]))))
    assert answer["rows"] == batch.to_pylist() + sliced.to_pylist()

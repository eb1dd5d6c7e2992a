"""The encoding of a column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from losslake_ingest.pipeline.encodings import SPLIT, STEPS, VALUES, Encoding, for_values, options, smallest

CHANCE = np.random.default_rng(1)
GROUP = 1 << 14


def test_steps_that_repeat_from_trial_to_trial_stay_plain() -> None:
    steps = np.cumsum(CHANCE.integers(60, 140, 500))
    assert smallest(np.tile(steps, 40), STEPS) == STEPS[0]


def test_steps_of_one_long_trial_are_kept_as_deltas() -> None:
    assert smallest(np.cumsum(CHANCE.integers(60, 140, 20_000)), STEPS) == STEPS[1]


@pytest.mark.parametrize(
    "column",
    [
        CHANCE.integers(1, 3000, 50_000) / 55_000,
        CHANCE.integers(100_000, 999_999, 50_000) / 1e6,
        np.tile(CHANCE.random(3000), 20),
        np.full(50_000, np.nan),
        1 / np.arange(1.0, 50_000),
        CHANCE.integers(0, 20, 3000) / 20,
    ],
)
def test_chosen_encoding_of_values_takes_about_the_fewest_bytes(column: np.ndarray) -> None:
    def size(encoding: Encoding) -> int:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"value": column}), sink, row_group_size=GROUP, **options({"value": encoding}))
        return int(sink.getvalue().size)

    assert size(for_values(column, GROUP)) <= 1.2 * min(map(size, VALUES))


def test_a_column_without_rows_has_an_encoding() -> None:
    assert smallest(np.zeros(0, np.int64), STEPS) in STEPS
    assert for_values(np.zeros(0), GROUP) == SPLIT

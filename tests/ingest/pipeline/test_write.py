"""Curves in data files: read back, they are what was written, to the last bit, however the values are stored."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake.lake.data_files import WrittenFile
from losslake.lake.store.folder import FolderStore
from losslake_ingest.contracts.study import Curves
from losslake_ingest.pipeline import write
from losslake_ingest.pipeline.write import write_curves
from losslake_schema.names import Study, Workload

STUDY = Study(Workload("tests", "mnist", "cnn", "sgd"), 8)
LOSS, ERROR = "train/cross_entropy_error", "val/classification_error"

printed = st.integers(0, 9999).map(lambda count: count / 10_000)
numbers = st.one_of(printed, printed, printed, st.floats(), st.just(math.nan), st.none())


@dataclass(frozen=True)
class Evaluated:
    """A row of a curve; None is a metric that wasn't measured."""

    trial_id: int
    step: int
    loss: float | None
    error: float | None


Evaluations = list[Evaluated]


@st.composite
def evaluations(draw: st.DrawFn) -> Evaluations:
    steps = st.sets(st.integers(0, 1000), max_size=12).map(sorted)
    trial_ids = sorted(draw(st.sets(st.integers(0, 20), max_size=4)))
    places = [(trial_id, step) for trial_id in trial_ids for step in draw(steps)]
    return [Evaluated(*place, draw(numbers), draw(numbers)) for place in places]


def curves_of(rows: Evaluations, trial_ids: list[int]) -> Curves:
    counts = [sum(row.trial_id == trial_id for row in rows) for trial_id in trial_ids]
    columns = {LOSS: [row.loss for row in rows], ERROR: [row.error for row in rows]}
    values = {name: np.array([math.nan if v is None else v for v in own], float) for name, own in columns.items()}
    missing = {name: np.array([v is None for v in own], bool) for name, own in columns.items()}
    offsets = np.array([0, *np.cumsum(counts)], np.int64)
    steps = np.array([row.step for row in rows], np.int64)
    return Curves(offsets, steps, values, {name: absent for name, absent in missing.items() if absent.any()})


def bits(value: float) -> bytes:
    return b"nan" if math.isnan(value) else struct.pack("<d", value)


def stored(lake: Path, written: list[WrittenFile], table: str) -> list[tuple[object, ...]]:
    """The rows of a table's data files; its files hold different metrics."""
    own = [pq.ParquetFile(lake / w.file.path).read() for w in written if w.file.table == table]
    assert [w.file.rows for w in written if w.file.table == table] == [rows.num_rows for rows in own]
    names = ["metric", "trial_id", "step", *(["previous_step"] if table == "records" else []), "value"]
    rows = [row for rows in own for row in zip(*(rows[name].to_pylist() for name in names), strict=True)]
    return sorted((*keys, bits(value)) for *keys, value in rows)


def measured(rows: Evaluations, metric: str) -> list[tuple[int, int, float]]:
    values = [(row.trial_id, row.step, row.loss if metric == LOSS else row.error) for row in rows]
    return [(trial_id, step, value) for trial_id, step, value in values if value is not None]


def records(rows: Evaluations, metric: str) -> list[tuple[object, ...]]:
    """Finite values below every earlier finite one of the trial, with the step of its row before."""
    found: list[tuple[object, ...]] = []
    best: dict[int, float] = {}
    last: dict[int, int] = {}
    for trial_id, step, value in measured(rows, metric):
        if math.isfinite(value) and value < best.get(trial_id, math.inf):
            found.append((metric, trial_id, step, last.get(trial_id), bits(value)))
            best[trial_id] = value
        last[trial_id] = step
    return found


def as_text(rows: Sequence[tuple[object, ...]]) -> list[str]:
    return sorted(map(repr, rows))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(evaluations())
def test_values_read_back_equal_those_written(tmp_path: Path, rows: Evaluations) -> None:
    trial_ids = sorted({row.trial_id for row in rows})
    written = write_curves(FolderStore(tmp_path), STUDY, trial_ids, curves_of(rows, trial_ids))
    expected = [(m, t, s, bits(v)) for m in (LOSS, ERROR) for t, s, v in measured(rows, m)]
    assert as_text(stored(tmp_path, written, "measurements")) == as_text(expected)
    assert as_text(stored(tmp_path, written, "records")) == as_text(records(rows, LOSS) + records(rows, ERROR))


def test_row_groups_hold_one_metric_and_say_which_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "LARGEST_ROW_GROUP", 3)
    rows = [Evaluated(trial, step, 0.5 / (step + 1), 0.25) for trial in (1, 2) for step in range(4)]
    for written in write_curves(FolderStore(tmp_path), STUDY, [1, 2], curves_of(rows, [1, 2])):
        metadata = pq.read_metadata(tmp_path / written.file.path)
        for number in range(metadata.num_row_groups):
            metric, trial_id = (metadata.row_group(number).column(at).statistics for at in (0, 1))
            assert metric.min == metric.max
            assert 1 <= trial_id.min <= trial_id.max <= 2


@pytest.mark.parametrize(("places", "most"), [(4, 3), (6, 6.5)])
def test_numbers_of_few_digits_take_less_than_a_float64(tmp_path: Path, places: int, most: float) -> None:
    chance = np.random.default_rng(1)
    values = [round(0.2 * chance.normal(1, 0.5), places) for _ in range(20_000)]
    rows = [Evaluated(1, step, None, value) for step, value in enumerate(values)]
    written = write_curves(FolderStore(tmp_path), STUDY, [1], curves_of(rows, [1]))
    (file,) = (w for w in written if w.file.table == "measurements" and w.file.rows)
    columns = [file.metadata.row_group(group).column(3) for group in range(file.metadata.num_row_groups)]
    assert {column.path_in_schema for column in columns} == {"value"}
    assert sum(column.total_compressed_size for column in columns) < most * len(values)

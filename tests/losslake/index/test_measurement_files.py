"""Measurements are found in the data files of a study by what was noted when its serving files were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.index.measurement_files import MeasurementFile, MeasurementFiles, batch_of_files, measurements, scan
from losslake.lake.store.folder import FolderStore
from losslake.lake.store.ranged_files import RangeReader
from losslake.lake.store.store import DataFile, Store
from losslake_schema.errors import LakeBroken
from losslake_schema.tables import file_schema
from tests.losslake.index.test_record_files import written

Rows = list[tuple[str, int, int, float | None]]


def files_of(store: Store, files: Sequence[DataFile]) -> list[MeasurementFile]:
    """The files of one study, as serving files have them."""
    return MeasurementFiles(batch_of_files([[scan(store, file) for file in files]])).of_study(0)


def measured(path: Path, rows: Rows, row_group_size: int = 2) -> DataFile:
    """A file with a measurement at each metric, trial and step; its value is half the step."""
    columns = [
        {"metric": metric, "trial_id": trial, "step": step, "value": step / 2, "elapsed_s": elapsed}
        for metric, trial, step, elapsed in rows
    ]
    table = pa.Table.from_pylist(columns, file_schema("measurements"))
    pq.write_table(table, path, row_group_size=row_group_size)
    return DataFile("measurements", path.name, path.stat().st_size, "", len(rows))


ROWS = st.sets(st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.integers(0, 6)), max_size=40).flatmap(
    lambda keys: st.tuples(*(st.tuples(*map(st.just, key), st.none() | st.floats(0, 9)) for key in sorted(keys)))
)


@settings(max_examples=60)
@given(ROWS, st.integers(1, 9), st.none() | st.sets(st.integers(0, 5)).map(sorted))
def test_rows_are_those_of_the_metric_and_trials_in_order(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, size: int, trials: list[int] | None
) -> None:
    folder = tmp_path_factory.mktemp("lake")
    store = FolderStore(folder)
    files = files_of(store, [measured(folder / "a", [*rows], size)])
    for metric in "abcd":
        found = [
            tuple(row.values())
            for batch in measurements(store, files, metric, trials)
            for row in batch.to_pylist()
        ]  # fmt: skip
        expected = [(row[1], row[2], row[2] / 2, row[3]) for row in rows if row[0] == metric]
        assert found == [row for row in expected if trials is None or row[0] in trials]


def test_files_and_row_groups_without_the_trial_are_not_read(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    stored = [measured(tmp_path / str(trial), [("a", trial, step, None) for step in range(3)]) for trial in (1, 2)]
    files = files_of(store, stored)
    (tmp_path / "1").unlink()
    (batch, rest) = measurements(store, files, "a", [2])
    assert batch["step"].to_pylist() + rest["step"].to_pylist() == [0, 1, 2]


@pytest.mark.parametrize("harm", [lambda path: path.write_bytes(b"junk" * 40), lambda path: path.unlink()])
def test_a_file_damaged_since_is_named(tmp_path: Path, harm: object) -> None:
    files = files_of(FolderStore(tmp_path), [measured(tmp_path / "a.parquet", [("a", 1, 1, None)])])
    assert callable(harm)
    harm(tmp_path / "a.parquet")
    with pytest.raises(LakeBroken, match=r"the data file .*a\.parquet .*restore it"):
        list(measurements(FolderStore(tmp_path), files, "a", [1]))


def test_a_file_with_fewer_rows_than_before_is_named(tmp_path: Path) -> None:
    files = files_of(FolderStore(tmp_path), [measured(tmp_path / "a", [("a", 1, 1, None), ("a", 1, 2, None)])])
    measured(tmp_path / "a", [("a", 1, 1, None)])
    with pytest.raises(LakeBroken, match="restore it"):
        list(measurements(FolderStore(tmp_path), files, "a", [1]))


def test_a_file_that_is_missing_or_no_parquet_is_named_when_it_is_scanned(tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("junk")
    for name in ("gone", "junk"):
        with pytest.raises(LakeBroken, match=f"{name} .*restore it"):
            scan(FolderStore(tmp_path), DataFile("measurements", name, 4, "", 1))


@dataclass(frozen=True)
class RemoteStore(FolderStore):
    """Files that are elsewhere; ranges: those that were read."""

    ranges: list[tuple[int, int]] = field(default_factory=list, compare=False)
    local_folder = None  # type: ignore[assignment]

    def open(self, path: str, size: int) -> pa.NativeFile:
        def read(start: int, stop: int) -> bytes:
            self.ranges.append((start, stop))
            return self.range(path, size, start, stop)

        return pa.PythonFile(RangeReader(read, size), mode="r")


def test_elsewhere_a_curve_is_one_range_without_the_footer(tmp_path: Path) -> None:
    rows = [("a", trial, step, 0.5 * step) for trial in range(1, 40) for step in range(50)]
    store, file = RemoteStore(tmp_path), measured(tmp_path / "a", [*rows], 500)
    files = files_of(FolderStore(tmp_path), [file])
    (batch,) = measurements(store, files, "a", [15])
    assert batch["elapsed_s"].to_pylist() == [0.5 * step for step in range(50)]
    ((start, stop),) = store.ranges
    assert 0 < start < stop < file.bytes / 2


def test_values_that_are_not_numbers_come_as_they_are_stored(tmp_path: Path) -> None:
    store, file = FolderStore(tmp_path), written(tmp_path / "records", ("a", 1, 1, float("nan")), ("a", 2, 1, None))
    (batch,) = measurements(store, files_of(store, [file]), "a", None, ["trial_id", "elapsed_s"])
    assert [str(value) for value in batch["elapsed_s"].to_pylist()] == ["nan", "None"]

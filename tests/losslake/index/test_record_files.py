"""Records of a study are read from its files as they are, however they lie in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from losslake.index.study_files import study_records
from losslake.lake.store.folder import FolderStore
from losslake.lake.store.store import DataFile
from losslake_schema.errors import LakeBroken
from losslake_schema.tables import file_schema


def written(path: Path, *rows: tuple[str, int, int, float | None], row_group_size: int = 2) -> DataFile:
    """A file with a record at each metric, trial and step; its value is half the step."""
    schema = file_schema("records")
    columns = [
        {"metric": metric, "trial_id": trial, "step": step, "value": step / 2,
         "previous_step": step - 1 if step > 1 else None, "elapsed_s": elapsed}
        for metric, trial, step, elapsed in rows
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(columns, schema), path, row_group_size=row_group_size)
    return DataFile("records", path.name, path.stat().st_size, "", len(rows))


def test_files_that_follow_each_other_in_any_order_come_by_trial_and_step(tmp_path: Path) -> None:
    later = written(tmp_path / "a", ("a", 3, 1, None), ("a", 3, 2, 0.5))
    earlier = written(tmp_path / "b", ("a", 1, 5, None), ("b", 2, 6, None), ("b", 2, 7, None))
    store, files = FolderStore(tmp_path), [later, earlier]
    none, found = study_records(store, files, ["c", "a"])
    assert none.trial_id.tolist() == []
    assert found.trial_id.tolist() == [1, 3, 3]
    assert found.step.tolist() == [5, 1, 2]
    assert found.previous_step.tolist() == [4, -1, 1]
    assert found.value.tolist() == [2.5, 0.5, 1.0]
    assert np.isnan(found.elapsed_s).tolist() == [True, True, False]


def test_a_file_that_is_missing_or_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("junk")
    for name in ("gone", "junk"):
        file = DataFile("records", name, 4, "", 1)
        with pytest.raises(LakeBroken, match=f"{name} .*restore it"):
            list(study_records(FolderStore(tmp_path), [file], ["a"]))

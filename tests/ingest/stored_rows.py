"""The rows of a table of a release, read from its data files."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq

from losslake.lake.lake import Lake
from losslake_schema.tables import ALL_TABLES, STUDY_KEYS


def stored_rows(lake: Lake, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table of the newest release."""
    rows: list[dict[str, Any]] = []
    for file in lake.files(lake.release()):
        if file.table == name:
            study = {key: getattr(file, key) for key in STUDY_KEYS} if file.study is not None else {}
            rows += [study | row for row in pq.ParquetFile(lake.folder / file.path).read().to_pylist()]
    return [{column: row[column] for column in ALL_TABLES[name].names} for row in rows]

"""The files of a release as a table, with the range of the columns that tell files apart; read from them once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.index.shared import have, path_of
from losslake.lake.data_files import broken, stored_columns, with_values
from losslake.lake.lake import Lake
from losslake.lake.machine import written_whole
from losslake.lake.manifest import MANIFEST, places, read_table
from losslake.lake.store.store import DataFile, Store
from losslake_schema.database import Release

FILE_LIST_VERSION = 1
_RANGED = {"metric": pa.string(), "trial_id": pa.int64(), "step": pa.int64(), "value": pa.float64()}
FILES = pa.schema([*MANIFEST, *((f"{name}_{end}", kind) for name, kind in _RANGED.items() for end in ("min", "max"))])
"""path: in an export, and below /data/N/. The keys of the study are null in a table of one file, and so are the least
and greatest of a column that the table doesn't have; NaN is neither."""


def file_list(lake: Lake, release: Release) -> pa.Table:
    """A row per data file of a release, by path, with the columns of FILES.

    Kept beside the release's serving file: footers say only which metrics a file holds, so its columns have to be read.
    Raises LakeBroken when a data file is missing or is no Parquet.
    """
    kept = path_of(lake, release, f"files-v{FILE_LIST_VERSION}.parquet")
    if not kept.is_file():
        have(lake, kept, partial(_make, kept, lake, release))
    return read_table(kept, FILES)


def _make(path: Path, lake: Lake, release: Release) -> None:
    table = _read(lake, lake.files(release))
    with written_whole(path) as unfinished:
        pq.write_table(table, unfinished, compression="zstd")


def _read(lake: Lake, files: list[DataFile]) -> pa.Table:
    place_of = places(files)
    rows = [
        {name: getattr(file, name) for name in MANIFEST.names}
        | {"path": place_of[file.path]}
        | _ranges(lake.store, file)
        for file in sorted(files, key=lambda file: place_of[file.path])
    ]
    return pa.Table.from_pylist(rows, FILES)


def _ranges(store: Store, file: DataFile) -> dict[str, Any]:
    """The least and greatest value of each ranged column that the file has."""
    found: dict[str, Any] = {}
    try:
        with pq.ParquetFile(store.open(file.path, file.bytes)) as opened:
            for number in range(opened.metadata.num_columns):
                name = opened.metadata.schema.column(number).path
                if name in _RANGED:
                    bounds = [bound for group in _bounds(opened, number, name) for bound in group]
                    found |= {f"{name}_min": min(bounds, default=None), f"{name}_max": max(bounds, default=None)}
    except FileNotFoundError:
        raise broken(store, file.path, "is missing") from None
    except (OSError, pa.ArrowInvalid):
        raise broken(store, file.path, "can't be read") from None
    return found


def _bounds(file: pq.ParquetFile, column: int, name: str) -> Iterator[tuple[Any, ...]]:
    """By row group: from the footer where it says them, else from the values themselves."""
    for group in range(file.metadata.num_row_groups):
        statistics = file.metadata.row_group(group).column(column).statistics
        if name != "value" and statistics is not None and statistics.has_min_max:
            yield statistics.min, statistics.max
            continue
        values = with_values(file.read_row_group(group, stored_columns([name]))).column(name)
        if pa.types.is_floating(values.type):
            values = values.filter(pc.invert(pc.is_nan(values)))
        bounds = pc.min_max(values)
        if bounds["min"].is_valid:
            yield bounds["min"].as_py(), bounds["max"].as_py()

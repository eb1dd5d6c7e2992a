"""The list of a release's files, with the ranges of the columns by which clients select files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.index.shared import ensure, path_of
from losslake.lake.data_files import damaged_file, read_table
from losslake.lake.lake import Lake
from losslake.lake.machine import atomic_write
from losslake.lake.manifest import MANIFEST
from losslake.lake.public_paths import public_paths
from losslake.lake.store.store import DataFile, Store
from losslake_schema.release import Release

FILE_LIST_VERSION = 1
_RANGED = {"metric": pa.string(), "trial_id": pa.int64(), "step": pa.int64(), "value": pa.float64()}
# path: in an export, and below /data/N/. The keys of the study are null in tables that are one file. The least and
# greatest value are null for columns that the table doesn't have; they ignore NaN.
FILES = pa.schema([*MANIFEST, *((f"{name}_{end}", kind) for name, kind in _RANGED.items() for end in ("min", "max"))])


def file_list(lake: Lake, release: Release) -> pa.Table:
    """Return a row per data file of a release, by path, with the columns of FILES.

    The table is cached in a file, since building it reads columns of every data file: footers have only the ranges of
    metrics. Raises LakeBroken if a data file is missing or isn't Parquet.
    """
    cached = path_of(lake, release, f"files-v{FILE_LIST_VERSION}.parquet")
    if not cached.is_file():
        ensure(lake, cached, partial(_make, cached, lake, release))
    return read_table(cached, FILES)


def _make(path: Path, lake: Lake, release: Release) -> None:
    files = lake.files(release)
    public_path = public_paths(files)
    rows = [
        {name: getattr(file, name) for name in MANIFEST.names}
        | {"path": public_path[file.path]}
        | _ranges(lake.store, file)
        for file in sorted(files, key=lambda file: public_path[file.path])
    ]
    with atomic_write(path) as unfinished:
        pq.write_table(pa.Table.from_pylist(rows, FILES), unfinished, compression="zstd")


def _ranges(store: Store, file: DataFile) -> dict[str, Any]:
    """Return the least and greatest value of each ranged column that the file has."""
    ranges: dict[str, Any] = {}
    try:
        with pq.ParquetFile(store.open(file.path, file.bytes)) as opened:
            for number in range(opened.metadata.num_columns):
                name = opened.metadata.schema.column(number).path
                if name in _RANGED:
                    bounds = [bound for group in _bounds(opened, number, name) for bound in group]
                    ranges |= {f"{name}_min": min(bounds, default=None), f"{name}_max": max(bounds, default=None)}
    except FileNotFoundError:
        raise damaged_file(store, file.path, "is missing") from None
    except (OSError, pa.ArrowInvalid):
        raise damaged_file(store, file.path, "can't be read") from None
    return ranges


def _bounds(file: pq.ParquetFile, column: int, name: str) -> Iterator[tuple[Any, ...]]:
    """Yield the bounds of each row group, from the footer where it has them, else from the values."""
    for group in range(file.metadata.num_row_groups):
        statistics = file.metadata.row_group(group).column(column).statistics
        if name != "value" and statistics is not None and statistics.has_min_max:
            yield statistics.min, statistics.max
            continue
        values = file.read_row_group(group, [name]).column(name)
        if pa.types.is_floating(values.type):
            values = values.filter(pc.invert(pc.is_nan(values)))
        bounds = pc.min_max(values)
        if bounds["min"].is_valid:
            yield bounds["min"].as_py(), bounds["max"].as_py()

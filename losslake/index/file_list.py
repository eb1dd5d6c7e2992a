"""The list of a release's files, with the ranges of the columns by which clients select files."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from losslake.index.shared import FOLDER, ensure, path_of
from losslake.lake.data_files import damaged_file, public_sizes, read_table
from losslake.lake.lake import Lake
from losslake.lake.machine import atomic_write
from losslake.lake.manifest import MANIFEST, data_files, manifest_table
from losslake.lake.public_paths import public_paths
from losslake.lake.ranges import RANGED, RANGES, Ranges
from losslake.lake.store.store import DataFile, Store
from losslake_schema.release import Release

FILE_LIST_VERSION = 1
_NAME = f"files-v{FILE_LIST_VERSION}.parquet"
# path: in an export, and below /data/N/. The keys of the study are null in tables that are one file. The least and
# greatest value are null for columns that the table doesn't have; they ignore NaN.
FILES = pa.schema([*MANIFEST, *RANGES])


def file_list(lake: Lake, release: Release) -> pa.Table:
    """Return a row per data file of a release, by path, with the columns of FILES.

    The table is cached in a file. The manifest has the ranges of files that this version wrote; those of others are
    read from columns of these files, unless an earlier list has them: footers have only the ranges of metrics and
    trials. Raises LakeBroken if such a file is missing or isn't Parquet.
    """
    cached = path_of(lake, release, _NAME)
    if not cached.is_file():
        ensure(lake, cached, partial(_make, cached, lake, release))
    return read_table(cached, FILES)


def _make(path: Path, lake: Lake, release: Release) -> None:
    manifest = manifest_table(lake.store, release.manifest, release.manifest_sha256, with_ranges=True)
    place = manifest.schema.get_field_index("ranges")
    if manifest["ranges"].null_count:
        known = {row["sha256"]: row for row in _newest_list(lake).to_pylist()}
        ranges = [
            row or known.get(file.sha256) or _read_ranges(lake.store, file)
            for file, row in zip(data_files(manifest), manifest["ranges"].to_pylist(), strict=True)
        ]
        manifest = manifest.set_column(place, "ranges", pa.array(ranges, manifest.schema.field(place).type))
    with atomic_write(path) as unfinished:
        pq.write_table(_listed(manifest), unfinished, compression="zstd")


def _listed(manifest: pa.Table) -> pa.Table:
    """Return the table of files from a manifest with the ranges of all."""
    public_path = public_paths(data_files(manifest))
    paths = pa.array(map(public_path.__getitem__, manifest["path"].to_pylist()), pa.string())
    files = manifest.drop_columns("ranges").set_column(manifest.column_names.index("path"), "path", paths)
    ranges = manifest["ranges"].combine_chunks().flatten()
    return public_sizes(pa.table([*files.columns, *ranges], FILES)).sort_by("path")


def _newest_list(lake: Lake) -> pa.Table:
    """Return the list of the newest release that has a cached one, or no rows."""
    for cached in sorted((lake.folder / FOLDER).glob(f"release-*-{_NAME}"), reverse=True):
        with suppress(OSError, pa.ArrowException):  # maintenance may have deleted it
            return read_table(cached, FILES)
    return FILES.empty_table()


def _read_ranges(store: Store, file: DataFile) -> dict[str, Any]:
    """Return the ranges of a data file, from the footer where it has them, else from the values."""
    ranges = Ranges()
    try:
        with pq.ParquetFile(store.open(file.path, file.bytes)) as opened:
            for number in range(opened.metadata.num_columns):
                if opened.metadata.schema.column(number).path in RANGED:
                    _extend(ranges, opened, number)
    except FileNotFoundError:
        raise damaged_file(store, file.path, "is missing") from None
    except (OSError, pa.ArrowInvalid):
        raise damaged_file(store, file.path, "can't be read") from None
    return dict(zip(RANGES.names, ranges.row, strict=True))


def _extend(ranges: Ranges, file: pq.ParquetFile, column: int) -> None:
    """Extend ranges by a column of a file."""
    name = file.metadata.schema.column(column).path
    for group in range(file.metadata.num_row_groups):
        statistics = file.metadata.row_group(group).column(column).statistics
        if name != "value" and statistics is not None and statistics.has_min_max:
            ranges.extend(name, statistics.min, statistics.max)
        else:
            ranges.extend_by(name, file.read_row_group(group, [name]).column(name))

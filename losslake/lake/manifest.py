"""The manifest of a release: every file that belongs to it, with its size, sha256, rows, partition and ranges."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields

import pyarrow as pa
import pyarrow.parquet as pq

from losslake.lake.ranges import RANGES, Row
from losslake.lake.store.store import DataFile, Store
from losslake_schema.errors import LakeBroken

_NUMBERS = ("bytes", "rows", "batch_size")
MANIFEST = pa.schema([(each.name, pa.int64() if each.name in _NUMBERS else pa.string()) for each in fields(DataFile)])
# Null for a file whose ranges are unknown, since an earlier version wrote it, or it comes from elsewhere.
_RANGES = pa.field("ranges", pa.struct(list(RANGES)))
_RANGES_BY_PATH = pa.schema([MANIFEST.field("path"), _RANGES])
# The ranges are in the metadata of the file, as base64 of an Arrow file: versions before them expect no further column.
_METADATA = b"losslake.ranges"
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")


def write_manifest(store: Store, path: str, files: Iterable[DataFile], ranges: pa.Table | None = None) -> str:
    """Store the manifest, sorted by table and path, and return its sha256. ranges: `known_ranges` of some files."""
    import pyarrow.compute as pc  # here, since readers do without it: it takes 0.02 s to import

    ordered = sorted(files, key=lambda file: (file.table, file.path))
    columns = {name: [getattr(file, name) for file in ordered] for name in MANIFEST.names}
    table = pa.table(columns, MANIFEST)
    known = (_RANGES_BY_PATH.empty_table() if ranges is None else ranges).combine_chunks()
    rows = pc.index_in(table["path"], known["path"])
    buffer = pa.BufferOutputStream()
    with pq.ParquetWriter(buffer, MANIFEST, compression="zstd") as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_METADATA: _packed(known["ranges"].take(rows))})
    data = buffer.getvalue()
    store.put(path, data)
    return hashlib.sha256(data).hexdigest()


def read_manifest(store: Store, path: str, sha256: str, partitioned: bool = True) -> list[DataFile]:
    """Return the files in a manifest; raise LakeBroken if it is missing or differs from the published one.

    partitioned: include the files of partitioned tables, of which there may be hundreds of thousands.
    """
    table = manifest_table(store, path, sha256)
    if not partitioned:
        table = table.filter(table["batch_size"].is_null())
    return data_files(table)


def data_files(manifest: pa.Table) -> list[DataFile]:
    """Return the files of a table with the columns of MANIFEST, and maybe others."""
    columns = (manifest[name].to_pylist() for name in MANIFEST.names)
    return [DataFile(*row) for row in zip(*columns, strict=True)]


def known_ranges(base: pa.Table | None, new: Mapping[str, Row | None]) -> pa.Table:
    """Return the path and ranges of the files of a manifest, read with ranges, and of new ones, by path."""
    rows = [None if row is None else dict(zip(RANGES.names, row, strict=True)) for row in new.values()]
    added = pa.table([pa.array(new, pa.string()), pa.array(rows, _RANGES.type)], _RANGES_BY_PATH)
    return added if base is None else pa.concat_tables([base.select(_RANGES_BY_PATH.names), added])


def manifest_table(store: Store, path: str, sha256: str, with_ranges: bool = False) -> pa.Table:
    """Return a manifest with the columns of MANIFEST; raise the errors of `read_manifest`.

    with_ranges: and the column `ranges`, a struct of RANGES, null for a file whose ranges are unknown.
    """
    try:
        data = store.read(path)
    except FileNotFoundError:
        what = f"the file list {store.display_name(path)} is missing"
        raise LakeBroken(f"{what}: restore it, or use another release") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        what = f"the file list {store.display_name(path)} was altered since its release"
        raise LakeBroken(f"{what}: restore it, or use another release")
    with pq.ParquetFile(data, pre_buffer=False) as file:
        table = file.read(MANIFEST.names, use_threads=False).cast(MANIFEST)
        packed = (file.metadata.metadata or {}).get(_METADATA)
    if not with_ranges:
        return table
    return table.append_column(_RANGES, _unpacked(packed) if packed else pa.nulls(len(table), _RANGES.type))


def _packed(ranges: pa.ChunkedArray) -> bytes:
    """Return ranges as text, which values of a Parquet file's metadata are."""
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_file(buffer, pa.schema([_RANGES]), options=_COMPRESSED) as writer:
        writer.write_table(pa.table([ranges], pa.schema([_RANGES])))
    return base64.b64encode(buffer.getvalue())


def _unpacked(packed: bytes) -> pa.ChunkedArray:
    """Return the ranges that `_packed` was given."""
    with pa.ipc.open_file(base64.b64decode(packed)) as file:
        return file.read_all()[_RANGES.name]

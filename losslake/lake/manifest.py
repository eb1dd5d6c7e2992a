"""The manifest of a release: every file that belongs to it, with its size, sha256, rows and partition."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import fields

import pyarrow as pa
import pyarrow.parquet as pq

from losslake.lake.data_files import read_table
from losslake.lake.store.store import DataFile, Store
from losslake_schema.errors import LakeBroken

_NUMBERS = ("bytes", "rows", "batch_size")
MANIFEST = pa.schema([(each.name, pa.int64() if each.name in _NUMBERS else pa.string()) for each in fields(DataFile)])


def write_manifest(store: Store, path: str, files: Iterable[DataFile]) -> str:
    """Store the manifest, sorted by table and path, and return its sha256."""
    ordered = sorted(files, key=lambda file: (file.table, file.path))
    columns = {name: [getattr(file, name) for file in ordered] for name in MANIFEST.names}
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, MANIFEST), buffer, compression="zstd")
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
    columns = (column.to_pylist() for column in table.columns)
    return [DataFile(*row) for row in zip(*columns, strict=True)]


def manifest_table(store: Store, path: str, sha256: str) -> pa.Table:
    """Return a manifest with the columns of MANIFEST; raise the errors of `read_manifest`."""
    try:
        data = store.read(path)
    except FileNotFoundError:
        what = f"the file list {store.display_name(path)} is missing"
        raise LakeBroken(f"{what}: restore it, or use another release") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        what = f"the file list {store.display_name(path)} was altered since its release"
        raise LakeBroken(f"{what}: restore it, or use another release")
    return read_table(data, MANIFEST)

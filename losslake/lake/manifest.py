"""The manifest of a release: every file that belongs to it, with its size, sha256, rows and partition."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.reading import read_table
from losslake.lake.store.store import Store
from losslake_schema.errors import LakeBroken
from losslake_schema.names import Study, Workload

MANIFEST = pa.schema(
    [
        ("table", pa.string()),
        ("path", pa.string()),
        ("bytes", pa.int64()),
        ("sha256", pa.string()),
        ("rows", pa.int64()),
        ("collection", pa.string()),
        ("dataset", pa.string()),
        ("model", pa.string()),
        ("optimizer", pa.string()),
        ("batch_size", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of the lake; path is relative to the lake; the partition is None in a small table."""

    table: str
    path: str
    bytes: int
    sha256: str
    rows: int
    collection: str | None = None
    dataset: str | None = None
    model: str | None = None
    optimizer: str | None = None
    batch_size: int | None = None

    @property
    def study(self) -> Study | None:
        """The study whose partition the file is in."""
        if None in (self.collection, self.dataset, self.model, self.optimizer, self.batch_size):
            return None
        assert self.collection and self.dataset and self.model and self.optimizer and self.batch_size is not None
        return Study(Workload(self.collection, self.dataset, self.model, self.optimizer), self.batch_size)


def write_manifest(store: Store, path: str, files: Iterable[DataFile]) -> str:
    """Store the manifest, sorted by table and path, and return its sha256."""
    ordered = sorted(files, key=lambda file: (file.table, file.path))
    columns = {name: [getattr(file, name) for file in ordered] for name in MANIFEST.names}
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, MANIFEST), buffer, compression="zstd")
    data = buffer.getvalue()
    store.put(path, data)
    return hashlib.sha256(data).hexdigest()


def read_manifest(store: Store, path: str, sha256: str, of_studies: bool = True) -> list[DataFile]:
    """Read a manifest back; raises LakeBroken when it is missing or is not the one that was published.

    of_studies: with the files of studies, of which there may be hundreds of thousands.
    """
    table = manifest_table(store, path, sha256)
    if not of_studies:
        table = table.filter(pc.is_null(table["batch_size"]))
    columns = (column.to_pylist() for column in table.columns)
    return [DataFile(*row) for row in zip(*columns, strict=True)]


def manifest_table(store: Store, path: str, sha256: str) -> pa.Table:
    """A manifest as it is stored, with the columns of MANIFEST; raises what `read_manifest` does."""
    try:
        data = store.read(path)
    except FileNotFoundError:
        what = f"the file list {store.name_of(path)} is missing"
        raise LakeBroken(f"{what}: restore it, or use another release") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        what = f"the file list {store.name_of(path)} was altered since its release"
        raise LakeBroken(f"{what}: restore it, or use another release")
    return read_table(data, MANIFEST)


def sha256_of(path: Path) -> str:
    """The sha256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

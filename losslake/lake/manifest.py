"""The manifest of a release: every file that belongs to it, with its size, sha256, rows and partition.

Reading a small Parquet file whole.
Where the files of a release lie in a plain folder: the layout of an export, and of `/data` over HTTP.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.store.store import DataFile, Store
from losslake_schema.errors import LakeBroken


def read_table(source: pa.Buffer | Path, schema: pa.Schema) -> pa.Table:
    """The rows of a file, or of its bytes, that has these columns.

    pyarrow.parquet.read_table would import pyarrow.dataset, and with it pandas, which takes longer than opening a lake.
    """
    with pq.ParquetFile(source) as file:
        return file.read().cast(schema)


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


def places(files: Iterable[DataFile]) -> dict[str, str]:
    """The place of each data file, by its path in the lake; several files of one partition are numbered."""
    counts: dict[str, int] = defaultdict(int)
    found = {}
    for file in sorted(files, key=attrgetter("path")):
        study = file.study
        if study is None:
            found[file.path] = f"{file.table}.parquet"
            continue
        partition = f"{file.table}/{study.folder()}"
        found[file.path] = f"{partition}/part-{counts[partition]}.parquet"
        counts[partition] += 1
    return found


def url_path(place: str) -> str:
    """A place as the path of a URL. Places are percent-encoded by themselves, so their percent signs become %25."""
    return quote(place, safe="/=")


def checksum_lines(sums: dict[str, str]) -> str:
    """The text of SHA256SUMS, as sha256sum writes and checks it, from the sha256 of each place."""
    return "".join(f"{sha256}  {place}\n" for place, sha256 in sorted(sums.items()))

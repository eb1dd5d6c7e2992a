"""The manifest of a release: every file that belongs to it, with its size, sha256, rows and partition.

Also the public paths of these files, as in an export and under `/data` over HTTP.
"""

from __future__ import annotations

import hashlib
import re
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
from losslake_schema.tables import PARTITIONED


def read_table(source: pa.Buffer | Path, schema: pa.Schema) -> pa.Table:
    """Return the rows of a Parquet file, or of its bytes, cast to a schema.

    pyarrow.parquet.read_table would import pyarrow.dataset and thus pandas, which takes longer than opening a lake.
    Threads take longer to start than a small file to read, and C++ aborts a command that ends while they start.
    """
    with pq.ParquetFile(source, pre_buffer=False) as file:
        return file.read(use_threads=False).cast(schema)


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
        table = table.filter(pc.is_null(table["batch_size"]))
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


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_KEY_NAME = re.compile(r"\b[a-z_]+=")


def public_paths(files: Iterable[DataFile], keys_in_files: bool = False) -> dict[str, str]:
    """Return the public path of each data file, by its path in the lake; files of one partition are numbered.

    keys_in_files: omit the names of the keys, which readers would take for columns.
    """
    counts: dict[str, int] = defaultdict(int)
    paths = {}
    for file in sorted(files, key=attrgetter("path")):
        study = file.study
        if study is None:
            # A file of several studies is in no partition, only in an export.
            paths[file.path] = file.path if file.table in PARTITIONED else f"{file.table}.parquet"
            continue
        folder = _KEY_NAME.sub("", study.folder()) if keys_in_files else study.folder()
        partition = f"{file.table}/{folder}"
        paths[file.path] = f"{partition}/part-{counts[partition]}.parquet"
        counts[partition] += 1
    return paths


def url_path(path: str) -> str:
    """Return a public path as the path of a URL: it contains percent signs itself, which become %25."""
    return quote(path, safe="/=")


def checksum_lines(sums: dict[str, str]) -> str:
    """Return the text of SHA256SUMS, in the format of sha256sum, from the sha256 of each path."""
    return "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(sums.items()))

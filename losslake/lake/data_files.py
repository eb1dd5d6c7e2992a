"""Data files of a lake: their paths, writing and reading small tables, and errors about missing files."""

from __future__ import annotations

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from losslake.lake.ranges import Row, ranges_of
from losslake.lake.store.store import DataFile, Store
from losslake_schema.errors import LakeBroken
from losslake_schema.names import CHANGES, Study, Workload
from losslake_schema.tables import ALL_TABLES, NAMESPACE, STUDY_KEYS

FEW_ROWS = 10


@dataclass(frozen=True)
class WrittenFile:
    """A new data file and its serialized Parquet footer, which an ingest holds in memory until it publishes.

    ranges: of its columns; None if they are unknown.
    """

    file: DataFile
    footer: pa.Buffer
    ranges: Row | None = None

    @staticmethod
    def of(file: DataFile, metadata: pq.FileMetaData, ranges: Row | None = None) -> WrittenFile:
        """Return a file with the metadata that its writer collected."""
        packed = pa.BufferOutputStream()
        metadata.write_metadata_file(packed)
        return WrittenFile(file, packed.getvalue(), ranges)

    @property
    def metadata(self) -> pq.FileMetaData:
        """The metadata in the footer."""
        return pq.read_metadata(pa.BufferReader(self.footer))


def folder_of(table: str, study: Study | None) -> Path:
    """Return the folder, relative to the lake, of the data files of a table, or of one study in it."""
    return Path("warehouse", NAMESPACE, table, "data", study.folder() if study is not None else "")


def data_file(table: str, study: Study | None, path: str, size: int, sha256: str, rows: int) -> DataFile:
    """Return a data file with the partition of its study."""
    return DataFile(table, path, size, sha256, rows, **(study.key() if study is not None else {}))


def write_data_file(store: Store, table: str, study: Study | None, data: pa.Buffer, rows: int) -> DataFile:
    """Store the bytes of a file under a new unique name and return the data file."""
    path = (folder_of(table, study) / f"{uuid.uuid4().hex}.parquet").as_posix()
    store.put(path, data)
    return data_file(table, study, path, data.size, hashlib.sha256(data).hexdigest(), rows)


def write_small_table(store: Store, name: str, table: pa.Table) -> WrittenFile:
    """Write a table that has one file per release. A batch size that CHANGES is stored as null."""
    table = public_sizes(table)
    buffer = pa.BufferOutputStream()
    # Zstandard takes a millisecond to begin with 20 columns, and makes files of few rows no smaller.
    codec = "zstd" if table.num_rows > FEW_ROWS else "snappy"
    pq.write_table(table, buffer, compression=codec, store_schema=False)
    data = buffer.getvalue()
    file = write_data_file(store, name, None, data, table.num_rows)
    return WrittenFile.of(file, pq.read_metadata(pa.BufferReader(data)), ranges_of(table))


def read_small_table(store: Store, files: Iterable[DataFile], name: str) -> pa.Table:
    """Return a small table of the release with these files; raise LakeBroken if a file can't be read.

    A batch size that is null CHANGES in Python, so that it is compared and sorted like others.
    """
    tables = (_read(store, file) for file in files if file.table == name)
    return known_sizes(pa.concat_tables([ALL_TABLES[name].empty_table(), *tables]))


def known_sizes(table: pa.Table) -> pa.Table:
    """Return a table with CHANGES for each batch size that is null."""
    if "batch_size" not in table.column_names or not table["batch_size"].null_count:
        return table
    return _with_sizes(table, table["batch_size"].fill_null(CHANGES))


def public_sizes(table: pa.Table) -> pa.Table:
    """Return a table with null for each batch size that CHANGES."""
    import pyarrow.compute as pc  # here, since readers do without it: it takes 0.02 s to import

    if "batch_size" not in table.column_names:
        return table
    changes = pc.equal(table["batch_size"], CHANGES)
    if not pc.any(changes).as_py():
        return table
    return _with_sizes(table, pc.if_else(changes, pa.scalar(None, pa.int64()), table["batch_size"]))


def _with_sizes(table: pa.Table, sizes: pa.ChunkedArray) -> pa.Table:
    place = table.column_names.index("batch_size")
    return table.set_column(place, table.schema.field(place), sizes)


def _read(store: Store, file: DataFile) -> pa.Table:
    try:
        return read_table(store.local(file.path, file.bytes), ALL_TABLES[file.table])
    except FileNotFoundError:
        raise damaged_file(store, file.path, "is missing") from None
    except (OSError, pa.ArrowInvalid):
        raise damaged_file(store, file.path, "can't be read") from None


def damaged_file(store: Store, path: str, what: str) -> LakeBroken:
    """Return the error for a damaged data file. what: the problem, such as "is missing"."""
    return LakeBroken(f"the data file {store.display_name(path)} {what}: restore it, or use another release")


def check_files_exist(store: Store, files: Iterable[DataFile]) -> None:
    """Raise LakeBroken if one of these files is missing."""
    missing = store.first_missing([file.path for file in files])
    if missing:
        raise damaged_file(store, missing, "is missing")


def column_by_study(table: pa.Table, column: str) -> dict[Study, str]:
    """Return one column of the table `studies`, by study."""
    *keys, batch_sizes, values = (table[name].to_pylist() for name in (*STUDY_KEYS, column))
    return {
        Study(Workload(*workload), batch_size or CHANGES): value
        for *workload, batch_size, value in zip(*keys, batch_sizes, values, strict=True)
    }


def files_by_study(files: Sequence[DataFile]) -> dict[Study, list[DataFile]]:
    """Return the data files of each study."""
    of_study: dict[Study, list[DataFile]] = defaultdict(list)
    for file in files:
        if file.study is not None:
            of_study[file.study].append(file)
    return dict(of_study)


def read_table(source: pa.Buffer | Path, schema: pa.Schema) -> pa.Table:
    """Return the rows of a Parquet file, or of its bytes, cast to a schema.

    pyarrow.parquet.read_table would import pyarrow.dataset and thus pandas, which takes longer than opening a lake.
    Threads take longer to start than a small file to read, and C++ aborts a command that ends while they start.
    """
    with pq.ParquetFile(source, pre_buffer=False) as file:
        return file.read(use_threads=False).cast(schema)

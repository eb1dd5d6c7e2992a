"""Data files of a lake: where each lies, how a small table becomes one and is read again, and what to say of lost ones.

They hold values as `coalesce(value, digits / divisor)`; `with_values` gives them as everybody else wants them.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.manifest import read_table
from losslake.lake.store.store import DataFile, Store
from losslake_schema.errors import LakeBroken
from losslake_schema.names import Study, Workload
from losslake_schema.tables import NAMESPACE, STUDY_KEYS, TABLES


@dataclass(frozen=True)
class Written:
    """A new data file and its Parquet footer, packed: an ingest keeps those of all files until it publishes."""

    file: DataFile
    footer: pa.Buffer

    @staticmethod
    def of(file: DataFile, metadata: pq.FileMetaData) -> Written:
        """A file and the metadata that its writer left."""
        packed = pa.BufferOutputStream()
        metadata.write_metadata_file(packed)
        return Written(file, packed.getvalue())

    @property
    def metadata(self) -> pq.FileMetaData:
        """What its footer says."""
        return pq.read_metadata(pa.BufferReader(self.footer))


def folder_of(table: str, study: Study | None) -> Path:
    """The folder, relative to the lake, for the data files of a table, or of one study in it."""
    return Path("warehouse", NAMESPACE, table, "data", study.folder() if study is not None else "")


def data_file(table: str, study: Study | None, path: str, size: int, sha256: str, rows: int) -> DataFile:
    """Return a data file with the partition of its study."""
    return DataFile(table, path, size, sha256, rows, **(study.key() if study is not None else {}))


def keep(store: Store, table: str, study: Study | None, data: pa.Buffer, rows: int) -> DataFile:
    """Write a finished file under a fresh name and describe it; its path is relative to the lake."""
    path = (folder_of(table, study) / f"{uuid.uuid4().hex}.parquet").as_posix()
    store.put(path, data)
    return data_file(table, study, path, data.size, hashlib.sha256(data).hexdigest(), rows)


def write_small_table(store: Store, name: str, table: pa.Table) -> Written:
    """Write a table that is one file per release."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd", store_schema=False)
    data = buffer.getvalue()
    return Written.of(keep(store, name, None, data, table.num_rows), pq.read_metadata(pa.BufferReader(data)))


def stored_table(store: Store, files: Iterable[DataFile], name: str) -> pa.Table:
    """One of the small tables as a release with these files has it; raises LakeBroken when a file can't be read."""
    tables = (_read(store, file) for file in files if file.table == name)
    return pa.concat_tables([TABLES[name].empty_table(), *tables])


def _read(store: Store, file: DataFile) -> pa.Table:
    try:
        return read_table(store.local(file.path, file.bytes), TABLES[file.table])
    except FileNotFoundError:
        raise broken(store, file.path, "is missing") from None
    except (OSError, pa.ArrowInvalid):
        raise broken(store, file.path, "can't be read") from None


def broken(store: Store, path: str, what: str) -> LakeBroken:
    """Return what to raise for a data file of a release; what: is the matter with it."""
    return LakeBroken(f"the data file {store.name_of(path)} {what}: restore it, or use another release")


def check_there(store: Store, files: Iterable[DataFile]) -> None:
    """Raise LakeBroken when one of these files is missing."""
    missing = store.missing([file.path for file in files])
    if missing:
        raise broken(store, missing, "is missing")


def studies_in(table: pa.Table, column: str) -> dict[Study, str]:
    """One column of `studies`, by study."""
    *keys, batch_sizes, values = (table[name].to_pylist() for name in (*STUDY_KEYS, column))
    return {
        Study(Workload(*of_workload), batch_size): value
        for *of_workload, batch_size, value in zip(*keys, batch_sizes, values, strict=True)
    }


VALUE_COLUMNS = ("digits", "divisor", "value")


def stored_columns(columns: Sequence[str]) -> list[str]:
    """The columns to be read from a data file of measurements or records, so that these can be had from them."""
    return [stored for name in columns for stored in (VALUE_COLUMNS if name == "value" else (name,))]


def with_values(rows: pa.Table) -> pa.Table:
    """Rows of a data file with their values in `value`, if they have that column, and without digits and divisor."""
    if "value" not in rows.column_names:
        return rows
    decimals = pc.divide(rows["digits"], rows["divisor"])
    values = pc.coalesce(rows["value"], decimals) if rows["value"].null_count < len(rows) else decimals
    place = rows.column_names.index("value")
    return rows.set_column(place, "value", values).drop_columns(["digits", "divisor"])

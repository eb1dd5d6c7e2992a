"""A statement's result as an Arrow IPC stream in a file of bounded size, before it is converted."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

_BUFFER_BYTES = 1 << 18


class UnsupportedType(Exception):
    """A column has a type that the output formats don't support."""


@dataclass(frozen=True)
class SpooledResult:
    """A written result; truncated: the limit that cut it, `rows` or `bytes`, or None."""

    rows: int
    truncated: str | None
    digest: str


def spool(reader: pa.RecordBatchReader, file: int, max_rows: int, max_bytes: int) -> SpooledResult:
    """Write the batches of a reader up to the limits; raise UnsupportedType, and errors of the reader."""
    schema = _plain_schema(reader.schema)
    sink = HashedFile(file)
    rows, truncated = 0, None
    with pa.ipc.new_stream(pa.PythonFile(sink, "w"), schema) as writer:
        for whole in reader:
            if whole.num_rows == 0:
                continue
            if rows == max_rows:
                truncated = "rows"
                break
            batch = _plain(whole.slice(0, max_rows - rows), schema)
            fitting = _rows_that_fit(batch, max_bytes - sink.size)
            if fitting:
                writer.write_batch(batch.slice(0, fitting))
                rows += fitting
            if fitting < batch.num_rows:
                truncated = "bytes"
                break
            if batch.num_rows < whole.num_rows:
                truncated = "rows"
                break
    sink.flush()
    return SpooledResult(rows, truncated, sink.digest())


def _rows_that_fit(batch: pa.RecordBatch, max_bytes: int) -> int:
    """Return the number of leading rows that fit into `max_bytes`."""
    n_rows: int = batch.num_rows
    if pa.ipc.get_record_batch_size(batch) <= max_bytes:
        return n_rows
    counts = range(1, n_rows + 1)
    return bisect_right(counts, max_bytes, key=lambda count: pa.ipc.get_record_batch_size(batch.slice(0, count)))


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with unique names and enumerations as strings; raise UnsupportedType."""
    fields: dict[str, pa.Field] = {}
    for column in schema:
        name, number = column.name, 0
        while name in fields:
            number += 1
            name = f"{column.name}_{number}"
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not _is_plain(kind):
            raise UnsupportedType(f'the column "{column.name}" has an unsupported type: CAST it to VARCHAR')
        fields[name] = pa.field(name, kind)
    return pa.schema(list(fields.values()))


def _is_plain(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_union(kind) or types.is_interval(kind) or types.is_dictionary(kind):
        return False
    if isinstance(kind, pa.BaseExtensionType):
        return False
    return all(_is_plain(kind.field(index).type) for index in range(kind.num_fields))


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    # take() copies the values: DuckDB leaves old memory under nulls, which may be from another client's statement.
    return pa.RecordBatch.from_arrays(columns, schema=schema).take(pa.arange(0, batch.num_rows))


class HashedFile:
    """A buffered file-like object that hashes its content, as Arrow writes many small pieces."""

    closed = False

    def __init__(self, file: int) -> None:
        self._file = file
        self._hash = hashlib.blake2b(digest_size=16)
        self._buffer = bytearray()
        self.size = 0

    def write(self, data: Any) -> int:
        """Buffer the data; return its length."""
        piece = memoryview(data).cast("B")
        self.size += len(piece)
        self._buffer += piece
        if len(self._buffer) >= _BUFFER_BYTES:
            self.flush()
        return len(piece)

    def flush(self) -> None:
        """Write the buffer to the file."""
        self._hash.update(self._buffer)
        remaining = memoryview(self._buffer)
        while remaining:
            remaining = remaining[os.write(self._file, remaining) :]
        self._buffer = bytearray()

    def close(self) -> None:
        """Do nothing: the caller closes the file."""

    def digest(self) -> str:
        """Return the hash of the content, in hexadecimal."""
        return self._hash.hexdigest()

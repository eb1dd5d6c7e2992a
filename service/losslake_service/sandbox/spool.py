"""A statement's result in a file, an Arrow IPC stream of bounded length: written by a worker, read by the service."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, Self

import pyarrow as pa

_DIGEST_BYTES = 16
_HELD_BYTES = 1 << 18


class NotTabular(Exception):
    """A column has a type that the formats of an answer don't have."""


@dataclass(frozen=True)
class Spooled:
    """What was written; truncated: why rows are missing at the end, `rows` or `bytes`."""

    rows: int
    size: int
    truncated: str | None
    digest: str


def spool(reader: pa.RecordBatchReader, file: int, most_rows: int, most_bytes: int) -> Spooled:
    """Write what a reader gives until the limits; raises NotTabular, and what the reader raises."""
    schema = _plain_schema(reader.schema)
    sink = _HashedFile(file)
    rows, truncated = 0, None
    with pa.ipc.new_stream(pa.PythonFile(sink, "w"), schema) as writer:
        for given in reader:
            if given.num_rows == 0:
                continue
            if rows == most_rows:
                truncated = "rows"
                break
            batch = _plain(given.slice(0, most_rows - rows), schema)
            fitting = _rows_that_fit(batch, most_bytes - sink.size)
            if fitting:
                writer.write_batch(batch.slice(0, fitting))
                rows += fitting
            if fitting < batch.num_rows:
                truncated = "bytes"
                break
            if batch.num_rows < given.num_rows:
                truncated = "rows"
                break
    sink.flush()
    return Spooled(rows, sink.size, truncated, sink.digest())


def _rows_that_fit(batch: pa.RecordBatch, room: int) -> int:
    """Return how many of the first rows take at most so many bytes."""
    n_rows: int = batch.num_rows
    if pa.ipc.get_record_batch_size(batch) <= room:
        return n_rows
    counts = range(1, n_rows + 1)
    return bisect_right(counts, room, key=lambda count: pa.ipc.get_record_batch_size(batch.slice(0, count)))


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with names that differ, enumerations as strings, and no other type that only Arrow has."""
    fields = []
    taken: Counter[str] = Counter()
    for column in schema:
        name, number = column.name, 0
        while taken[name]:
            number += 1
            name = f"{column.name}_{number}"
        taken[name] += 1
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not _is_plain(kind):
            raise NotTabular(f'the column "{column.name}" has a type that an answer can\'t have: CAST it to VARCHAR')
        fields.append(pa.field(name, kind))
    return pa.schema(fields)


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
    # Taking every row copies it: DuckDB leaves old memory under nulls, which may be of another one's statement.
    return pa.RecordBatch.from_arrays(columns, schema=schema).take(pa.arange(0, batch.num_rows))


class _HashedFile:
    """As much of a file as Arrow writes to, which it does in many small pieces."""

    closed = False

    def __init__(self, file: int) -> None:
        self._file = file
        self._hash = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        self._held = bytearray()
        self.size = 0

    def write(self, data: Any) -> int:
        piece = memoryview(data).cast("B")
        self.size += len(piece)
        self._held += piece
        if len(self._held) >= _HELD_BYTES:
            self.flush()
        return len(piece)

    def flush(self) -> None:
        self._hash.update(self._held)
        left = memoryview(self._held)
        while left:
            left = left[os.write(self._file, left) :]
        self._held = bytearray()

    def close(self) -> None:
        """The file belongs to the caller."""

    def digest(self) -> str:
        return self._hash.hexdigest()


class SqlResult:
    """A whole result, in a file of its own until it is closed; batches are read from there as they are asked for.

    schema: of every batch. batches: to be read once. truncated: `rows` or `bytes` when the limit of either cut it.
    digest: of the result, in hexadecimal.
    """

    def __init__(self, file: BinaryIO, facts: dict[str, Any], closed: Callable[[], None]) -> None:
        """
        Args:
            file: kept, and closed by `close`.
            facts: rows, size, truncated and digest, as a worker tells them.
            closed: called once, when it is closed.
        """
        self._file = file
        self._closed: Callable[[], None] | None = closed
        self.rows = int(facts["rows"])
        self.size = os.fstat(file.fileno()).st_size
        truncated = facts.get("truncated")
        self.truncated = truncated if truncated in ("rows", "bytes") else None
        self.digest = str(facts["digest"])
        file.seek(0)
        self._reader = pa.ipc.open_stream(pa.PythonFile(file, "r"))
        self.schema: pa.Schema = self._reader.schema
        self.batches: Iterator[pa.RecordBatch] = self._read()

    def close(self) -> None:
        """Give the file back; the batches end."""
        self._file.close()
        if self._closed is not None:
            self._closed()
            self._closed = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _read(self) -> Iterator[pa.RecordBatch]:
        for batch in self._reader:
            # The worker that wrote it runs strangers' statements: lengths and offsets are checked before use.
            batch.validate(full=True)
            yield batch

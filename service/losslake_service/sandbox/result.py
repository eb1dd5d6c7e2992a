"""A statement's result, read from the file that a worker has written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, BinaryIO, Self

import pyarrow as pa


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

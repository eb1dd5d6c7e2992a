"""A query's result as a table, CSV, JSON or Parquet, written as it comes so that its size doesn't matter."""

from __future__ import annotations

import base64
import datetime
import decimal
import io
import json
import math
import os
import sys
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeVar

from losslake.cli.console import Format, complain, counted, say, show_table, write_csv
from losslake.cli.session import Arrow, Question, Row, Rows
from losslake_schema.errors import LossLakeError

Batch = TypeVar("Batch")


@dataclass
class Output:
    """Where results go and how they look; max_rows only limits tables on a screen.

    lake: the folder into which nothing may be written, if there is one here.
    """

    format: Format
    path: Path | None
    max_rows: int
    lake: Path | None = None
    _is_taken: bool = False
    _is_stopped: bool = False

    def send(self, format: Format, path: Path | None) -> None:  # noqa: A002
        """Change where results go and how they look; raises LossLakeError when that format can't go there."""
        if format is Format.parquet and path is None and sys.stdout.isatty():
            raise LossLakeError("Parquet is not for a terminal: give --output FILE, or send standard output to a file")
        if format is Format.table and path is not None:
            raise LossLakeError("a table is for the screen: give --format csv, json or parquet with --output")
        if path is not None and self.lake is not None and path.resolve().is_relative_to(self.lake.resolve()):
            raise LossLakeError(f"{path} is in the lake, which is only read: give another --output")
        self.format, self.path, self._is_taken = format, path, False

    def write(self, question: Question) -> None:
        """Run a statement and print its result; one without a result, such as SET, prints nothing."""
        self._is_stopped = False
        if self.format is Format.parquet:
            with question.arrow() as arrow:
                if arrow is not None:
                    self._write_parquet(arrow)
                    _say_cut(arrow.cut)
            return
        with question.rows() as rows:
            if rows is None:
                return
            if self.format is Format.table:
                self._write_table(rows)
            else:
                with self._opened() as file:
                    single = chain.from_iterable(self._until_stopped(rows.batches))
                    (_write_csv if self.format is Format.csv else _write_json)(file, rows.names, single)
            _say_cut(rows.cut)

    def stop(self) -> None:
        """Write no more of the result that is being written; callable from another thread."""
        self._is_stopped = True

    def _until_stopped(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            yield batch
            if self._is_stopped:
                raise LossLakeError("stopped")

    def _write_table(self, rows: Rows) -> None:
        if list(rows.names) == ["explain_key", "explain_value"]:
            for line in "".join(value for batch in rows.batches for _, value in batch).splitlines():
                say(line)
            return
        limit, total = self.max_rows, 0
        first: list[Row] = []
        for batch in self._until_stopped(rows.batches):
            total += len(batch)
            first += batch[: limit - len(first)]
        show_table(rows.names, [[_in_table(value) for value in row] for row in first])
        if total <= limit:
            say(f"({counted(total, 'row')})")
        else:
            say(f"(the first {limit:,} of {total:,} rows: --max-rows shows more, --format csv all)")

    def _write_parquet(self, arrow: Arrow) -> None:
        import pyarrow.parquet as pq

        with self._opened_binary() as file, pq.ParquetWriter(file, arrow.schema, compression="zstd") as writer:
            for batch in self._until_stopped(arrow.batches):
                writer.write_batch(batch)

    @contextmanager
    def _opened(self) -> Iterator[IO[str]]:
        with self._opened_binary() as file:
            text = io.TextIOWrapper(file, "utf-8", newline="")
            try:
                yield text
            finally:
                text.flush()
                text.detach()

    @contextmanager
    def _opened_binary(self) -> Iterator[IO[bytes]]:
        """Standard output, or the file, which appears only when it is whole; a file takes one result."""
        if self._is_taken and (self.path is not None or self.format is Format.parquet):
            raise LossLakeError("one file takes one result, and this is the second: run the statements one by one")
        self._is_taken = True
        if self.path is None:
            sys.stdout.flush()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        # What is no plain file, such as /dev/stdout or a named pipe, is written to as it is.
        is_plain = not self.path.is_symlink() and (self.path.is_file() or not self.path.exists())
        unfinished = self.path.with_name(f".{self.path.name}.{os.getpid()}") if is_plain else self.path
        try:
            with unfinished.open("wb") as file:
                yield file
            if is_plain:
                unfinished.replace(self.path)
        except OSError as error:
            raise LossLakeError(f"can't write {self.path}: {error.strerror}") from None
        finally:
            if is_plain:
                unfinished.unlink(missing_ok=True)


def _say_cut(cut: str | None) -> None:
    if cut is not None:
        complain(f"the service cut the result at its limit of {cut}: ask for less, or download the release")


def _write_csv(file: IO[str], names: Sequence[str], rows: Iterable[Row]) -> None:
    write_csv(file, names, ([_in_csv(value) for value in row] for row in rows))


def _write_json(file: IO[str], names: Sequence[str], rows: Iterable[Row]) -> None:
    is_ascii = file.isatty()  # so that no control character gets through, C1 included
    file.write("[")
    for number, row in enumerate(rows):
        record = {name: in_json(value) for name, value in zip(names, row, strict=True)}
        file.write(("," if number else "") + "\n" + json.dumps(record, ensure_ascii=is_ascii))
    file.write("\n]\n")


def in_json(value: Any) -> Any:
    """A value as JSON has it: floats round-trip, NaN and infinities are strings, times are ISO 8601."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(key): in_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [in_json(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, uuid.UUID, datetime.timedelta)):
        return str(value)
    return value


def _in_csv(value: Any) -> Any:
    return json.dumps(in_json(value), ensure_ascii=False) if isinstance(value, (dict, list, tuple)) else value


def _in_table(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, float, str)) else str(value)

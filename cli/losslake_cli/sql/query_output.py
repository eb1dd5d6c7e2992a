"""Query results as a table, CSV, JSON or Parquet, written in batches, so that memory stays bounded."""

from __future__ import annotations

import base64
import datetime
import decimal
import io
import json
import os
import sys
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Event
from typing import IO, Any, TypeVar

from losslake.record.numbers import json_number
from losslake_cli.console import Format, echo, echo_all, print_error, write_csv
from losslake_cli.sql.session import Arrow, Query, ResultRow, Rows, Session
from losslake_cli.table import show_table
from losslake_schema.errors import LossLakeError
from losslake_schema.quantities import counted

Batch = TypeVar("Batch")


@dataclass
class Output:
    """The destination and format of results. max_rows: limit for tables.

    lake: the folder of a local lake, into which nothing may be written.
    """

    format: Format
    path: Path | None
    max_rows: int
    lake: Path | None = None
    _is_used: bool = False

    def redirect(self, format: Format, path: Path | None) -> None:  # noqa: A002
        """Set format and destination; raise LossLakeError if they don't fit together."""
        if format == "parquet" and path is None and sys.stdout.isatty():
            raise LossLakeError("Parquet can't be shown on a terminal: give --output FILE, or redirect standard output")
        if format == "table" and path is not None:
            raise LossLakeError("a table can't be written to a file: give --format csv, json or parquet with --output")
        if path is not None and self.lake is not None and path.resolve().is_relative_to(self.lake.resolve()):
            raise LossLakeError(f"{path} is inside the lake, which is read-only: give another --output")
        self.format, self.path, self._is_used = format, path, False

    def write(self, query: Query, stop: Event) -> None:
        """Run a statement and write its result, until stop is set; nothing for a statement without one, such as SET."""
        _check(stop)
        if self.format == "parquet":
            with query.arrow() as arrow:
                if arrow is not None:
                    self._write_parquet(arrow, stop)
                    _warn_if_truncated(arrow.limit)
            return
        with query.rows() as rows:
            if rows is None:
                return
            if self.format == "table":
                self._write_table(rows, stop)
            else:
                with self._opened() as file:
                    single = chain.from_iterable(_until(stop, rows.batches))
                    (_write_csv if self.format == "csv" else _write_json)(file, rows.names, single)
            _warn_if_truncated(rows.limit)

    def _write_table(self, rows: Rows, stop: Event) -> None:
        if list(rows.names) == ["explain_key", "explain_value"]:
            echo_all("".join(value for batch in rows.batches for _, value in batch).splitlines())
            return
        limit, total = self.max_rows, 0
        first: list[ResultRow] = []
        for batch in _until(stop, rows.batches):
            total += len(batch)
            first += batch[: limit - len(first)]
        show_table(rows.names, [[_to_table_cell(value) for value in row] for row in first])
        if total <= limit:
            echo(f"({counted(total, 'row')})")
        else:
            echo(f"(the first {limit:,} of {total:,} rows; --max-rows shows more, --format csv shows all)")

    def _write_parquet(self, arrow: Arrow, stop: Event) -> None:
        import pyarrow.parquet as pq

        with self._opened_binary() as file, pq.ParquetWriter(file, arrow.schema, compression="zstd") as writer:
            for batch in _until(stop, arrow.batches):
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
        """Open standard output, or the file, which appears when complete; a file holds one result."""
        if self._is_used and (self.path is not None or self.format == "parquet"):
            raise LossLakeError(
                "a file can hold only one result, and this is the second: run the statements one by one"
            )
        self._is_used = True
        if self.path is None:
            sys.stdout.flush()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        # Special files, such as /dev/stdout or a named pipe, are written to directly.
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


def run_script(session: Session, text: str, output: Output) -> None:
    """Run the statements in a text; raise LossLakeError at the first that fails, KeyboardInterrupt on Ctrl-C."""
    for query in session.queries(text):
        session.run_interruptible(partial(output.write, query))


def _check(stop: Event) -> None:
    """Raise LossLakeError if stop is set."""
    if stop.is_set():
        raise LossLakeError("stopped")


def _until(stop: Event, batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the batches; raise LossLakeError when stop is set."""
    for batch in batches:
        _check(stop)
        yield batch


def _warn_if_truncated(limit: str | None) -> None:
    if limit is not None:
        print_error(
            f"the service truncated the result at its limit on {limit}: add a LIMIT, or use 'losslake download'"
        )


def _write_csv(file: IO[str], names: Sequence[str], rows: Iterable[ResultRow]) -> None:
    write_csv(file, names, ([_to_csv_cell(value) for value in row] for row in rows))


def _write_json(file: IO[str], names: Sequence[str], rows: Iterable[ResultRow]) -> None:
    is_ascii = file.isatty()  # escapes all control characters, including C1
    file.write("[")
    for number, row in enumerate(rows):
        record = {name: to_json_value(value) for name, value in zip(names, row, strict=True)}
        file.write(("," if number else "") + "\n" + json.dumps(record, ensure_ascii=is_ascii))
    file.write("\n]\n")


def to_json_value(value: Any) -> Any:
    """Return a value for JSON: floats round-trip, NaN and infinities are strings, times are ISO 8601."""
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, dict):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, uuid.UUID, datetime.timedelta)):
        return str(value)
    return value


def _to_csv_cell(value: Any) -> Any:
    return json.dumps(to_json_value(value), ensure_ascii=False) if isinstance(value, (dict, list, tuple)) else value


def _to_table_cell(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, float, str)) else str(value)

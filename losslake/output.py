"""A query's result as a table, CSV, JSON or Parquet, written as it comes so that its size doesn't matter."""

from __future__ import annotations

import base64
import csv
import datetime
import decimal
import io
import json
import math
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import duckdb

from losslake.console import say, show_table
from schema.errors import LossLakeError

BATCH = 10_000


class Format(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


@dataclass
class Output:
    """Where results go and how they look; max_rows only limits tables on a screen."""

    format: Format
    path: Path | None
    max_rows: int

    def check_target(self) -> None:
        """Raise LossLakeError when the format can't go where it is to go."""
        if self.format is Format.parquet and self.path is None and sys.stdout.isatty():
            raise LossLakeError("Parquet is not for a terminal: give --output FILE, or send standard output to a file")

    def write(self, result: duckdb.DuckDBPyConnection) -> None:
        """Print the result of a statement that was executed; a statement without one prints nothing."""
        if not result.description:
            return
        names = [column[0] for column in result.description]
        if self.format is Format.table:
            self._write_table(names, result)
        elif self.format is Format.parquet:
            self._write_parquet(result)
        else:
            with self._opened() as file:
                (_write_csv if self.format is Format.csv else _write_json)(file, names, result)

    def _write_table(self, names: list[str], result: duckdb.DuckDBPyConnection) -> None:
        limit = self.max_rows
        rows = result.fetchmany(limit + 1)
        if self.path is not None:
            raise LossLakeError("a table is for the screen: give --format csv, json or parquet with --output")
        show_table(names, [[_in_table(value) for value in row] for row in rows[:limit]])
        if len(rows) <= limit:
            say(f"({len(rows)} row{'' if len(rows) == 1 else 's'})")
            return
        total = len(rows)
        while batch := result.fetchmany(BATCH):
            total += len(batch)
        say(f"(the first {limit:,} of {total:,} rows: --max-rows shows more, --format csv all)")

    def _write_parquet(self, result: duckdb.DuckDBPyConnection) -> None:
        import pyarrow.parquet as pq

        reader = result.to_arrow_reader(BATCH)
        assert reader is not None
        with self._opened_binary() as file, pq.ParquetWriter(file, reader.schema, compression="zstd") as writer:
            for batch in reader:
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
        if self.path is None:
            sys.stdout.flush()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        try:
            file = self.path.open("wb")
        except OSError as error:
            raise LossLakeError(f"can't write {self.path}: {error.strerror}") from None
        with file:
            yield file


def _rows(result: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := result.fetchmany(BATCH):
        yield from batch


def _write_csv(file: IO[str], names: list[str], result: duckdb.DuckDBPyConnection) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_in_csv(value) for value in row] for row in _rows(result))


def _write_json(file: IO[str], names: list[str], result: duckdb.DuckDBPyConnection) -> None:
    file.write("[")
    for number, row in enumerate(_rows(result)):
        record = {name: in_json(value) for name, value in zip(names, row, strict=True)}
        file.write(("," if number else "") + "\n" + json.dumps(record, ensure_ascii=False))
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

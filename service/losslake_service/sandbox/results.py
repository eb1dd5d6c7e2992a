"""A statement's result in the requested format: written by a worker within its limits, and forwarded by the service.

Nested values as text take many times the memory and time of the values, so only workers format them.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

import orjson
import pyarrow as pa

from losslake.output.answer import Answer
from losslake.output.formats import FORMATS, OutputFormat
from losslake.output.plain import plain_answer
from losslake.output.texts import is_list, json_column
from losslake_service.sandbox.errors import ADVICE, SqlLimits
from losslake_service.sandbox.spool import HashedFile, SpooledResult

# Maximum characters of a value in the format `cells`; a longer value is truncated, with the remaining length.
LONGEST_CELL = 500
_LEAVES_AT_ONCE = 100_000
# Room for what a format has beside the values of Arrow.
HEAD_BYTES = 65_536


def _cell_pieces(answer: Answer) -> Iterator[bytes]:
    """Write a table for a page: the columns, and each value as JSON text of bounded length; null for null."""
    columns = [
        {"name": field.name, "type": str(field.type), "is_number": _is_number(field.type)} for field in answer.schema
    ]
    yield b'{"columns":' + orjson.dumps(columns) + b',"rows":['
    comma = b""
    for batch in answer.batches:
        texts = [_cells(column, field) for column, field in zip(batch.columns, batch.schema, strict=True)]
        for row in zip(*texts, strict=True):
            yield comma + orjson.dumps(row)
            comma = b","
    yield b"]}"


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _cells(array: pa.Array, field: pa.Field) -> list[str | None]:
    are_there, texts = array.is_valid().to_pylist(), json_column(array, field).to_pylist()
    is_number = _is_number(field.type)
    return [_cell(text, is_number) if is_there else None for is_there, text in zip(are_there, texts, strict=True)]


def _cell(text: str, is_number: bool) -> str:
    """Return a value as text; numbers that are NaN or infinite keep the quotes that JSON needs."""
    shown = str(orjson.loads(text)) if text.startswith('"') and not is_number else text
    rest = len(shown) - LONGEST_CELL
    return shown if rest <= 0 else f"{shown[:LONGEST_CELL]}… ({rest:,} more characters)"


CELLS = OutputFormat("cells", "application/json", _cell_pieces)
# The formats of results, by name.
OUTPUTS: Mapping[str, OutputFormat] = {**FORMATS, CELLS.name: CELLS}


def ways_to_all_rows(limits: SqlLimits, max_rows: int) -> dict[str, str]:
    """Return how to get the rest of a truncated result, by what truncated it: `rows`, `bytes`, or `format`.

    `format`: the result is within the limits, but not in the format of the response. max_rows: of this statement.
    """
    is_limit = max_rows >= limits.result_rows
    n_rows = f"the result has more than {limits.result_rows:,} rows, the limit sql_result_rows: {ADVICE}"
    return {
        "rows": n_rows if is_limit else "the result has more rows: request .csv, .arrow or .parquet, or a larger limit",
        "bytes": f"the result has more than {limits.result_mb} MB, the limit sql_result_mb: {ADVICE}",
        "format": f"as JSON the result has more than {limits.result_mb} MB: request .arrow or .parquet",
    }


def write_result(
    spool: int,
    spooled: SpooledResult,
    output: OutputFormat,
    facts: Mapping[str, Any],
    file: int,
    max_bytes: int,
    ways: Mapping[str, str],
) -> SpooledResult:
    """Write a spooled result in its format to an open file, as many of its rows as fit into this many bytes.

    spool: the open file that has it. facts: of the answer, beside those of the result. ways: of `ways_to_all_rows`.
    """
    rows, truncated = spooled.rows, spooled.truncated
    way = ways[truncated] if truncated is not None else None
    while True:
        pieces = _Pieces(spool, rows)
        answer = plain_answer(Answer({}, pieces.schema, iter(pieces)))
        all_facts = {**facts, "truncated": truncated or False}
        if output.name == "json":
            # The other formats say it in a way of their own.
            columns = [{"name": column.name, "type": str(column.type)} for column in answer.schema]
            all_facts |= {"all_rows": way, "columns": columns}
        sink = HashedFile(file)
        for piece in output.write(dataclasses.replace(answer, facts=all_facts)):
            sink.write(piece)
            if rows and sink.size > max_bytes:
                break
        else:
            sink.flush()
            return SpooledResult(rows, truncated, sink.digest())
        rows, truncated = min(rows * 9 // 10, pieces.n_read * max_bytes // sink.size), "bytes"
        way = ways["bytes"] if spooled.truncated == "bytes" else ways["format"]
        os.lseek(file, 0, os.SEEK_SET)
        os.ftruncate(file, 0)


class _Pieces:
    """The first rows of a spooled result, in batches that are cheap to hold as Python objects."""

    def __init__(self, spool: int, rows: int) -> None:
        os.lseek(spool, 0, os.SEEK_SET)
        self._reader = pa.ipc.open_stream(pa.PythonFile(os.fdopen(os.dup(spool), "rb"), "r"))
        self._rows = rows
        self.schema: pa.Schema = self._reader.schema
        self.n_read = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for whole in self._reader:
            batch = whole.slice(0, self._rows - self.n_read)
            at_once = max(1, batch.num_rows * _LEAVES_AT_ONCE // max(1, sum(map(_leaves, batch.columns))))
            for start in range(0, batch.num_rows, at_once):
                piece = batch.slice(start, at_once)
                self.n_read += piece.num_rows
                yield piece
            if self.n_read == self._rows:
                return


def _leaves(array: pa.Array) -> int:
    """Return how many values an array holds, those in lists, maps and structs counted one by one."""
    if pa.types.is_struct(array.type):
        return sum(map(_leaves, array.flatten())) or len(array)
    if is_list(array.type) or pa.types.is_map(array.type):
        entries = array.keys if pa.types.is_map(array.type) else array.flatten()
        return len(array) + _leaves(entries)
    return len(array)


class SqlResult:
    """A result that a worker wrote to a file without a name, which is gone on close.

    path: by which this process reads the file. size: its bytes. rows: of the result. truncated: `rows` or `bytes` when
    the limit of either cut it. digest: of the file, in hexadecimal.
    """

    def __init__(self, file: IO[bytes], facts: Mapping[str, Any], closed: Callable[[], None]) -> None:
        """Take over the file. facts: rows, truncated and digest, from the worker. closed: called once by `close`."""
        self.path = Path(f"/dev/fd/{file.fileno()}")
        self._file = file
        self._closed: Callable[[], None] | None = closed
        self.rows = int(facts["rows"])
        self.size = os.fstat(file.fileno()).st_size
        truncated = facts.get("truncated")
        self.truncated = truncated if truncated in ("rows", "bytes") else None
        self.digest = str(facts["digest"])

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        if self._closed is not None:
            self._closed()
            self._closed = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(AttributeError):
            self.close()

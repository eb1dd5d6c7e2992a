"""A run's history as W&B exports it: JSON lines, or Parquet as in a history artifact; one row for each `log()`.

Source: https://docs.wandb.ai/ref/python/public-api/runs (`scan_history`, history exports); a row has `_step`,
`_timestamp` (Unix seconds), `_runtime` (seconds) and what was logged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from losslake_ingest.run_log import LoggedRows
from losslake_ingest.wandb_files.private import private_text
from losslake_ingest.wandb_files.table import MEDIA, MOST_COLUMNS, TOO_MANY, HistoryTable
from losslake_schema.reached import Flags, Floats

_CHUNK = 1 << 20
_LONGEST_LINE = 1 << 24
_MOST_BAD_LINES = 10_000
_SEEN_AHEAD = 1 << 16
_MOST_CELLS = 1 << 27
_BATCH = 1 << 16
_DEEPEST = 32
BAD_LINE = "a line that is no JSON object: left out"


class NoHistory(Exception):
    """A file that is something else."""


class Unreadable(Exception):
    """A history that can't be read at all; says why, and what to do."""


@dataclass
class History:
    """What a history file says."""

    rows: list[LoggedRows]
    private: set[str] = field(default_factory=set)
    remarks: Counter[str] = field(default_factory=Counter)


def read_json_lines(data: bytes) -> History:
    """The history in JSON lines; raises NoHistory where the first of them have no `_step`."""
    if b'"_step"' not in data[:_SEEN_AHEAD]:
        raise NoHistory
    table = HistoryTable()
    for lines in _line_batches(data):
        table.add(_parsed(lines, table.remarks))
    return History(table.rows(), table.private, +table.remarks)


def _line_batches(data: bytes) -> Iterator[list[bytes]]:
    """The lines, as many at a time as fit a chunk: a file may hold a hundred million of them."""
    at = 0
    while at < len(data):
        end = data.rfind(b"\n", at, at + _CHUNK) + 1 or data.find(b"\n", at) + 1 or len(data)
        yield data[at:end].split(b"\n")
        at = end


def _parsed(lines: list[bytes], remarks: Counter[str]) -> list[dict[str, Any]]:
    try:
        values = [orjson.loads(line) for line in lines if line]
    except orjson.JSONDecodeError:
        values = [_value(line, remarks) for line in lines if line.strip()]
    rows = [value for value in values if type(value) is dict]
    remarks[BAD_LINE] += len(values) - len(rows)
    return rows


def _value(line: bytes, remarks: Counter[str]) -> Any:
    """A line's JSON, with the bare NaN and Infinity that Python writes; None if it is none."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        # Python's parser is slow to fail: it is spared a file of nothing but nonsense.
        return python_json(line) if remarks[BAD_LINE] < _MOST_BAD_LINES else None


def python_json(text: bytes) -> Any:
    """JSON as Python's own writer has it, with bare NaN and Infinity; None if it is none."""
    if len(text) > _LONGEST_LINE:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_parquet(data: bytes) -> History:
    """The history in a Parquet file; raises Unreadable, or NoHistory where it has no column `_step`."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        return _read_columns(file)
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise Unreadable(f"the Parquet file is damaged or cut short ({reason}): export it again") from None


def _read_columns(file: pq.ParquetFile) -> History:
    history = History([])
    names = _numeric(file.schema_arrow, history)
    if "_step" not in names:
        raise NoHistory
    stated = file.metadata.num_rows
    if stated * len(names) > _MOST_CELLS:
        raise Unreadable(f"{stated:,} rows of {len(names)} columns: at most {_MOST_CELLS:,} cells are read; split it")
    parts: dict[str, list[tuple[Floats, Flags]]] = {name: [] for name in names}
    total = 0
    for batch in file.iter_batches(_BATCH, columns=names, use_threads=False):
        total += batch.num_rows
        if total > stated:
            raise ValueError("it has more rows than it states")
        for name, column in _flat_columns(batch):
            if name in parts:
                parts[name].append(_floats(column))
    columns: dict[str, Floats] = {}
    missing: dict[str, Flags] = {}
    for name, pieces in parts.items():
        holes = np.concatenate([flags for _, flags in pieces]) if pieces else np.ones(0, np.bool_)
        if not holes.all():
            columns[name] = np.concatenate([floats for floats, _ in pieces])
            if holes.any():
                missing[name] = holes
    history.rows = [LoggedRows(columns, missing)] if columns else []
    return history


def _numeric(schema: pa.Schema, history: History) -> list[str]:
    """The names of the numeric columns, inner ones with `.`; whatever else there is, is counted."""
    names: list[str] = []
    for name, kind in _leaves([(column.name, column.type) for column in schema], 0, history.remarks):
        private = private_text(name)
        if private:
            history.private.add(private)
        elif name == "_wandb" or name.startswith("_wandb."):
            continue
        elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            history.remarks["a column that holds no numbers: left out"] += 1
        elif len(names) >= MOST_COLUMNS:
            history.remarks[TOO_MANY] += 1
        elif name not in names[-1:]:
            names.append(name)
    return list(dict.fromkeys(names))


def _leaves(columns: list[tuple[str, Any]], depth: int, remarks: Counter[str]) -> Iterator[tuple[str, Any]]:
    for name, kind in columns:
        if not pa.types.is_struct(kind):
            yield name, kind
        elif depth >= _DEEPEST or any(inner.name == "_type" for inner in kind):
            remarks[MEDIA] += 1
        else:
            yield from _leaves([(f"{name}.{inner.name}", inner.type) for inner in kind], depth + 1, remarks)


def _flat_columns(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Array]]:
    table = pa.Table.from_batches([batch])
    while any(pa.types.is_struct(kind) for kind in table.schema.types):
        table = table.flatten()
    for name, column in zip(table.column_names, table.columns, strict=True):
        yield name, column.combine_chunks()


def _floats(column: pa.Array) -> tuple[Floats, Flags]:
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    floats = column.cast(pa.float64(), safe=False)
    holes = np.asarray(floats.is_null().to_numpy(zero_copy_only=False), np.bool_)
    return np.asarray(floats.to_numpy(zero_copy_only=False), np.float64), holes

"""Curves into Parquet: each data file holds (part of) one study, sorted by metric, trial and step.

Row groups don't mix metrics, so a query for one metric reads only its bytes. The keys of the study stand in the path
and in Iceberg's partition data, not in the file, as both Hive and Iceberg have it. Values get the encoding that suits
them, and an encoding holds for a whole file, so metrics of few distinct values (error rates, k/N) and of many (losses)
go to two files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ingest.records import previous_steps, record_rows
from ingest.study import Curves, Flags, Floats, Integers
from schema.data_files import Written, keep
from schema.names import Study
from schema.registry import metric_named
from schema.tables import PARTITIONED, file_schema

LARGEST_ROW_GROUP = 1 << 20
_SAMPLE = 2048
_BYTES_SPLIT = 6.0
_VALUES_AT_ONCE = 1 << 15
_WORTH_COMPRESSING = ("step", "previous_step", "value")
_LEVEL = 1
_LEVEL_OF_SPLIT = -5  # the low bytes of a loss are noise: a higher level takes 1.6 times as long to save 1.5 %
_SCHEMAS = {name: file_schema(name) for name in PARTITIONED}


def write_curves(lake: Path, study: Study, trial_ids: Sequence[int], curves: Curves) -> list[Written]:
    """Write the measurements and records of some trials of a study below the lake's folder, ready to be published."""
    trials = np.repeat(np.asarray(trial_ids, np.int64), np.diff(curves.offsets))
    encodings = {m: "dictionary" if _pays_as_dictionary(curves.values[m]) else "split" for m in sorted(curves.values)}
    written = []
    for encoding in sorted(set(encodings.values())) or ["split"]:
        metrics = [metric for metric, its_encoding in encodings.items() if its_encoding == encoding]
        written.append(_write(lake, "measurements", study, encoding, _measurements(metrics, trials, curves)))
    return [*written, _write(lake, "records", study, "split", _records(trials, curves))]


def _measurements(metrics: Sequence[str], trials: Integers, curves: Curves) -> Iterator[pa.Table]:
    for metric in metrics:
        missing = curves.missing.get(metric)
        rows: Flags | slice = ~missing if missing is not None else slice(None)
        columns = {
            "trial_id": trials[rows],
            "step": curves.steps[rows],
            "value": curves.values[metric][rows],
            "elapsed_s": _elapsed(curves, rows),
        }
        yield _table("measurements", metric, columns)


def _records(trials: Integers, curves: Curves) -> Iterator[pa.Table]:
    previous, is_first = previous_steps(curves.steps, curves.offsets)
    for metric in sorted(curves.values):
        direction = metric_named(metric).direction
        if direction is None:
            continue
        here = curves
        if metric in curves.missing:
            here, of_trial = _measured_only(curves, metric, trials)
            own_previous, own_first = previous_steps(here.steps, here.offsets)
        else:
            of_trial, own_previous, own_first = trials, previous, is_first
        rows = np.flatnonzero(record_rows(here.values[metric], here.offsets, direction))
        columns = {
            "trial_id": of_trial[rows],
            "step": here.steps[rows],
            "previous_step": pa.array(own_previous[rows], mask=own_first[rows]),
            "value": here.values[metric][rows],
            "elapsed_s": _elapsed(here, rows),
        }
        yield _table("records", metric, columns)


def _measured_only(curves: Curves, metric: str, trials: Integers) -> tuple[Curves, Integers]:
    """The curves reduced to the rows at which a metric was measured, and the trial of each row."""
    keep = ~curves.missing[metric]
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep, dtype=np.int64)])
    elapsed = curves.elapsed_s[keep] if curves.elapsed_s is not None else None
    values = {metric: curves.values[metric][keep]}
    return Curves(before[curves.offsets], curves.steps[keep], values, {}, elapsed), trials[keep]


def _elapsed(curves: Curves, rows: Flags | Integers | slice) -> pa.Array | None:
    """The elapsed seconds of some rows, null where unknown; None where none is known."""
    if curves.elapsed_s is None:
        return None
    elapsed = curves.elapsed_s[rows]
    return pa.array(elapsed, mask=np.isnan(elapsed))


def _pays_as_dictionary(values: Floats) -> bool:
    """Whether a dictionary is smaller than the split bytes, which compress to about 6 bytes a value.

    The number of distinct values d is estimated from the repeats r in a sample of k: about k^2 / (2 r).
    """
    sample = values[:: max(1, len(values) // _SAMPLE)]
    k = len(sample)
    repeats = k - len(np.unique(sample))
    is_all = len(values) < 2 * _SAMPLE
    distinct = k - repeats if is_all else k * k / (2.0 * repeats) if repeats else math.inf
    bytes_a_value = 8 * distinct / max(1, len(values)) + math.log2(max(2.0, distinct)) / 8
    return bytes_a_value < _BYTES_SPLIT


def _table(name: str, metric: str, columns: Mapping[str, Any]) -> pa.Table:
    """Rows of one metric of one study, in the columns that its data files hold."""
    n_rows = len(columns["step"])
    constant = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32)), pa.array([metric]))
    arrays = [
        constant if field.name == "metric" else _array(columns[field.name], field, n_rows) for field in _SCHEMAS[name]
    ]
    return pa.Table.from_arrays(arrays, schema=_SCHEMAS[name])


def _array(column: Integers | Floats | pa.Array | None, field: pa.Field, n_rows: int) -> pa.Array:
    return pa.nulls(n_rows, field.type) if column is None else pa.array(column, field.type)


def _write(lake: Path, name: str, study: Study, encoding: str, tables: Iterator[pa.Table]) -> Written:
    n_rows = 0
    buffer = pa.BufferOutputStream()
    with pq.ParquetWriter(buffer, _SCHEMAS[name], **_options(name, encoding)) as writer:
        for table in tables:
            n_rows += table.num_rows
            if table.num_rows:
                writer.write_table(table, row_group_size=LARGEST_ROW_GROUP)
    metadata = writer.writer.metadata
    return Written(keep(lake, name, study, buffer.getvalue(), n_rows), metadata)


def _options(name: str, encoding: str) -> dict[str, Any]:
    dictionaries = ["metric", "trial_id"]
    encodings = {"elapsed_s": "BYTE_STREAM_SPLIT"}
    if name == "records":
        dictionaries += ["step", "previous_step"]
    if encoding == "dictionary":
        dictionaries.append("value")
    else:
        encodings["value"] = "BYTE_STREAM_SPLIT"
    return {
        "compression": {field.name: "zstd" if field.name in _WORTH_COMPRESSING else "none" for field in _SCHEMAS[name]},
        "compression_level": {column: _LEVEL for column in _WORTH_COMPRESSING if column in _SCHEMAS[name].names}
        | ({"value": _LEVEL_OF_SPLIT} if encoding == "split" else {}),
        "use_dictionary": dictionaries,
        "column_encoding": encodings,
        "write_statistics": ["metric"],
        "write_batch_size": _VALUES_AT_ONCE,
        "store_schema": False,
    }

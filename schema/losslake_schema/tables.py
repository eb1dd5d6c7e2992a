"""The tables of a lake as Arrow schemas with Iceberg field ids. The column names are an interface.

`data/tables.toml` lists the columns. Seven tables are in every lake; `contributors` and `copies` are created when a
release first has rows for them. `measurements` and `records` are tidy, one row per (trial, step, metric), partitioned
by study. The others are small: each release has one file per table. Data files of partitioned tables omit the keys of
the study: these are in the path (Hive style, percent-encoded) and in Iceberg's partition data.

A value is the float64 nearest to the log's text, in every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from losslake_schema.package_files import read_toml

NAMESPACE = "losslake"
STUDY_KEYS = ("collection", "dataset", "model", "optimizer", "batch_size")
_TYPES = {
    "text": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "flag": pa.bool_(),
    "texts": pa.list_(pa.string()),
    "numbers by name": pa.map_(pa.string(), pa.float64()),
    "texts by name": pa.map_(pa.string(), pa.string()),
}


def _columns(declared: Mapping[str, Any], groups: Mapping[str, Any]) -> Iterator[tuple[str, pa.DataType, str]]:
    """Yield name, type and description of each column that a table declares, or a group of it."""
    for name, column in declared.items():
        if column is True:
            yield from _columns(groups[name], groups)
        else:
            kind, doc = column
            yield name, _TYPES[kind], doc


def _schema(fields: list[tuple[str, pa.DataType, str]]) -> pa.Schema:
    """Return a schema whose fields have ids from 1 in order; ids of nested fields follow."""
    numbered = []
    next_nested = len(fields) + 1
    for number, (name, kind, doc) in enumerate(fields, start=1):
        if pa.types.is_map(kind):
            key = pa.field("key", kind.key_type, nullable=False, metadata=_identity(next_nested))
            value = pa.field("value", kind.item_type, nullable=False, metadata=_identity(next_nested + 1))
            kind = pa.map_(key, value)
            next_nested += 2
        elif pa.types.is_list(kind):
            kind = pa.list_(pa.field("element", kind.value_type, nullable=False, metadata=_identity(next_nested)))
            next_nested += 1
        numbered.append(pa.field(name, kind, metadata=_identity(number) | {b"doc": doc.encode()}))
    return pa.schema(numbered)


def _identity(number: int) -> dict[bytes, bytes]:
    return {b"PARQUET:field_id": str(number).encode()}


_DECLARED = read_toml("losslake_schema.data", "tables.toml")
ALL_TABLES: dict[str, pa.Schema] = {
    name: _schema(list(_columns(declared, _DECLARED["groups"]))) for name, declared in _DECLARED["tables"].items()
}
COLLECTIONS, STUDIES, TRIALS, MEASUREMENTS, RECORDS, METRICS, GOALS, CONTRIBUTORS, COPIES = ALL_TABLES.values()
# Tables that a release has only if they have rows. Their Iceberg tables are created with the first rows.
OPTIONAL_TABLES: dict[str, pa.Schema] = {"contributors": CONTRIBUTORS, "copies": COPIES}
# The tables that every lake has.
TABLES = {name: schema for name, schema in ALL_TABLES.items() if name not in OPTIONAL_TABLES}
PARTITIONED = ("measurements", "records")


def file_schema(name: str) -> pa.Schema:
    """Return the schema of a table's data files.

    Files of a partitioned table omit the keys of the partition. Their metric, constant in a row group, is a dictionary.
    """
    if name not in PARTITIONED:
        return ALL_TABLES[name]
    metric = pa.dictionary(pa.int32(), pa.string())
    stored = [field for field in TABLES[name] if field.name not in STUDY_KEYS]
    return pa.schema([field.with_type(metric) if field.name == "metric" else field for field in stored])

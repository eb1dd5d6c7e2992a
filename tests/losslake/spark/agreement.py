"""Whether DuckDB and Spark give the same answer: columns of the same types, and the same rows to the last bit."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from pyspark.sql import SparkSession

from losslake.index.view_texts import VIEWS
from losslake.spark.registration import FUNCTIONS
from tests.losslake.spark.hostile import MAXIMIZED, MINIMIZED, UNKNOWN

QUESTIONS = (
    (MINIMIZED, "0.3"),
    (MAXIMIZED, "1e-2"),
    (UNKNOWN, "0.5, direction => 'maximize'"),
    (UNKNOWN, "0.5, direction => 'minimize'"),
    (MINIMIZED, "0.1, direction => 'maximize'"),
    (MINIMIZED, "0.3, comparator => 'inclusive'"),
    (UNKNOWN, "0.5, direction => 'minimize', comparator => 'inclusive'"),
)
MACRO_CALLS = (
    *(f"{macro}('{metric}', {target})" for macro in FUNCTIONS for metric, target in QUESTIONS),
    *(f"steps_to('{MINIMIZED}', 0.3, workload => '*/{part}*/*/*', flagged => 'include')" for part in "m_%"),
)
EVERYTHING = (*VIEWS, *MACRO_CALLS)


def disagreement(connection: duckdb.DuckDBPyConnection, spark: SparkSession, answers: str) -> str | None:
    """What the engines disagree in; answers: a view or the call of a macro, and what may stand behind it in both."""
    statement = f"SELECT * FROM {answers}"
    ours, theirs = connection.sql(statement).to_arrow_table(), spark.sql(statement).toArrow()
    if [(field.name, field.type) for field in _plain(ours.schema)] != [
        (field.name, field.type) for field in _plain(theirs.schema)
    ]:
        return f"{statement}: columns {ours.schema} and {theirs.schema}"
    left, right = _comparable(ours), _comparable(theirs)
    if left.equals(right):
        return None
    only = pl.concat([left.join(right, on=left.columns, how="anti", nulls_equal=True).head(3),
                      right.join(left, on=left.columns, how="anti", nulls_equal=True).head(3)])  # fmt: skip
    return f"{statement}: {len(left)} and {len(right)} rows, among them {only.to_dicts()}"


def _plain(schema: pa.Schema) -> pa.Schema:
    """Without what only Arrow tells apart: the names of elements, and whether there may be nulls."""
    kinds = [
        pa.list_(pa.field("e", field.type.value_type)) if pa.types.is_list(field.type)
        else pa.map_(pa.string(), field.type.item_type) if pa.types.is_map(field.type)
        else field.type
        for field in schema
    ]  # fmt: skip
    return pa.schema([pa.field(name, kind) for name, kind in zip(schema.names, kinds, strict=True)])


def _comparable(table: pa.Table) -> pl.DataFrame:
    """The rows in an order of their own; floats by their bits, of which all NaNs have the same."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_nested(column.type):
            values = pl.Series([repr(value) for value in column.to_pylist()], dtype=pl.String)
        else:
            values = pl.Series(column.combine_chunks() if column.num_chunks else column)
        if values.dtype == pl.Float64:
            bits = values.fill_nan(np.nan).to_numpy().view(np.uint64)
            values = pl.Series(bits).zip_with(values.is_not_null(), pl.Series([None], dtype=pl.UInt64))
        columns[name] = values
    frame = pl.DataFrame(columns)
    return frame.sort(frame.columns)

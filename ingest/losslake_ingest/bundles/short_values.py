"""Values that a float32 states, in half the bytes of a float64.

Trainings calculate in float32 and print the shortest decimal that names it, such as 8.048015. The float64 of that text
has 52 bits of mantissa that look like noise; the float32 has 23, and its shortest decimal gives the same float64 again.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake_schema.reached import Integers

VALUE, SHORT = "value", "value_float32"


def with_short_values(rows: pa.Table) -> pa.Table:
    """Return measurements with a column of float32, and null in `value` where it states the value."""
    values = rows[VALUE].combine_chunks()
    with np.errstate(over="ignore"):
        short = pa.array(values.to_numpy().astype(np.float32))
    is_short = pa.array(_bits(_long(short)) == _bits(values))
    shortened = rows.set_column(
        rows.column_names.index(VALUE), VALUE, pc.if_else(is_short, pa.scalar(None, pa.float64()), values)
    )
    return shortened.append_column(SHORT, pc.if_else(is_short, short, pa.scalar(None, pa.float32())))


def with_long_values(rows: pa.Table) -> pa.Table:
    """Return measurements whose values are all in `value`. Raises ValueError if a row states two."""
    values, short = rows[VALUE], rows[SHORT]
    if pc.any(pc.and_(pc.is_valid(values), pc.is_valid(short))).as_py():
        raise ValueError("a measurement states its value twice")
    joined = pc.coalesce(values, _long(short))
    return rows.set_column(rows.column_names.index(VALUE), VALUE, joined).drop_columns([SHORT])


def _long(short: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the float64 of the shortest decimal of each float32."""
    return pc.cast(pc.cast(short, pa.string()), pa.float64())


def _bits(values: pa.Array) -> Integers:
    """Return the bits of each float64, by which -0.0 is not 0.0 and NaN is equal to itself."""
    return np.asarray(values).view(np.int64)

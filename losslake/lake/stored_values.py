"""Values as data files hold them, `coalesce(value, digits / divisor)`, and as everybody else wants them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

VALUE_COLUMNS = ("digits", "divisor", "value")


def stored_columns(columns: Sequence[str]) -> list[str]:
    """The columns to be read from a data file of measurements or records, so that these can be had from them."""
    return [stored for name in columns for stored in (VALUE_COLUMNS if name == "value" else (name,))]


def with_values(rows: pa.Table) -> pa.Table:
    """Rows of a data file with their values in `value`, if they have that column, and without digits and divisor."""
    if "value" not in rows.column_names:
        return rows
    decimals = pc.divide(rows["digits"], rows["divisor"])
    values = pc.coalesce(rows["value"], decimals) if rows["value"].null_count < len(rows) else decimals
    place = rows.column_names.index("value")
    return rows.set_column(place, "value", values).drop_columns(["digits", "divisor"])

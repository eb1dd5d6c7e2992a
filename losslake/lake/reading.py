"""Reading a small Parquet file whole."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def read_table(source: pa.Buffer | Path, schema: pa.Schema) -> pa.Table:
    """The rows of a file, or of its bytes, that has these columns.

    pyarrow.parquet.read_table would import pyarrow.dataset, and with it pandas, which takes longer than opening a lake.
    """
    with pq.ParquetFile(source) as file:
        return file.read().cast(schema)

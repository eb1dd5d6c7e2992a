"""Reading of small Parquet files: manifests, small tables and lists of files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def read_table(source: pa.Buffer | Path, schema: pa.Schema) -> pa.Table:
    """Return the rows of a Parquet file, or of its bytes, cast to a schema.

    pyarrow.parquet.read_table would import pyarrow.dataset and thus pandas, which takes longer than opening a lake.
    Threads take longer to start than a small file to read, and C++ aborts a command that ends while they start.
    """
    with pq.ParquetFile(source, pre_buffer=False) as file:
        return file.read(use_threads=False).cast(schema)

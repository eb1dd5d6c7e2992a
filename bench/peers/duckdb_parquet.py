"""Plain DuckDB over the release's Parquet files, without records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from bench.peers import hive
from bench.peers.parquet_peer import ParquetPeer
from bench.peers.sql import statement, statements


class DuckdbParquet(ParquetPeer):
    """A peer that reads the folders of a question; Parquet metadata and complete trials are in memory."""

    name, version = "DuckDB, on the Parquet", duckdb.__version__
    note = "the table of trials is in memory, and so is the metadata of files that were read"

    def __init__(self, lake: Path) -> None:
        super().__init__(lake)
        self._connection = duckdb.connect()
        for text in statements("duckdb", "open"):
            self._connection.execute(text, {"trials": hive.trials(lake)} if "$trials" in text else None)

    def _rows(self, name: str, parameters: dict[str, Any]) -> pa.Table:
        return self._connection.sql(statement("duckdb", name), params=parameters).to_arrow_table()

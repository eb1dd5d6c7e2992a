"""chDB, ClickHouse in the process, over the release's Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chdb
import pyarrow as pa
from chdb.session import Session

from bench.peers import hive
from bench.peers.parquet_peer import ParquetPeer
from bench.peers.sql import statement, statements


class ChdbParquet(ParquetPeer):
    """A peer that reads the folders of a question; the list of complete trials is in memory."""

    name = "chDB, on the Parquet"
    note = "the table of trials is in memory"

    def __init__(self, lake: Path) -> None:
        super().__init__(lake)
        self._session = Session()
        (engine,) = self._session.query("SELECT version()", "ArrowTable").to_pydict().values()
        self.version = f"{chdb.__version__} (ClickHouse {engine[0]})"
        for text in statements("chdb", "open"):
            self._session.query(text, params={"trials": hive.trials(lake)} if "{trials:" in text else None)

    def close(self) -> None:
        self._session.close()

    def _rows(self, name: str, parameters: dict[str, Any]) -> pa.Table:
        rows: pa.Table = self._session.query(statement("chdb", name), "ArrowTable", params=parameters)
        return rows

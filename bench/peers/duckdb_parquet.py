"""Plain DuckDB over the release's Parquet files, without records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from bench.peers import hive
from bench.peers.questions import Aim, Best, Curve, Scaling, Sweep
from bench.peers.sql import statement, statements


class DuckdbParquet:
    """Reads the folders of what is asked for; the Parquet metadata and which trials are complete are in memory."""

    name, version, is_cached = "DuckDB, on the Parquet", duckdb.__version__, True
    is_rival = True
    note = "the table of trials is in memory, and so is the metadata of files that were read"

    def __init__(self, lake: Path) -> None:
        self._lake = lake
        self._connection = duckdb.connect()
        for text in statements("duckdb", "open"):
            self._connection.execute(text, {"trials": hive.trials(lake)} if "$trials" in text else None)

    def scaling(self, question: Scaling) -> pa.Table:
        return self._rows("scaling", self._of(question.aim) | {"target": question.target})

    def curve(self, question: Curve) -> pa.Table:
        files = hive.measurements_of_study(self._lake, question.study)
        asked = {"files": files, "metric": question.metric, "trial_id": question.trial.trial_id}
        return self._rows("curve", asked)

    def best(self, question: Best) -> pa.Table:
        return self._rows("best", self._of(question.aim) | {"step_budget": question.step_budget})

    def sweep(self, question: Sweep) -> pa.Table:
        return self._rows("sweep", self._of(question.aim) | {"targets": list(question.targets)})

    def _of(self, aim: Aim) -> dict[str, Any]:
        return {
            "files": hive.measurements_of(self._lake, aim.workload),
            "workload": str(aim.workload),
            "metric": aim.metric,
            "sign": aim.sign,
        }

    def _rows(self, name: str, asked: dict[str, Any]) -> pa.Table:
        return self._connection.sql(statement("duckdb", name), params=asked).to_arrow_table()

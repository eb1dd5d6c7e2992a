"""Plain DuckDB over the release's Parquet files, without records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from bench.peers import parquet
from bench.peers.questions import Aim, Best, Curve, Scaling, Sweep
from bench.peers.sql import statement, statements


class DuckdbParquet:
    """A peer that reads the folders of a question; Parquet metadata and complete trials are in memory."""

    name, is_cached, is_rival = "DuckDB, on the Parquet", True, True

    def __init__(self, lake: Path) -> None:
        self._lake = lake
        self._connection = duckdb.connect()
        for text in statements("duckdb", "open"):
            self._connection.execute(text, {"trials": parquet.trials(lake)} if "$trials" in text else None)

    def scaling(self, question: Scaling) -> pa.Table:
        return self._rows("scaling", self._of(question.aim) | {"target": question.target})

    def curve(self, question: Curve) -> pa.Table:
        files = parquet.measurements_of_study(self._lake, question.study)
        parameters = {"files": files, "metric": question.metric, "trial_id": question.trial.trial_id}
        return self._rows("curve", parameters)

    def best(self, question: Best) -> pa.Table:
        return self._rows("best", self._of(question.aim) | {"step_budget": question.step_budget})

    def sweep(self, question: Sweep) -> pa.Table:
        return self._rows("sweep", self._of(question.aim) | {"targets": list(question.targets)})

    def _of(self, aim: Aim) -> dict[str, Any]:
        return {
            "files": parquet.measurements_of(self._lake, aim.workload),
            "workload": str(aim.workload),
            "metric": aim.metric,
            "sign": aim.sign,
        }

    def _rows(self, name: str, parameters: dict[str, Any]) -> pa.Table:
        return self._connection.sql(statement("duckdb", name), params=parameters).to_arrow_table()

"""chDB, ClickHouse in the process, over the release's Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chdb
import pyarrow as pa
from chdb.session import Session

from bench.peers import hive
from bench.peers.questions import Aim, Best, Curve, Scaling, Sweep
from bench.peers.sql import statement, statements


class ChdbParquet:
    """Reads the folders of what is asked for; which trials are complete is in memory."""

    name, is_cached = "chDB, on the Parquet", True
    is_rival = True
    note = "the table of trials is in memory"

    def __init__(self, lake: Path) -> None:
        self._lake = lake
        self._session = Session()
        (engine,) = self._session.query("SELECT version()", "ArrowTable").to_pydict().values()
        self.version = f"{chdb.__version__} (ClickHouse {engine[0]})"
        for text in statements("chdb", "open"):
            self._session.query(text, params={"trials": hive.trials(lake)} if "{trials:" in text else None)

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

    def close(self) -> None:
        self._session.close()

    def _of(self, aim: Aim) -> dict[str, Any]:
        return {
            "files": hive.measurements_of(self._lake, aim.workload),
            "workload": str(aim.workload),
            "metric": aim.metric,
            "sign": aim.sign,
        }

    def _rows(self, name: str, asked: dict[str, Any]) -> pa.Table:
        rows: pa.Table = self._session.query(statement("chdb", name), "ArrowTable", params=asked)
        return rows

"""SQLite with a table of measurements under integer keys, clustered by study, metric, trial and step."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bench.peers.polars_parquet import PolarsParquet
from bench.peers.questions import Aim, Best, Curve, Scaling, Sweep
from bench.peers.sql import statement, statements

_PRAGMAS = (
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -524288; PRAGMA mmap_size = 68719476736;"
)
_CURVE = pa.schema({"step": pa.int64(), "value": pa.float64()})
_BEST = pa.schema({"batch_size": pa.int64(), "step": pa.int64(), "trial_id": pa.int64(), "value": pa.float64()})
_RESULTS = pa.schema({"target": pa.float64()} | dict(zip(_BEST.names, _BEST.types, strict=True)))


class SqliteTable:
    """Holds the measurements of one metric per workload, of complete trials, in a new file."""

    name, is_cached, is_rival = "SQLite, indexed", True, True

    def __init__(self, file: Path, source: PolarsParquet, aims: Sequence[Aim]) -> None:
        self._connection = sqlite3.connect(file)
        self._connection.executescript(_PRAGMAS)
        for text in statements("sqlite", "tables"):
            self._connection.execute(text)
        for aim in aims:
            self._load(source, aim)
        self._connection.execute("ANALYZE")
        self._connection.commit()

    def scaling(self, question: Scaling) -> pa.Table:
        return self._scalings([question])

    def sweep(self, question: Sweep) -> pa.Table:
        return self._scalings([Scaling(question.aim, target) for target in question.targets])

    def curve(self, question: Curve) -> pa.Table:
        study = question.study
        parameters = {
            "workload": str(study.workload),
            "batch_size": study.batch_size,
            "metric": question.metric,
            "trial_id": question.trial.trial_id,
        }
        rows = self._rows("curve", parameters, _CURVE)
        return rows.set_column(1, "value", pc.fill_null(rows["value"], float("nan")))

    def best(self, question: Best) -> pa.Table:
        aim = question.aim
        parameters = {
            "workload": str(aim.workload),
            "metric": aim.metric,
            "sign": aim.sign,
            "step_budget": question.step_budget,
        }
        return self._rows("best", parameters, _BEST)

    def close(self) -> None:
        self._connection.close()

    def _scalings(self, scalings: Sequence[Scaling]) -> pa.Table:
        goals = [(str(one.aim.workload), one.aim.metric, one.aim.sign, one.target) for one in scalings]
        return self._rows("scaling", {"goals": json.dumps(goals)}, _RESULTS)

    def _rows(self, name: str, parameters: dict[str, Any], schema: pa.Schema) -> pa.Table:
        rows = self._connection.execute(statement("sqlite", name), parameters).fetchall()
        columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
        return pa.table(list(columns), schema=schema)

    def _load(self, source: PolarsParquet, aim: Aim) -> None:
        """Add the measurements of an aim in the order of their keys."""
        run, many = self._connection.execute, self._connection.executemany
        run("INSERT OR IGNORE INTO metrics (metric) VALUES (?)", (aim.metric,))
        ((metric_id,),) = run("SELECT metric_id FROM metrics WHERE metric = ?", (aim.metric,))
        rows = source.measurements(aim)
        for (batch_size,), study_rows in rows.sort("trial_id", "step").partition_by("batch_size", as_dict=True).items():
            added = run("INSERT INTO studies (workload, batch_size) VALUES (?, ?)", (str(aim.workload), batch_size))
            many(
                "INSERT INTO complete VALUES (?, ?)",
                [(added.lastrowid, t) for t in study_rows["trial_id"].unique().sort()],
            )
            columns = (study_rows[name].to_list() for name in ("trial_id", "step", "value"))
            keyed = zip(repeat(added.lastrowid), repeat(metric_id), *columns, strict=False)
            many("INSERT INTO measurements VALUES (?, ?, ?, ?, ?)", keyed)

"""Releases to ask, built straight from rows: the tables of schema `base` from Arrow, no ingest."""

from __future__ import annotations

import atexit
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from itertools import count, groupby
from pathlib import Path
from typing import Any, cast
from weakref import finalize

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.index.derived import may_have_schedules
from losslake.index.measurement_files import batch_of_files, scan
from losslake.index.records import trial_records
from losslake.index.study_files import StudyRecords
from losslake.index.view_texts import sql
from losslake.index.workload_file import NAMES, OpenWorkload, write_workload
from losslake.index.workloads import KnownWorkload, Studies, WorkloadStudies, trials_of, workloads_of
from losslake.lake.store.folder import FolderStore
from losslake.lake.store.store import DataFile
from losslake.output.answer import Answer
from losslake.questions.declaration.question import Question
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import Study, Workload
from losslake_schema.reached import NO_STEP
from losslake_schema.release import Release
from losslake_schema.tables import COPIES, MEASUREMENTS, file_schema
from tests.oracle import Row

WORKLOAD = Workload("tests/rows", "mnist", "cnn", "sgd")
METRIC = "val/loss"  # it can have any value
_DECOY = "val/decoy"
RELEASE = Release(number=1, created_at=datetime(2026, 11, 21, tzinfo=UTC), content_digest="", manifest_sha256="")
OTHER = Workload("tests/rows", "mnist", "cnn", "adam")


def answer_to(
    question: Question, view: ReleaseView, selection: Selection, goal: Goal | None = None, **others: Any
) -> Answer:
    """The answer to a question about a selection and goal; others: its other parameters."""
    assert others.keys() <= question.parameters.model_fields.keys()
    selected = {
        "workload": [str(workload) for workload in selection.workloads],
        "metric": selection.metric,
        "direction": selection.direction,
        "trials": selection.trials,
        "status": list(selection.statuses),
    }
    budgets = {"step_budget": selection.step_budget, "example_budget": selection.example_budget}
    aimed = {} if goal is None else asdict(goal)
    known = {name: budget for name, budget in budgets.items() if budget is not None}
    named = {name: str(value) if isinstance(value, Workload) else value for name, value in others.items()}
    return question.answer(view, question.parameters.model_validate(selected | known | aimed | named))


def view_of(
    rows: Sequence[Row],
    direction: str | None = "minimize",
    folder: Path | None = None,
    of_other: Sequence[Row] | None = None,
    parameters: Callable[[int, int], Mapping[str, float]] | None = None,
    parameter_configs: str = "{}",
    early_stopping: bool | None = None,
    goal: float | None = None,
    goal_of_other: float | None = None,
    comparator: str = "strict",
    train_steps: int = 0,
    later: int = 0,
    unmeasured: Sequence[int] = (),
    batch_units: Mapping[Workload, str] | None = None,
    flagged: Sequence[tuple[int, int]] = (),
    attributes: Mapping[str, str] | Callable[[Workload, int], Mapping[str, str]] | None = None,
    metric: str = METRIC,
) -> ReleaseView:
    """A release whose workload WORKLOAD has these rows of a metric, between two other workloads with hits everywhere.

    direction: the metric's own, for which the records are made. folder: where to write measurements, if needed.
    of_other: rows of the workload OTHER instead of hits everywhere.
    parameters: of trials, by batch size and trial_id. parameter_configs: of every study, as JSON.
    early_stopping: whether every study stops bad trials early. goal, comparator: of WORKLOAD, if it has one.
    goal_of_other: of OTHER.
    train_steps: that trials of every study have to run. batch_units: by workload, if known.
    later: by how many steps another metric goes on in every trial; 0 for no other metric. unmeasured: batch sizes of
    WORKLOAD whose studies have another metric only, whose rows theirs are.
    flagged: trials of WORKLOAD, by batch size and trial_id. attributes: of every trial, or by workload and trial_id,
    as JSON.
    """
    parameters_of = parameters or (lambda _, trial_id: {"learning_rate": 0.1 * trial_id, "momentum": 0.5})
    decoy = [Row(b, t, "COMPLETE", 0, 0.0) for b in (1, 7) for t in (1, 2, 3)]
    workloads = {
        OTHER: decoy if of_other is None else list(of_other),
        WORKLOAD: list(rows),
        Workload("tests/rows", "mnist", "cnn", "zeta"): decoy,
    }
    metrics = [metric, _DECOY] if later or unmeasured else [metric]
    studies: list[dict[str, object]] = []
    trials: list[dict[str, Any]] = []
    records: list[dict[str, object]] = []
    files, store = dict[Study, list[DataFile]](), FolderStore(folder or Path())
    for workload, its_rows in workloads.items():
        ordered = sorted(its_rows, key=lambda r: (r.batch_size, r.trial_id, -1 if r.step is None else r.step))
        for batch_size, of_study in groupby(ordered, key=lambda r: r.batch_size):
            study = list(of_study)
            is_measured = workload != WORKLOAD or batch_size not in unmeasured
            own_metrics = metrics if later else [metric if is_measured else _DECOY]
            keys = dict(zip(("collection", "dataset", "model", "optimizer"), _keys(workload), strict=True))
            facts = {"batch_size": batch_size, "train_steps": train_steps, "parameter_configs": parameter_configs}
            facts |= {"early_stopping": early_stopping, "batch_unit": (batch_units or {}).get(workload)}
            studies.append(
                {"study_id": len(studies) + 1, **keys, **facts, "metrics": own_metrics, "content_digest": ""}
            )
            for trial_id, of_trial in groupby(study, key=lambda r: r.trial_id):
                curve = list(of_trial)
                ids = {"study_id": len(studies), "trial_id": trial_id, "batch_size": batch_size, **keys}
                own = list(parameters_of(batch_size, trial_id).items())
                told = attributes(workload, trial_id) if callable(attributes) else attributes or {}
                trials.append(
                    {
                        **ids,
                        "status": curve[0].status,
                        "last_step": None if curve[-1].step is None else curve[-1].step + later,
                        "parameters": own,
                        "attributes": list(told.items()),
                    }
                )
                records += [{**ids, **record} for record in _records(curve, direction if is_measured else None)]
            if folder is not None:
                name = Study(workload, batch_size)
                files[name] = [_write(folder, name, study, metric)]
    connection = cast(duckdb.DuckDBPyConnection, _Database())
    _fill(connection, "studies", studies)
    _fill(connection, "trials", trials)
    if may_have_schedules({name for trial in trials for name, _ in (*trial["parameters"], *trial["attributes"])}):
        connection.execute(f"DROP TABLE base.schedules; {sql(_SCHEDULES)}")
    known_metrics = [{"metric_id": n, "metric": name, "direction": direction} for n, name in enumerate(metrics, 1)]
    _fill(connection, "metrics", known_metrics)
    keys, others = (
        dict(zip(("collection", "dataset", "model", "optimizer"), _keys(own), strict=True)) for own in (WORKLOAD, OTHER)
    )
    _fill(connection, "flags", [{**keys, "batch_size": b, "trial_id": t} for b, t in flagged])
    goals = [
        {**own, "metric": metric, "target": target, "source": "", "comparator": comparator}
        for own, target in ((keys, goal), (others, goal_of_other))
        if target is not None
    ]
    _fill(connection, "goals", goals)
    of_all = pa.Table.from_pylist(records, _RECORDS)
    workloads_here = [_known(connection, each, of_all, files, later, store) for each in workloads_of(connection)]
    return ReleaseView(RELEASE, connection, workloads_here, store)


class _Database:
    """A connection to a database of its own in the one DuckDB of all views: another DuckDB takes 18 ms.

    It has the empty tables and the views of schema `base`: their texts are parsed and bound once, which takes 25 ms.
    """

    _numbers = count()

    def __init__(self) -> None:
        self._name = f"view_{next(self._numbers)}"
        _duckdb().execute(f"ATTACH ':memory:' AS {self._name}; COPY FROM DATABASE empty TO {self._name} (SCHEMA)")
        self._cursor = self.cursor()
        finalize(self, _detach, self._name).atexit = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        cursor = _duckdb().cursor()
        cursor.execute(f"USE {self._name}")
        return cursor


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    atexit.register(_duckdb.cache_clear)
    connection = duckdb.connect(":memory:")
    connection.execute("SET threads = 1")  # to share out a few rows takes longer than to read them
    connection.execute("ATTACH ':memory:' AS empty; USE empty; CREATE SCHEMA base")
    for name, schema in _TABLES.items():
        given = schema.empty_table()  # noqa: F841
        connection.execute(f"CREATE TABLE base.{name} AS FROM given")
    connection.execute("; ".join(map(sql, ("trial_resources", "trial_schedules", _SCHEDULES))))
    return connection


def _detach(name: str) -> None:
    _duckdb().cursor().execute(f"DETACH {name}")


def _known(
    connection: duckdb.DuckDBPyConnection,
    studies: WorkloadStudies,
    records: pa.Table,
    files: Mapping[Study, Sequence[DataFile]],
    later: int,
    store: FolderStore,
) -> KnownWorkload:
    plain = Studies(studies.workload, studies.first_study, studies.batch_sizes, studies.metrics)
    measured = batch_of_files([[scan(store, file) for file in files.get(study, ())] for study in studies.studies])
    opened = cache(lambda: _in_memory(connection, studies, records, later, measured))
    return KnownWorkload(plain, opened, lambda study: opened().measurements.of_study(study))


def _in_memory(
    connection: duckdb.DuckDBPyConnection,
    studies: WorkloadStudies,
    records: pa.Table,
    later: int,
    measured: pa.RecordBatch,
) -> OpenWorkload:
    sinks = {name: pa.BufferOutputStream() for name in NAMES}
    trials = trials_of(connection, studies)
    of_studies = []
    for study in range(studies.first_study, studies.last_study + 1):
        own = records.filter(pc.equal(records["study_id"], study))
        whole = (own[name].to_numpy() for name in ("trial_id", "step", "previous_step"))
        of_studies.append(StudyRecords(*whole, *(own[name].to_numpy() for name in ("value", "elapsed_s"))))
    of_each = [trial_records(trials, of_studies)] * len(studies.directions)
    last_steps = trials.trials.last_step
    earlier = np.where(last_steps < 0, NO_STEP, last_steps - later)
    ends = {name: earlier for name in studies.metrics[0] if later and name != _DECOY}
    write_workload(lambda name: sinks[name], trials, studies.directions, of_each, ends, measured)
    return OpenWorkload({name: pa.BufferReader(sink.getvalue()) for name, sink in sinks.items()})


_NAMES = [(name, pa.string()) for name in ("collection", "dataset", "model", "optimizer")]
_STUDIES = pa.schema(
    [
        ("study_id", pa.int32()),
        *_NAMES,
        ("batch_size", pa.int64()),
        ("batch_unit", pa.string()),
        ("train_steps", pa.int64()),
        ("parameter_configs", pa.string()),
        ("early_stopping", pa.bool_()),
        ("metrics", pa.list_(pa.string())),
        ("content_digest", pa.string()),
        ("schedule", pa.string()),
    ]
)
_FLAGS = pa.schema([*_NAMES, ("batch_size", pa.int64()), ("trial_id", pa.int64())])
_TRIALS = pa.schema(
    [
        *_NAMES,
        ("batch_size", pa.int64()),
        ("study_id", pa.int32()),
        ("trial_id", pa.int64()),
        ("status", pa.string()),
        ("steps", pa.int64()),
        ("last_step", pa.int64()),
        ("parameters", pa.map_(pa.string(), pa.float64())),
        ("attributes", pa.map_(pa.string(), pa.string())),
    ]
)
_RECORDS = pa.schema(
    [("study_id", pa.int32())]
    + [(name, pa.int64()) for name in ("trial_id", "step", "previous_step")]
    + [("value", pa.float64()), ("elapsed_s", pa.float64())]
)
_METRICS = pa.schema([("metric_id", pa.int16()), ("metric", pa.string()), ("direction", pa.string())])
_GOALS = pa.schema(
    [*_NAMES, ("metric", pa.string()), ("target", pa.float64()), ("source", pa.string()), ("comparator", pa.string())]
)
_MEASUREMENTS = pa.schema([(name, MEASUREMENTS.field(name).type) for name in file_schema("measurements").names])


def _keys(workload: Workload) -> tuple[str, str, str, str]:
    return workload.collection, workload.dataset, workload.model, workload.optimizer


def _records(curve: Sequence[Row], direction: str | None) -> list[dict[str, object]]:
    """The rows of a trial that are strictly better than all before."""
    found: list[dict[str, object]] = []
    best = math.inf
    previous = None
    for row in curve:
        if row.value is not None and direction is not None:
            loss = row.value if direction == "minimize" else -row.value
            if math.isfinite(loss) and loss < best:
                best = loss
                own: dict[str, object] = {
                    "step": row.step,
                    "previous_step": NO_STEP if previous is None else previous,
                    "value": row.value,
                    "elapsed_s": math.nan if row.elapsed_s is None else row.elapsed_s,
                }
                found.append(own)
        previous = row.step
    return found


def _write(folder: Path, study: Study, rows: Sequence[Row], metric: str) -> DataFile:
    """A data file of measurements in its Hive folder, with rows of another metric that nobody should read."""
    path = folder / study.folder() / "part.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [
        {
            "metric": name,
            "trial_id": row.trial_id,
            "step": row.step,
            "value": row.value,
            "elapsed_s": row.elapsed_s,
        }
        for name in (metric, _DECOY)
        for row in rows
        if row.step is not None
    ]
    pq.write_table(pa.Table.from_pylist(columns, _MEASUREMENTS), path)
    place = path.relative_to(folder).as_posix()
    return DataFile("measurements", place, path.stat().st_size, "", len(columns))


_SCHEDULES = "serving/base_schedules"
_TABLES = {
    "studies": _STUDIES,
    "trials": _TRIALS,
    "copies": COPIES,
    "metrics": _METRICS,
    "flags": _FLAGS,
    "goals": _GOALS,
}


def _fill(connection: duckdb.DuckDBPyConnection, name: str, rows: Sequence[object]) -> None:
    if rows:
        # DuckDB finds it by its name, in half the time that register takes.
        given = pa.Table.from_pylist(rows, _TABLES[name])  # noqa: F841
        connection.execute(f"INSERT INTO base.{name} FROM given")

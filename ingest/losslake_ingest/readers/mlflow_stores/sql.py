"""Reader of MLflow's SQL store: the tables `experiments`, `runs`, `metrics`, `params` and `tags`.

Each table is read as a stream ordered by run, so that only one run is in memory.
Sources: mlflow/store/tracking/dbmodels/models.py; for NaN and infinities `sanitize_metric_value` in
sqlalchemy_store.py.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import numpy as np

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.run_log import Damage, RunLog, check_size, is_utf8
from losslake_ingest.readers.mlflow_stores.stored_run import DELETED, Metric, StoredRun, as_floats
from losslake_ingest.readers.sqlite_files.database import SqliteRow, Stream, open_sqlite, text_of
from losslake_ingest.sources.member import Member
from losslake_schema.package_files import read_text

TABLES = frozenset({"experiments", "runs", "metrics", "params", "tags"})
INFINITE = 1.7976931348623157e308
_INFINITIES = "largest float64 read as infinity, since MLflow's SQL store writes infinity that way"
_NOT_UTF8 = "the name of a metric or parameter isn't UTF-8: its unknown characters are escaped"
_NUMBERS = {int, float, bool}
_NOT_NUMBERS = Damage("value of a metric left out: it, its step or its time isn't a number")
_MOST_TEXTS = 2**14


def statement(name: str) -> str:
    """Return one of the SQL statements in the `queries` folder."""
    return read_text("losslake_ingest.readers.mlflow_stores.queries", f"{name}.sql")


def read_tables(
    source: str, path: str, stream: Stream, sha256: str | None, remarks: Mapping[str, int]
) -> Iterator[RunLog | Quarantined]:
    """Yield the runs of a database in order of their ids.

    stream: yields the rows of a statement in chunks. sha256: of the database file; without it, every run gets a digest
    over its rows.
    """
    deleted = sum(int(row[0]) for rows in stream(statement("deleted_runs")) for row in rows)
    metrics, params, tags = (_TableByRun(stream(statement(table))) for table in ("metrics", "params", "tags"))
    for rows in stream(statement("runs")):
        for row in rows:
            run_id = row[0]
            stored = _stored_run(path, row)
            stored.params = _texts(params.of(run_id), stored.remarks)
            stored.tags |= _texts(tags.of(run_id), stored.remarks)
            _add_metrics(stored, metrics.of(run_id))
            if not stored.rows:
                yield Quarantined(source, stored.run, Rule.NO_MEASUREMENTS, "the run has no metrics")
                continue
            stored.remarks.update({DELETED: deleted, **remarks})
            deleted = 0
            log = stored.log({})
            yield replace(log, files={path: sha256 or _digest(log)})
    if metrics.next or params.next or tags.next:
        message = "some metrics, params or tags are not in the order of their runs, and were left out"
        yield Quarantined(source, path, Rule.UNREADABLE_LOG, f"{message}: try `mlflow db upgrade`")


class _TableByRun:
    """A table with rows of every run, read run by run. next: the next run and its rows, None at the end."""

    def __init__(self, chunks: Iterator[Sequence[SqliteRow]]) -> None:
        self._groups = ((run, list(group)) for chunk in chunks for run, group in groupby(chunk, key=itemgetter(0)))
        self.next = next(self._groups, None)

    def of(self, run: object) -> Iterator[list[SqliteRow]]:
        """Yield the rows of a run, if they come next."""
        while self.next is not None and self.next[0] == run:
            yield self.next[1]
            self.next = next(self._groups, None)


def _stored_run(path: str, row: SqliteRow) -> StoredRun:
    *texts, has_user, has_code, has_paths = row
    run_id, name, status, start, experiment_id, experiment = map(_text, texts)
    facts = {"run_id": run_id, "run_name": name, "status": status, "start_time": start}
    private = {"user_id": has_user, "source_name": has_code, "artifact_uri": has_paths}
    facts |= {name: "left out" for name, is_there in private.items() if is_there}
    return StoredRun(f"{path}#{run_id}", facts, experiment, experiment_id)


def _texts(groups: Iterator[list[SqliteRow]], remarks: Counter[str]) -> dict[str, str]:
    """Return the texts of a run by key. Raises MemoryError."""
    texts: dict[str, str] = {}
    for rows in groups:
        texts |= {_text(key) or "": _text(value) or "" for _, key, value in rows}
        remarks[_NOT_UTF8] += sum(_is_damaged(key) for _, key, _ in rows)
        if len(texts) > _MOST_TEXTS:
            raise MemoryError(f"a run has more than {_MOST_TEXTS:,} params or tags")
    return texts


def _add_metrics(stored: StoredRun, groups: Iterator[list[SqliteRow]]) -> None:
    """Add the metrics of a run, each with its rows in order. Raises Refusal."""
    parts: dict[str, list[Metric]] = {}
    n_rows = 0
    for rows in groups:
        n_rows += len(rows)
        check_size(n_rows, 3)
        for key, group in groupby(rows, key=itemgetter(1)):
            stored.remarks[_NOT_UTF8] += _is_damaged(key)
            parts.setdefault(_text(key) or "", []).append(_metric(list(group), stored.remarks))
    for name, pieces in parts.items():
        metric = Metric(*(np.concatenate([piece[at] for piece in pieces]) for at in range(3)))
        if len(metric.values):
            stored.add(name, metric)


def _metric(rows: list[SqliteRow], remarks: Counter[str]) -> Metric:
    """Convert rows to the values as they were logged."""
    columns = list(zip(*rows, strict=True))[2:]
    if any(not set(map(type, column)) <= _NUMBERS for column in columns):
        whole = [row for row in rows if all(type(cell) in _NUMBERS for cell in row[2:])]
        remarks[_NOT_NUMBERS] += len(rows) - len(whole)
        columns = list(zip(*whole, strict=True))[2:] if whole else [()] * 4
    steps, milliseconds, values, is_nan = (as_floats(column) for column in columns)
    infinite = np.abs(values) == INFINITE
    if infinite.any():
        remarks[_INFINITIES] += int(infinite.sum())
        values = np.where(infinite, np.copysign(np.inf, values), values)
    return Metric(steps, milliseconds, np.where(is_nan != 0, np.nan, values))


def _is_damaged(name: object) -> bool:
    return isinstance(name, bytes) and not is_utf8(name)


def _text(value: object) -> str | None:
    return None if value is None else text_of(value)


def _digest(log: RunLog) -> str:
    """Return a digest that changes with the run, for a database that isn't a file."""
    content = (sorted(log.fields.items()), sorted(log.parameters.items()), log.status, log.started_at)
    digest = hashlib.sha256(repr(content).encode("utf-8", "backslashreplace"))
    for name, column in (item for rows in log.rows for item in rows.columns.items()):
        digest.update(f"\0{len(name)} {name} {len(column)} ".encode("utf-8", "backslashreplace"))
        digest.update(column.tobytes())
    return digest.hexdigest()


def read_sqlite(source: str, member: Member) -> Iterator[RunLog | Quarantined]:
    """Yield the runs of an SQLite database. Raises Refusal."""
    advice = "try `mlflow db upgrade`, or --format trackio if it is Trackio's"
    with open_sqlite(member.data, TABLES, advice) as database:
        sha256 = hashlib.sha256(member.data).hexdigest()
        yield from read_tables(source, member.path, database.stream, sha256, database.remarks)

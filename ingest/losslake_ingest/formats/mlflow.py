"""Logs of MLflow: the file store, SQLite files, and PostgreSQL databases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sqlalchemy import Connection, text

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.mlflow_stores.files import META, FileStoreReader, is_of_file_store
from losslake_ingest.readers.mlflow_stores.sql import read_sqlite, read_tables
from losslake_ingest.readers.sqlite_files.database import MAGIC, SUFFIXES, SqliteRow
from losslake_ingest.sources.database import DatabaseSource
from losslake_ingest.sources.member import Member, Source

CHUNK = 10_000
_RUN_IDS = (b"\nrun_id:", b"\nrun_uuid:")
_TRACES_OF_TABLES = (b"latest_metrics", b"experiment_tags", b"registered_models")


class MLflow(BundledFormat):
    """The format of MLflow's tracking stores."""

    name = "mlflow"

    def detect(self, file: Glimpse) -> float:
        """Recognize the meta.yaml of a run, or a database of MLflow."""
        if file.start.startswith(MAGIC):
            is_named_so = "mlflow" in file.path.lower() or "mlruns" in file.path.lower()
            return 0.9 if is_named_so or any(trace in file.start for trace in _TRACES_OF_TABLES) else 0.4
        start = b"\n" + file.start
        return 0.95 if file.name == META and any(run_id in start for run_id in _RUN_IDS) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of all stores in the source."""
        return _read_database(source) if isinstance(source, DatabaseSource) else _read_files(source)


def _read_files(source: Source) -> Iterator[RunLog | Quarantined]:
    """Yield the runs of file stores and SQLite files."""
    reader = FileStoreReader(source)

    def read(member: Member) -> Iterator[RunLog | Quarantined]:
        return read_sqlite(source.name, member) if member.data.startswith(MAGIC) else reader.add(member)

    try:
        yield from read_files(source, _is_wanted, read)
    except SourceBroken:
        yield from reader.flush_broken()
        raise
    yield from reader.flush()


def _is_wanted(path: str) -> bool:
    return path.lower().endswith(SUFFIXES) or is_of_file_store(path)


def _read_database(source: DatabaseSource) -> Iterator[RunLog | Quarantined]:
    """Yield the runs of a database, streamed in one snapshot."""
    with source.connect() as connection:
        yield from read_tables(source.name, source.name, partial(rows_in_chunks, connection), None, {})


def rows_in_chunks(connection: Connection, query: str) -> Iterator[Sequence[SqliteRow]]:
    """Yield the rows of a statement in chunks, through a server-side cursor."""
    # Both sizes are needed: without partitions(CHUNK) one chunk holds all rows, without yield_per fetches are small.
    return connection.execute(text(query), execution_options={"yield_per": CHUNK}).partitions(CHUNK)


FORMAT = MLflow()

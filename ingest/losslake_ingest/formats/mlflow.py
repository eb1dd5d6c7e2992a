"""MLflow: the file store, the SQL store in an SQLite file, and the SQL store in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, text

from losslake_ingest.formats.format import Glimpse, defaults_of, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.mlflow_stores.files import META, FileStoreReader, is_of_file_store
from losslake_ingest.mlflow_stores.sql import MAGIC, SUFFIXES, Row, read_sqlite, read_tables
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import SourceBroken
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.database import DatabaseSource
from losslake_ingest.sources.member import Member, Source

CHUNK = 10_000
_RUN_IDS = (b"\nrun_id:", b"\nrun_uuid:")
_TRACES_OF_TABLES = (b"latest_metrics", b"experiment_tags", b"registered_models")


class MLflow:
    """Runs of MLflow's tracking stores."""

    name = "mlflow"
    reads = "mlruns folders, SQLite files (mlflow.db) and PostgreSQL databases of MLflow"
    needs = "collection, dataset, model, optimizer, batch_size, and which metric is which: MLflow fixes no names"
    defaults = defaults_of("mlflow")

    def detect(self, file: Glimpse) -> float:
        """How surely this is the meta.yaml of a run, or a database of MLflow's."""
        if file.start.startswith(MAGIC):
            is_named_so = "mlflow" in file.path.lower() or "mlruns" in file.path.lower()
            return 0.9 if is_named_so or any(trace in file.start for trace in _TRACES_OF_TABLES) else 0.4
        start = b"\n" + file.start
        return 0.95 if file.name == META and any(run_id in start for run_id in _RUN_IDS) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """The runs of all stores in the source."""
        return _read_database(source) if isinstance(source, DatabaseSource) else _read_files(source)


def _read_files(source: Source) -> Iterator[RunLog | Quarantined]:
    """The runs of file stores and of SQLite files."""
    reader = FileStoreReader(source)

    def read(member: Member) -> Iterator[RunLog | Quarantined]:
        is_database = member.data.startswith(MAGIC)
        return read_sqlite(source.name, member) if is_database else reader.add(member)

    try:
        yield from read_files(source, _is_wanted, read)
    except SourceBroken:
        yield from reader.break_off()
        raise
    yield from reader.hand_on()


def _is_wanted(path: str) -> bool:
    return path.lower().endswith(SUFFIXES) or is_of_file_store(path)


def _read_database(source: DatabaseSource) -> Iterator[RunLog | Quarantined]:
    """The runs of a database, streamed from the server in one snapshot."""
    name = source.name
    with source.connect() as connection:
        yield from read_tables(name, name, lambda query: rows_in_chunks(connection, query), None, {})


def rows_in_chunks(connection: Connection, query: str) -> Iterator[Sequence[Row]]:
    """The rows of a statement in chunks, through a cursor of the server's."""
    # Both sizes: without that of partitions() one chunk would hold all rows, without yield_per a fetch holds few.
    return connection.execute(text(query), execution_options={"yield_per": CHUNK}).partitions(CHUNK)


FORMAT = MLflow()

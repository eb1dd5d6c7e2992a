"""Runs of Trackio: an SQLite file for each project, in which a row is a call of log() with its values as JSON.

Source: trackio, `SQLiteStorage.init_db` in sqlite_storage.py, `serialize_values` in utils.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from operator import itemgetter

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import RunLog, Scalar
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.safe_parsing import flattened, scalars, unix_seconds
from losslake_ingest.readers.sqlite_files import database
from losslake_ingest.readers.sqlite_files.database import MAGIC, SUFFIXES, SqliteRow, text_of
from losslake_ingest.readers.tables.json_table import parse_line, read_json_entries
from losslake_ingest.readers.tables.runs import runs_of
from losslake_ingest.readers.tables.table import TableFile
from losslake_ingest.sources.member import Member, Source

_TABLES = frozenset({"metrics", "configs"})
_ADVICE = "open the project once with a current Trackio, or name the format that it has (losslake formats)"
_DEEPEST = 16
_PRIVATE = "_Username"


class Trackio(BundledFormat):
    """The format of Trackio's databases: one run per run id."""

    name = "trackio"

    def detect(self, file: Glimpse) -> float:
        """Recognize a database by the folder or by its write-ahead log, as its tables come later in the file."""
        if not file.start.startswith(MAGIC):
            return 0.0
        return 0.9 if "trackio" in file.path.lower() else 0.45 if database.is_written_ahead(file.start) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of every database."""

        def runs(member: Member) -> Iterator[RunLog | Quarantined]:
            if member.data.startswith(MAGIC):
                yield from _runs(source.name, member)

        return read_files(source, lambda path: path.lower().endswith(SUFFIXES), runs)


def _runs(source: str, member: Member) -> Iterator[RunLog | Quarantined]:
    """Yield the runs of a database. Raises Refusal."""
    with database.open_sqlite(member.data, _TABLES, _ADVICE) as file:
        configs = {row[0]: row[1:] for rows in file.stream(database.query("trackio_configs")) for row in rows}
        calls = chain.from_iterable(file.stream(database.query("trackio_metrics")))
        sha256 = hashlib.sha256(member.data).hexdigest()
        for run_id, rows in groupby(calls, key=itemgetter(0)):
            run = text_of(run_id)
            names: dict[str, None] = {}
            table = read_json_entries(_blocks(rows, names))
            config, created_at = configs.get(run_id, (b"", b""))
            settings = _settings(config)
            is_private = settings.pop(_PRIVATE, None) is not None
            parameters = {name: value for name, value in settings.items() if not name.startswith("_")}
            for item in runs_of(table, TableFile(source, f"{member.path}#{run}", sha256), None):
                if isinstance(item, Quarantined):
                    yield item
                    continue
                yield replace(
                    item,
                    files={member.path: sha256},
                    fields={**item.fields, "run_id": run, "run_name": next(iter(names)), **parameters},
                    parameters=parameters,
                    started_at=unix_seconds(settings.get("_Created", text_of(created_at))),
                    private=["user name"] if is_private else [],
                    remarks={**item.remarks, **file.remarks},
                )


def _blocks(rows: Iterator[SqliteRow], names: dict[str, None]) -> Iterator[Sequence[object]]:
    """Yield the values of calls in blocks, with their step and time. names: of the run, added to."""
    block: list[object] = []
    for _, run_name, step, time, values in rows:
        names[text_of(run_name)] = None
        logged = parse_line(values) if isinstance(values, bytes) else None
        block.append(None if logged is None else {**logged, "step": step, "timestamp": unix_seconds(text_of(time))})
        if len(block) == 1024:
            yield block
            block = []
    yield block


def _settings(config: object) -> dict[str, Scalar]:
    """Return the values of a run's configuration."""
    document: Mapping[str, object] | None = parse_line(config) if isinstance(config, bytes) else None
    return scalars(flattened(document or {}, _DEEPEST))


FORMAT = Trackio()

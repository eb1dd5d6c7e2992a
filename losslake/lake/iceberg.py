"""Versions of the Iceberg tables: those of a release are staged one by one, and become current in its transaction.

A release tags its snapshots as `release-<number>`, and `main` of every table is the newest release. Metadata files are
written first; the row of each table in the catalog names the current one, and the transaction of the release updates
it, or inserts it in the first release of the table. So a reader of any engine sees a release in all tables or in none,
and a killed ingest leaves only files that nothing refers to.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.serializers import FromInputFile, ToOutputFile
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate, TableUpdate, update_table_metadata
from pyiceberg.typedef import Record
from sqlalchemy import Connection, text
from sqlalchemy.orm import Session

from losslake.lake.catalog import CATALOG, AtomicFileIO, file_io, new_metadata
from losslake.lake.connecting import SECONDS_TO_WRITE, with_retries
from losslake.lake.data_files import WrittenFile
from losslake.lake.lake import WAREHOUSE, Lake
from losslake.lake.snapshots import MissingFiles, write_snapshot
from losslake.lake.store.store import DataFile
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.tables import NAMESPACE, PARTITIONED

ATTEMPTS = 20
_MAKE_CURRENT = (
    "UPDATE iceberg_tables SET metadata_location = :location, previous_metadata_location = :previous "
    "WHERE table_namespace = :namespace AND table_name = :name"
)
_REPLACE, _FOLLOW = text(_MAKE_CURRENT), text(f"{_MAKE_CURRENT} AND metadata_location = :previous")
_ADD = text(
    "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) "
    "VALUES (:catalog, :namespace, :name, :location)"
)

# It warns about columns without statistics, such as those of files without rows.
logging.getLogger("pyiceberg.io.pyarrow").setLevel(logging.ERROR)


@dataclass(frozen=True)
class TableVersion:
    """The current version of a table. location: the URL of its metadata file; empty if the table is new."""

    name: str
    location: str
    metadata: TableMetadata
    io: AtomicFileIO


@dataclass(frozen=True)
class StagedTable:
    """A new version of a table, which no reader sees until `publish` makes it current.

    location, previous: the metadata files of this version and of the one before. outdated: older ones, to be deleted.
    written: all files that were written for this version; sync them first.
    """

    name: str
    location: str
    previous: str
    outdated: tuple[str, ...]
    written: tuple[str, ...]


class TablesChanged(Exception):
    """Another process published a version of a table after this one was staged."""


def current_tables(lake: Lake, names: Collection[str], new: Collection[str] = ()) -> dict[str, TableVersion]:
    """Return the current versions of tables; raise LakeBroken if one is missing or its metadata can't be read.

    new: those that may be missing, as no release has them.
    """
    locations = lake.table_versions()
    tables = {}
    for name in sorted(names):
        io, location = file_io(lake.location), locations.get(name, "")
        if location:
            try:
                metadata = FromInputFile.table_metadata(io.new_input(location))
            except (FileNotFoundError, ValueError) as error:
                raise _broken(lake, name, error) from error
        elif name in new:
            metadata = new_metadata(name, lake.store.url_of(f"{WAREHOUSE}/{NAMESPACE}/{name}"))
        else:
            raise _broken(lake, name, "the catalog doesn't list it")
        tables[name] = TableVersion(name, location, metadata, io)
    return tables


def stage_changes(
    lake: Lake,
    table: TableVersion,
    base: int | None,
    tag: str,
    removed: Sequence[DataFile],
    added: Sequence[WrittenFile],
) -> tuple[StagedTable, int]:
    """Stage a version whose current, tagged snapshot is `base` with these changes; return it and the snapshot's id.

    base: None if the table was never written. Raises LakeBroken if the table lacks the snapshot, or a file to remove.
    """
    metadata = table.metadata
    parent = metadata.snapshot_by_id(base) if base is not None else None
    if base is not None and parent is None:
        raise _broken(lake, table.name, f"it has no snapshot {base}")
    updates: list[TableUpdate] = []
    if parent is None or removed or added:
        gone = [_iceberg_file(lake, metadata, file, {"record_count": file.rows}) for file in removed]
        new = [_iceberg_file(lake, metadata, file, statistics) for file, statistics in _statistics(metadata, added)]
        try:
            parent = write_snapshot(metadata, table.io, parent, gone, new)
        except MissingFiles as error:
            raise _broken(lake, table.name, error) from error
        updates.append(AddSnapshotUpdate(snapshot=parent))
    for name, kind in ((MAIN_BRANCH, SnapshotRefType.BRANCH), (tag, SnapshotRefType.TAG)):
        reference = {"ref-name": name, "type": kind, "snapshot-id": parent.snapshot_id}
        updates.append(SetSnapshotRefUpdate.model_validate(reference))
    return stage(table, updates), parent.snapshot_id


def stage(table: TableVersion, updates: Sequence[TableUpdate]) -> StagedTable:
    """Write the metadata file of a version with these updates."""
    metadata = update_table_metadata(table.metadata, tuple(updates), metadata_location=table.location)
    provider = load_location_provider(metadata.location, metadata.properties)
    number = _number(table.location) + 1 if table.location else 0
    location = provider.new_table_metadata_file_location(number)
    ToOutputFile.table_metadata(metadata, table.io.new_output(location), overwrite=True)
    listed = {entry.metadata_file for entry in metadata.metadata_log}
    earlier = [entry.metadata_file for entry in table.metadata.metadata_log]
    outdated = tuple(url for url in earlier if url not in listed)
    return StagedTable(table.name, location, table.location, outdated, tuple(table.io.written))


def _number(location: str) -> int:
    """Return the number of a version; 0 if another engine named its metadata file otherwise."""
    prefix = location.rpartition("/")[2].partition("-")[0]
    return int(prefix) if prefix.isdecimal() else 0


def sync(lake: Lake, staged: Sequence[StagedTable], others: Sequence[str] = ()) -> None:
    """Return once the files of staged versions, and other files of the store, are durable."""
    lake.store.sync([*others, *_paths(lake, (url for table in staged for url in table.written))])


def publish(session: Session, staged: Sequence[StagedTable]) -> None:
    """Make staged versions current, in the transaction of the session.

    Raises TablesChanged, or IntegrityError for a new table, if others were published.
    """
    for table in staged:
        row = _row(table.name, table.location, table.previous)
        if not table.previous:
            session.connection().execute(_ADD, row | {"catalog": CATALOG})
        elif session.connection().execute(_FOLLOW, row).rowcount != 1:
            raise TablesChanged(table.name)


def add_tables(lake: Lake, names: Collection[str]) -> None:
    """Add those of the tables that the catalog lacks, without snapshots; not safe to run concurrently."""
    missing = set(names) - lake.table_versions().keys()
    staged = [stage(table, ()) for table in current_tables(lake, missing, missing).values()]
    sync(lake, staged)
    with Session(lake.engine) as session:
        publish(session, staged)
        session.commit()


def replace_versions(connection: Connection, versions: Mapping[str, str]) -> None:
    """Make these versions of tables current, by name, whichever are now, without a previous one."""
    for name, location in versions.items():
        connection.execute(_REPLACE, _row(name, location, None))


def _row(name: str, location: str, previous: str | None) -> dict[str, str | None]:
    return {"namespace": NAMESPACE, "name": name, "location": location, "previous": previous}


def delete_outdated(lake: Lake, staged: Sequence[StagedTable]) -> None:
    """Delete metadata files that published versions no longer list; what can't be deleted now, maintenance deletes."""
    outdated = _paths(lake, (url for table in staged for url in table.outdated))
    if outdated:
        with suppress(OSError):
            lake.store.delete(outdated)


def _paths(lake: Lake, urls: Iterable[str]) -> list[str]:
    """Return the paths in the store."""
    return [url.removeprefix(f"{lake.store.url}/") for url in urls]


def change_table(lake: Lake, name: str, updates_of: Callable[[TableVersion], Sequence[TableUpdate]]) -> None:
    """Publish a version of one table with the updates that `updates_of` returns, if any.

    updates_of: called again with the current version if another process published one. Raises LossLakeError after too
    many of these.
    """
    for _ in range(ATTEMPTS):
        table = current_tables(lake, [name])[name]
        updates = updates_of(table)
        if not updates:
            return
        staged = stage(table, updates)
        sync(lake, [staged])
        try:
            with_retries(partial(_publish_alone, lake, staged), SECONDS_TO_WRITE)
        except TablesChanged:
            continue
        delete_outdated(lake, [staged])
        return
    raise LossLakeError(f"other processes kept changing Iceberg's table {name} in {lake}: run the same command again")


def _publish_alone(lake: Lake, staged: StagedTable) -> None:
    # If the answer of a commit was lost, the table has this version already.
    if lake.table_versions()[staged.name] != staged.location:
        with Session(lake.engine) as session:
            publish(session, [staged])
            session.commit()


def _broken(lake: Lake, name: str, reason: object) -> LakeBroken:
    line = next(iter(str(reason).splitlines()), type(reason).__name__)
    remedy = "no release is lost: run the same command again; if it fails again, run 'losslake verify'"
    return LakeBroken(f"Iceberg's table {name} in {lake} can't be changed ({line}); {remedy}")


def _statistics(metadata: TableMetadata, added: Sequence[WrittenFile]) -> Iterator[tuple[DataFile, dict[str, Any]]]:
    """Yield new files with the column statistics in their Parquet footers."""
    columns = compute_statistics_plan(metadata.schema(), metadata.properties)
    mapping = parquet_path_to_id_mapping(metadata.schema())
    for written in added:
        statistics = data_file_statistics_from_parquet_metadata(written.metadata, columns, mapping)
        yield written.file, statistics.to_serialized_dict()


def _iceberg_file(lake: Lake, metadata: TableMetadata, file: DataFile, statistics: dict[str, Any]) -> IcebergFile:
    keys = (file.collection, file.dataset, file.model, file.optimizer, file.batch_size or None)
    iceberg_file = IcebergFile.from_args(
        content=DataFileContent.DATA,
        file_path=lake.store.url_of(file.path),
        file_format=FileFormat.PARQUET,
        partition=Record(*keys) if file.table in PARTITIONED else Record(),
        file_size_in_bytes=file.bytes,
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
        **statistics,
    )
    iceberg_file.spec_id = metadata.default_spec_id
    return iceberg_file

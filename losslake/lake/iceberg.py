"""Committing files to the Iceberg tables, each commit on a branch of its own until its release is published.

An ingest builds on the snapshots of the newest release, not on whatever is at the head of `main`, so what a killed
ingest left behind is never built upon. After the release, `main` moves to its snapshots, which are tagged
`release-<number>`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self, TypeVar

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Summary, UpdateMetrics, update_snapshot_summaries
from pyiceberg.table.update import TableUpdate, _apply_table_update, _TableMetadataUpdateContext
from pyiceberg.table.update.snapshot import ManageSnapshots, _OverwriteFiles
from pyiceberg.typedef import EMPTY_DICT, Record

from losslake.lake.data_files import Written
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_schema.database import Release, ReleaseSnapshot
from losslake_schema.tables import PARTITIONED

ATTEMPTS = 20
T = TypeVar("T")

# It warns of columns without statistics, which those of a file without rows are.
logging.getLogger("pyiceberg.io.pyarrow").setLevel(logging.ERROR)


def commit(
    lake: Lake, name: str, base: int | None, branch: str, removed: Sequence[DataFile], added: Sequence[Written]
) -> int:
    """Commit to one table on `branch`, starting from snapshot `base`; returns the id of the new snapshot."""
    tried: int | None = None

    def change(table: Table, transaction: QuickTransaction) -> int:
        nonlocal tried
        made = table.metadata.refs.get(branch)
        if made is not None and made.snapshot_id == tried:
            return made.snapshot_id  # the attempt came about, although the connection was lost in it
        start = base if base is not None else _empty_snapshot(table)
        ManageSnapshots(transaction).create_branch(start, branch).commit()
        with transaction.replacement(branch) as update:
            tried = update.snapshot_id
            for file in removed:
                update.delete_data_file(_iceberg_file(lake, table, file, {"record_count": file.rows}))
            for file, statistics in _statistics(table, added):
                update.append_data_file(_iceberg_file(lake, table, file, statistics))
        return update.snapshot_id

    return changed(lake, name, change)


def settle(lake: Lake, release: Release, branch: str) -> None:
    """Move `main` of every table to the newest release, tag this release's snapshots and drop the branch."""
    tag = f"release-{release.number}"
    for snapshot in release.snapshots:

        def change(table: Table, transaction: QuickTransaction, snapshot: ReleaseSnapshot = snapshot) -> None:
            newest = lake.release().snapshot_of(snapshot.table)
            if newest is not None and table.metadata.current_snapshot_id != newest:
                ManageSnapshots(transaction).set_current_snapshot(newest).commit()
            if tag not in table.metadata.refs:
                ManageSnapshots(transaction).create_tag(snapshot.snapshot_id, tag).commit()
            _remove_branch(table, transaction, branch)

        changed(lake, snapshot.table, change)


def drop_branch(lake: Lake, names: Sequence[str], branch: str) -> None:
    """Take back commits that did not become a release."""
    for name in names:
        changed(lake, name, partial(_remove_branch, branch=branch))


def changed(lake: Lake, name: str, change: Callable[[Table, QuickTransaction], T]) -> T:
    """Commit what `change` does to a table, and return what it returns.

    change: called again, with the table's newest metadata, while other commits come first.
    """
    attempt = 1
    while True:
        table = lake.table(name)
        try:
            with QuickTransaction(table) as transaction:
                return change(table, transaction)
        except (CommitFailedException, ValueError):
            # PyIceberg raises ValueError when the other commit comes late: "Cannot add snapshot with sequence number".
            if attempt == ATTEMPTS:
                raise
            attempt += 1


def _remove_branch(table: Table, transaction: QuickTransaction, branch: str) -> None:
    if branch in table.metadata.refs:
        ManageSnapshots(transaction).remove_branch(branch).commit()


def _empty_snapshot(table: Table) -> int:
    """The snapshot that a table was made with."""
    return next(s.snapshot_id for s in table.metadata.snapshots if s.parent_snapshot_id is None)


def _statistics(table: Table, added: Sequence[Written]) -> Iterator[tuple[DataFile, dict[str, Any]]]:
    """New files with the column statistics that their Parquet footers hold."""
    columns = compute_statistics_plan(table.schema(), table.properties)
    mapping = parquet_path_to_id_mapping(table.schema())
    for written in added:
        statistics = data_file_statistics_from_parquet_metadata(written.metadata, columns, mapping)
        yield written.file, statistics.to_serialized_dict()


def _iceberg_file(lake: Lake, table: Table, file: DataFile, facts: dict[str, Any]) -> IcebergFile:
    keys = (file.collection, file.dataset, file.model, file.optimizer, file.batch_size)
    described = IcebergFile.from_args(
        content=DataFileContent.DATA,
        file_path=lake.store.url_of(file.path),
        file_format=FileFormat.PARQUET,
        partition=Record(*keys) if file.table in PARTITIONED else Record(),
        file_size_in_bytes=file.bytes,
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
        **facts,
    )
    described.spec_id = table.metadata.default_spec_id
    return described


class QuickTransaction(Transaction):
    """Puts the table's metadata together once for each change, where PyIceberg does it each time that it looks.

    It looks about ten times a change, and copies every snapshot and reference of the table each time. The metadata is
    only looked at, so that nothing has to be copied.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._known: tuple[TableMetadata, tuple[TableUpdate, ...], TableMetadata] | None = None

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    @property
    def table_metadata(self) -> TableMetadata:
        start, updates = self._table.metadata, self._updates
        if self._known is None or self._known[0] is not start or self._known[1] is not updates:
            metadata, context = start, _TableMetadataUpdateContext()
            for update in updates:
                metadata = _apply_table_update(update, metadata, context)
            self._known = start, updates, metadata
        return self._known[2]

    def replacement(self, branch: str) -> _OverwriteFiles:
        """A new snapshot on a branch that is there: files go and files come."""
        return _Replacement(Operation.OVERWRITE, self, self._table.io, branch=branch)


class _Replacement(_OverwriteFiles):
    """Leaves behind the lists of what earlier snapshots removed: PyIceberg would read all of them again each time."""

    def _existing_manifests(self) -> list[ManifestFile]:
        return [m for m in super()._existing_manifests() if m.has_added_files() or m.has_existing_files()]

    def _summary(self, snapshot_properties: Mapping[str, str] = EMPTY_DICT) -> Summary:
        """Without the count of changed partitions, for which PyIceberg would write down the path of each."""
        metrics = UpdateMetrics()
        for file in self._added_data_files:
            metrics.add_file(file)
        for file in self._deleted_data_files:
            metrics.remove_file(file)
        metadata, parent = self._transaction.table_metadata, self._parent_snapshot_id
        previous = metadata.snapshot_by_id(parent) if parent is not None else None
        summary = Summary(self._operation, **metrics.to_dict(), **snapshot_properties)
        return update_snapshot_summaries(summary, previous.summary if previous is not None else None)

"""Commits to the Iceberg tables, each on its own branch until its release is published.

An ingest builds on the snapshots of the newest release, not on the head of `main`, so it never builds on remains of a
killed ingest. After the release, `main` moves to its snapshots, which are tagged `release-<number>`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
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

from losslake.lake.data_files import WrittenFile
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.release import Release
from losslake_schema.tables import OPTIONAL_TABLES, PARTITIONED

ATTEMPTS = 20
T = TypeVar("T")

# It warns about columns without statistics, such as those of files without rows.
logging.getLogger("pyiceberg.io.pyarrow").setLevel(logging.ERROR)


def commit(
    lake: Lake, name: str, base: int | None, branch: str, removed: Sequence[DataFile], added: Sequence[WrittenFile]
) -> int:
    """Commit to one table on `branch`, starting from snapshot `base`; return the id of the new snapshot.

    The table is created if it is an optional one that the lake doesn't have yet.
    """
    if base is None and name in OPTIONAL_TABLES:
        lake.create_table(name)

    def change(table: Table, transaction: QuickTransaction) -> int:
        start = base if base is not None else _empty_snapshot(table)
        ManageSnapshots(transaction).create_branch(start, branch).commit()
        with transaction.replacement(branch) as update:
            for file in removed:
                update.delete_data_file(_iceberg_file(lake, table, file, {"record_count": file.rows}))
            for file, statistics in _statistics(table, added):
                update.append_data_file(_iceberg_file(lake, table, file, statistics))
        return update.snapshot_id

    return commit_change(lake, name, change)


def finalize(lake: Lake, release: Release, branch: str) -> None:
    """Move `main` of every table to the newest release, tag the snapshots of this release and drop the branch."""
    tag = f"release-{release.number}"
    for name, snapshot in release.snapshots.items():

        def change(table: Table, transaction: QuickTransaction, name: str = name, snapshot: int = snapshot) -> None:
            newest = lake.release().snapshots.get(name)
            if newest is not None and table.metadata.current_snapshot_id != newest:
                ManageSnapshots(transaction).set_current_snapshot(newest).commit()
            if tag not in table.metadata.refs:
                ManageSnapshots(transaction).create_tag(snapshot, tag).commit()
            _remove_branch(table, transaction, branch)

        commit_change(lake, name, change)


def drop_branch(lake: Lake, names: Sequence[str], branch: str) -> None:
    """Drop the branch of commits that did not become a release."""
    existing = lake.table_names()
    for name in [name for name in names if name in existing]:
        commit_change(lake, name, partial(_remove_branch, branch=branch))


def commit_change(lake: Lake, name: str, change: Callable[[Table, QuickTransaction], T]) -> T:
    """Commit the changes that `change` makes to a table, and return its result.

    change: repeated with the newest metadata of the table after a conflicting commit. Raises LossLakeError after too
    many conflicts, and LakeBroken where the table lacks what the release says.
    """
    attempt = 1
    while True:
        try:
            table = lake.table(name)
            transaction = QuickTransaction(table)
            with transaction:
                return change(table, transaction)
        except (CommitFailedException, ValueError) as error:
            # PyIceberg raises ValueError for a late conflict: "Cannot add snapshot with sequence number".
            if attempt == ATTEMPTS:
                raise LossLakeError(_problem(lake, name, error)) from error
            attempt += 1
        except (NoSuchTableError, ValidationException) as error:
            raise LakeBroken(_problem(lake, name, error)) from error


def _problem(lake: Lake, name: str, error: Exception) -> str:
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    remedy = "run the same command again; if it fails again, run 'losslake verify'"
    return f"Iceberg's table {name} in {lake} can't be changed ({reason}); no release is lost: {remedy}"


def _remove_branch(table: Table, transaction: QuickTransaction, branch: str) -> None:
    if branch in table.metadata.refs:
        ManageSnapshots(transaction).remove_branch(branch).commit()


def _empty_snapshot(table: Table) -> int:
    """Return the id of the empty snapshot that a table was created with."""
    return next(s.snapshot_id for s in table.metadata.snapshots if s.parent_snapshot_id is None)


def _statistics(table: Table, added: Sequence[WrittenFile]) -> Iterator[tuple[DataFile, dict[str, Any]]]:
    """Yield new files with the column statistics in their Parquet footers."""
    columns = compute_statistics_plan(table.schema(), table.properties)
    mapping = parquet_path_to_id_mapping(table.schema())
    for written in added:
        statistics = data_file_statistics_from_parquet_metadata(written.metadata, columns, mapping)
        yield written.file, statistics.to_serialized_dict()


def _iceberg_file(lake: Lake, table: Table, file: DataFile, statistics: dict[str, Any]) -> IcebergFile:
    keys = (file.collection, file.dataset, file.model, file.optimizer, file.batch_size)
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
    iceberg_file.spec_id = table.metadata.default_spec_id
    return iceberg_file


class QuickTransaction(Transaction):
    """A transaction that computes the table's metadata once per change.

    PyIceberg computes it at each access, about ten times per change, and copies every snapshot and reference each time.
    The metadata is only read, so it can be shared.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._cached: tuple[TableMetadata, tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        """The metadata of the table with the changes so far."""
        start, updates = self._table.metadata, self._updates
        if self._cached is None or self._cached[0] is not start or self._cached[1] is not updates:
            metadata, context = start, _TableMetadataUpdateContext()
            for update in updates:
                metadata = _apply_table_update(update, metadata, context)
            self._cached = start, updates, metadata
        return self._cached[2]

    def replacement(self, branch: str) -> _OverwriteFiles:
        """Return a new snapshot on an existing branch, in which files can be added and removed."""
        return _Replacement(Operation.OVERWRITE, self, self._table.io, branch=branch)


class _Replacement(_OverwriteFiles):
    """A snapshot without the manifests of files removed earlier, all of which PyIceberg would read at each commit."""

    def _existing_manifests(self) -> list[ManifestFile]:
        return [m for m in super()._existing_manifests() if m.has_added_files() or m.has_existing_files()]

    def _build_manifest_evaluator(self, spec_id: int) -> Callable[[ManifestFile], bool]:
        """Return an evaluator for several threads; PyIceberg's own mixes the manifests that they evaluate at once."""
        evaluate, lock = super()._build_manifest_evaluator(spec_id), Lock()

        def evaluate_alone(manifest: ManifestFile) -> bool:
            with lock:
                return evaluate(manifest)

        return evaluate_alone

    def _summary(self, snapshot_properties: Mapping[str, str] = EMPTY_DICT) -> Summary:
        """Return the summary without the number of changed partitions, which is slow to compute."""
        metrics = UpdateMetrics()
        for file in self._added_data_files:
            metrics.add_file(file)
        for file in self._deleted_data_files:
            metrics.remove_file(file)
        metadata, parent = self._transaction.table_metadata, self._parent_snapshot_id
        previous = metadata.snapshot_by_id(parent) if parent is not None else None
        summary = Summary(self._operation, **metrics.to_dict(), **snapshot_properties)
        return update_snapshot_summaries(summary, previous.summary if previous is not None else None)

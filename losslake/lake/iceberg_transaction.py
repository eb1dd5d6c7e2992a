"""A transaction of PyIceberg that takes no longer for a table of many releases than its changes take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Summary, UpdateMetrics, update_snapshot_summaries
from pyiceberg.table.update import TableUpdate, _apply_table_update, _TableMetadataUpdateContext
from pyiceberg.table.update.snapshot import _OverwriteFiles
from pyiceberg.typedef import EMPTY_DICT


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

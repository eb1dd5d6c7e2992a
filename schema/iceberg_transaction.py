"""A transaction of PyIceberg that takes no longer for a table of many releases than its changes take."""

from __future__ import annotations

from typing import Self

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import TableUpdate, _apply_table_update, _TableMetadataUpdateContext
from pyiceberg.table.update.snapshot import _OverwriteFiles


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

"""Iceberg's snapshots: those that no release needs are expired, with the branches that killed ingests left behind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRef
from pyiceberg.table.update.snapshot import ExpireSnapshots, ManageSnapshots

from losslake.lake.iceberg import ATTEMPTS, QuickTransaction
from losslake.lake.lake import Lake
from losslake.lake.maintenance.unlisting import Terms
from losslake_schema.database import Release

_BRANCH = re.compile(r"(ingest|adopt|compact)-[0-9a-f]{32}")
_TAG = re.compile(r"release-([0-9]+)")


@dataclass(frozen=True)
class Expired:
    """The snapshots of a table that go, and the names that go with them: tags of releases, and left-over branches."""

    snapshots: tuple[int, ...]
    tags: tuple[str, ...]
    branches: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.snapshots or self.tags or self.branches)


def expire(lake: Lake, name: str, terms: Terms) -> Expired:
    """Expire what no release needs of the snapshots of one table. Other engines' tags and branches stay."""
    for attempt in range(1, ATTEMPTS + 1):
        table = lake.table(name)
        # Read after the table: an ingest drops its branch only when its release is there.
        found = expired(table.metadata, lake.releases(unlisted=True), terms)
        if terms.only_look or not found:
            return found
        try:
            with QuickTransaction(table) as transaction:
                names = ManageSnapshots(transaction)
                for tag in found.tags:
                    names.remove_tag(tag)
                for branch in found.branches:
                    names.remove_branch(branch)
                names.commit()
                ExpireSnapshots(transaction).by_ids(list(found.snapshots)).commit()
            return found
        except (CommitFailedException, ValueError):
            if attempt == ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def expired(metadata: TableMetadata, releases: Sequence[Release], terms: Terms) -> Expired:
    """What may go of a table's snapshots. releases: all that there ever were."""
    made_at = {s.snapshot_id: s.timestamp_ms for s in metadata.snapshots}
    before = terms.before.timestamp() * 1000
    gone = {release.number for release in releases if not terms.needs(release)}
    tags = tuple(name for name, ref in metadata.refs.items() if _is_tag_of(name, ref, gone))
    branches = tuple(
        name
        for name, ref in metadata.refs.items()
        if _BRANCH.fullmatch(name) and made_at.get(ref.snapshot_id, before) < before
    )
    kept = {ref.snapshot_id for name, ref in metadata.refs.items() if name not in tags and name not in branches}
    table = metadata.location.rpartition("/")[2]
    kept |= {release.snapshot_of(table) or 0 for release in releases if terms.needs(release)}
    # The empty one that the table was made with is what a first release branches from.
    kept.add(min(metadata.snapshots, key=lambda s: s.sequence_number or 0).snapshot_id)
    going = [snapshot for snapshot, at in made_at.items() if snapshot not in kept and at < before]
    return Expired(tuple(going), tags, branches)


def _is_tag_of(name: str, ref: SnapshotRef, releases: set[int]) -> bool:
    match = _TAG.fullmatch(name)
    return match is not None and ref.snapshot_ref_type == "tag" and int(match[1]) in releases

"""All that a lake's maintenance deletes, in an order in which it may be killed at any time."""

from __future__ import annotations

from dataclasses import dataclass

from losslake.index.maintenance.local_files import delete_downloads, delete_serving_files
from losslake.index.maintenance.shared_files import delete_shared_serving_files
from losslake.lake import iceberg
from losslake.lake.lake import Lake
from losslake.lake.maintenance.orphans import delete_orphans
from losslake.lake.maintenance.snapshots import expire
from losslake.lake.maintenance.terms import Terms
from losslake_schema.tables import TABLES


@dataclass(frozen=True)
class Gone:
    """So many of a kind, and their bytes."""

    count: int
    bytes: int


@dataclass(frozen=True)
class Cleaned:
    """What went. snapshots: of Iceberg, in all tables; branches: left over by killed ingests."""

    snapshots: int
    branches: int
    orphans: Gone
    serving_files: Gone
    downloads: Gone


def clean(lake: Lake, terms: Terms) -> Cleaned:
    """Delete whatever nothing needs. Raises LakeBroken, before any file goes, where that can't be told."""
    newest = lake.newest_release()
    if newest is not None and not terms.only_look:
        # An ingest that was killed after it published may have left Iceberg's `main` behind.
        iceberg.settle(lake, newest, "")
    expired = [expire(lake, name, terms) for name in TABLES]
    orphans = delete_orphans(lake, terms)
    serving = [file.bytes for file in delete_serving_files(lake, terms)]
    serving += [file.bytes for file in delete_shared_serving_files(lake, terms)]
    downloads = delete_downloads(lake, terms)
    return Cleaned(
        snapshots=sum(len(each.snapshots) for each in expired),
        branches=len({branch for each in expired for branch in each.branches}),
        orphans=Gone(len(orphans), sum(file.bytes for file in orphans)),
        serving_files=Gone(len(serving), sum(serving)),
        downloads=Gone(len(downloads), sum(file.bytes for file in downloads)),
    )

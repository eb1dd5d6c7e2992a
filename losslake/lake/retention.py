"""Retention: unlisting releases, and deleting what no listed release needs.

An unlisted release can't be opened. Its files, and the remains of killed ingests, are deleted after a grace time: first
Iceberg's snapshots that no release needs, then the files that nothing needs. Whatever Iceberg, a listed release or a
running ingest may need stays.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

from pyiceberg.manifest import ManifestFile, read_manifest_list
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import RemoveSnapshotRefUpdate, RemoveSnapshotsUpdate, TableUpdate
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from losslake.lake.connecting import SECONDS_TO_WRITE, with_retries
from losslake.lake.iceberg import TableVersion, change_table, current_tables
from losslake.lake.lake import WAREHOUSE, Lake
from losslake.lake.manifest import manifest_table
from losslake.lake.store.store import StoredFile
from losslake_schema.database import ReleaseRow
from losslake_schema.errors import LakeBroken, LossLakeError, UnknownRelease
from losslake_schema.release import Release

_BRANCH = re.compile(r"(ingest|adopt|compact)-[0-9a-f]{32}")
_TAG = re.compile(r"release-([0-9]+)")
_FOLDERS = (WAREHOUSE, "releases")
_DELETE_BATCH = 1000


def to_unlist(lake: Lake, keep: int | None, numbers: Collection[int]) -> list[int]:
    """Return the numbers of the releases to unlist, ascending: `numbers`, and with `keep` all but the newest `keep`.

    Raises UnknownRelease for a number that never existed, and LossLakeError for the newest release.
    """
    listed = [release.number for release in lake.releases()]
    for number in sorted(numbers):
        if lake.find_release(number) is None:
            raise UnknownRelease(f"there is no release {number}: 'losslake releases' lists them")
    if listed and listed[0] in numbers:
        raise LossLakeError(f"release {listed[0]} is the newest and can't be unlisted: unlist older ones")
    selected = set(numbers) | (set(listed[keep:]) if keep is not None else set())
    return sorted(selected.intersection(listed))


def unlist(lake: Lake, numbers: Sequence[int]) -> None:
    """Unlist releases permanently, in one transaction; the newest release always stays listed."""
    newest = select(func.max(ReleaseRow.number)).scalar_subquery()

    def work() -> None:
        with Session(lake.engine) as session:
            selected = ReleaseRow.number.in_(numbers) & ReleaseRow.unlisted_at.is_(None) & (ReleaseRow.number < newest)
            session.execute(
                update(ReleaseRow).where(selected).values(unlisted_at=datetime.now(UTC)),
                execution_options={"synchronize_session": False},
            )
            session.commit()

    if numbers:
        with_retries(work, SECONDS_TO_WRITE)


@dataclass(frozen=True)
class RetentionPolicy:
    """The rules for deletion.

    before: only what has been unneeded since this time is deleted. unlisting: releases to treat as unlisted before.
    dry_run: delete nothing.
    """

    before: datetime
    unlisting: frozenset[int] = frozenset()
    dry_run: bool = False

    def needs(self, release: Release) -> bool:
        """Return True if the files of a release stay: while it is listed, and for the grace time after."""
        if release.number in self.unlisting:
            return False
        return release.unlisted_at is None or release.unlisted_at > self.before


@dataclass(frozen=True)
class Expired:
    """The snapshots of a table to expire, with the tags of their releases.

    branches: of ingests that were killed, which earlier versions of LossLake made.
    """

    snapshots: tuple[int, ...]
    tags: tuple[str, ...]
    branches: tuple[str, ...]


def expire(lake: Lake, name: str, policy: RetentionPolicy) -> Expired:
    """Expire the snapshots of one table that no release needs. Tags and branches of other engines stay."""
    expired = Expired((), (), ())

    def updates_of(table: TableVersion) -> list[TableUpdate]:
        nonlocal expired
        # Releases are read after the table: each that published one of its snapshots is among them.
        expired = _expired(table.metadata, lake.releases(include_unlisted=True), policy)
        if policy.dry_run:
            return []
        names = [{"ref-name": name} for name in (*expired.tags, *expired.branches)]
        updates: list[TableUpdate] = [RemoveSnapshotRefUpdate.model_validate(name) for name in names]
        if expired.snapshots:
            updates.append(RemoveSnapshotsUpdate.model_validate({"snapshot-ids": [*expired.snapshots]}))
        return updates

    change_table(lake, name, updates_of)
    return expired


def _expired(metadata: TableMetadata, releases: Sequence[Release], policy: RetentionPolicy) -> Expired:
    """Return the snapshots of a table to expire. releases: all that were ever published."""
    created_at = {s.snapshot_id: s.timestamp_ms for s in metadata.snapshots}
    before = policy.before.timestamp() * 1000
    tags, branches = [], []
    gone = {release.number for release in releases if not policy.needs(release)}
    for name, ref in metadata.refs.items():
        tag = _TAG.fullmatch(name)
        if tag is not None and ref.snapshot_ref_type == "tag" and int(tag[1]) in gone:
            tags.append(name)
        elif _BRANCH.fullmatch(name) and created_at.get(ref.snapshot_id, before) < before:
            branches.append(name)
    needed = {ref.snapshot_id for name, ref in metadata.refs.items() if name not in (*tags, *branches)}
    table = metadata.location.rpartition("/")[2]
    needed |= {release.snapshots.get(table) or 0 for release in releases if policy.needs(release)}
    expired = [snapshot for snapshot, at in created_at.items() if snapshot not in needed and at < before]
    return Expired(tuple(expired), tuple(tags), tuple(branches))


def delete_orphans(lake: Lake, policy: RetentionPolicy) -> list[StoredFile]:
    """Delete the unneeded files that are older than the grace time, and return them; raise LakeBroken if in doubt."""
    # Files are listed first: those of a release that is published in the meantime count as live.
    old = [file for folder in _FOLDERS for file in lake.store.list_files(folder) if file.modified < policy.before]
    newest, live = lake.newest_release(), _live_files(lake, policy)
    orphans = [file for file in old if file.path not in live]
    if policy.dry_run:
        return orphans
    deleted: list[StoredFile] = []
    for start in range(0, len(orphans), _DELETE_BATCH):
        latest = lake.newest_release()
        if latest != newest:
            newest, live = latest, _live_files(lake, policy)
        batch = [file for file in orphans[start : start + _DELETE_BATCH] if file.path not in live]
        lake.store.delete([file.path for file in batch])
        deleted += batch
    return deleted


def _live_files(lake: Lake, policy: RetentionPolicy) -> set[str]:
    """Return the paths of all needed files in the store.

    Raises LakeBroken if they can't be determined: the file list of a listed release is missing or altered, or Iceberg
    refers to a file outside of the lake.
    """
    tables = current_tables(lake, lake.table_versions())
    releases = lake.releases(include_unlisted=True)  # after the tables: see `expire`
    needed = [release for release in releases if policy.needs(release)]
    live = _files_of(lake, needed)
    here = f"{lake.store.url}/"
    for name, table in tables.items():
        snapshots = {release.snapshots.get(name) for release in needed}
        for url in _iceberg_files(table, {*_expired(table.metadata, releases, policy).snapshots}, snapshots):
            if not url.startswith(here):
                raise LakeBroken(f"Iceberg refers to a file outside of the lake, {url}: nothing was deleted")
            live.add(url.removeprefix(here))
    return live


def _files_of(lake: Lake, releases: Iterable[Release]) -> set[str]:
    """Return the paths of the file lists of releases and of the files in them; skip missing lists of unlisted ones."""
    live: set[str] = set()
    for release in releases:
        try:
            table = manifest_table(lake.store, release.manifest, release.manifest_sha256)
        except LakeBroken:
            if release.unlisted_at is None:
                raise
            continue
        live.add(release.manifest)
        live.update(table["path"].to_pylist())
    return live


def _iceberg_files(table: TableVersion, expired: set[int], of_releases: set[int | None]) -> Iterator[str]:
    """Yield the URLs of a table's metadata files, and of data files in snapshots that belong to no release."""
    metadata = table.metadata
    yield table.location
    # A reader may be using an earlier version; later commits delete these.
    yield from (entry.metadata_file for entry in metadata.metadata_log)
    yield from (file.statistics_path for file in (*metadata.statistics, *metadata.partition_statistics))
    staying = [snapshot for snapshot in metadata.snapshots if snapshot.snapshot_id not in expired]
    lists = {snapshot.manifest_list: snapshot.snapshot_id in of_releases for snapshot in staying}
    yield from lists

    def manifests(url: str) -> list[ManifestFile]:
        return list(read_manifest_list(table.io.new_input(url)))

    with ThreadPoolExecutor(8, "manifest lists") as pool:
        for is_of_release, listed in zip(lists.values(), pool.map(manifests, lists), strict=True):
            yield from (manifest.manifest_path for manifest in listed)
            if not is_of_release:
                entries = chain.from_iterable(manifest.fetch_manifest_entry(table.io) for manifest in listed)
                yield from (entry.data_file.file_path for entry in entries)

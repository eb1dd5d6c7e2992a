"""What a lake keeps: taking releases out of the list, and deleting what no listed release needs.

A release that was taken out of the list can't be opened any more. Its files, like those that killed ingests left
behind, go after a grace time: first Iceberg's snapshots that no release needs, then the files that nothing needs. What
Iceberg, a listed release or an ingest that is under way may need stays.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

from pyiceberg.manifest import ManifestFile, read_manifest_list
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update.snapshot import ExpireSnapshots, ManageSnapshots
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from losslake.lake.connecting import SECONDS_TO_WRITE, patiently
from losslake.lake.iceberg import QuickTransaction, changed
from losslake.lake.lake import WAREHOUSE, Lake
from losslake.lake.manifest import manifest_table
from losslake.lake.store.store import StoredFile
from losslake_schema.database import Release
from losslake_schema.errors import LakeBroken, LossLakeError, UnknownRelease
from losslake_schema.tables import TABLES

_BRANCH = re.compile(r"(ingest|adopt|compact)-[0-9a-f]{32}")
_TAG = re.compile(r"release-([0-9]+)")
_FOLDERS = (WAREHOUSE, "releases")
_READ_AT_ONCE = 8
_DELETED_AT_ONCE = 1000


def to_unlist(lake: Lake, keep: int | None, numbers: Collection[int]) -> list[int]:
    """Return the listed releases to be unlisted, ascending: these, and with `keep` all but so many of the newest.

    Raises UnknownRelease for a number that there never was, and LossLakeError for that of the newest release.
    """
    listed = [release.number for release in lake.releases()]
    for number in sorted(numbers):
        if lake.release_ever(number) is None:
            raise UnknownRelease(f"there is no release {number}: 'losslake releases' lists them")
    if listed and listed[0] in numbers:
        raise LossLakeError(f"release {listed[0]} is the newest, which stays: unlist older ones")
    wanted = set(numbers) | (set(listed[keep:]) if keep is not None else set())
    return sorted(wanted.intersection(listed))


def unlist(lake: Lake, numbers: Sequence[int]) -> None:
    """Take releases out of the list for good, all at once; the newest never is."""
    newest = select(func.max(Release.number)).scalar_subquery()

    def work() -> None:
        with Session(lake.engine) as session:
            wanted = Release.number.in_(numbers) & Release.unlisted_at.is_(None) & (Release.number < newest)
            session.execute(
                update(Release).where(wanted).values(unlisted_at=datetime.now(UTC)),
                execution_options={"synchronize_session": False},
            )
            session.commit()

    if numbers:
        patiently(work, SECONDS_TO_WRITE)


@dataclass(frozen=True)
class Terms:
    """before: only what nothing has needed since this moment may go. unlisting: releases that go as if unlisted now."""

    before: datetime
    unlisting: frozenset[int] = frozenset()
    only_look: bool = False

    def needs(self, release: Release) -> bool:
        """Return whether the files of a release stay: as long as it is listed, and for the grace time after."""
        if release.number in self.unlisting:
            return False
        return release.unlisted_at is None or release.unlisted_at > self.before


@dataclass(frozen=True)
class Expired:
    """The snapshots of a table that go, and the names that go with them: tags of releases, and left-over branches."""

    snapshots: tuple[int, ...]
    tags: tuple[str, ...]
    branches: tuple[str, ...]


def expire(lake: Lake, name: str, terms: Terms) -> Expired:
    """Expire what no release needs of the snapshots of one table. Other engines' tags and branches stay."""

    def change(table: Table, transaction: QuickTransaction) -> Expired:
        # Read after the table: an ingest drops its branch only when its release is there.
        going = _expired(table.metadata, lake.releases(unlisted=True), terms)
        if not terms.only_look and (going.snapshots or going.tags or going.branches):
            names = ManageSnapshots(transaction)
            for tag in going.tags:
                names.remove_tag(tag)
            for branch in going.branches:
                names.remove_branch(branch)
            names.commit()
            ExpireSnapshots(transaction).by_ids(list(going.snapshots)).commit()
        return going

    return changed(lake, name, change)


def _expired(metadata: TableMetadata, releases: Sequence[Release], terms: Terms) -> Expired:
    """Return what may go of a table's snapshots. releases: all that there ever were."""
    made_at = {s.snapshot_id: s.timestamp_ms for s in metadata.snapshots}
    before = terms.before.timestamp() * 1000
    tags, branches = [], []
    gone = {release.number for release in releases if not terms.needs(release)}
    for name, ref in metadata.refs.items():
        tag = _TAG.fullmatch(name)
        if tag is not None and ref.snapshot_ref_type == "tag" and int(tag[1]) in gone:
            tags.append(name)
        elif _BRANCH.fullmatch(name) and made_at.get(ref.snapshot_id, before) < before:
            branches.append(name)
    kept = {ref.snapshot_id for name, ref in metadata.refs.items() if name not in (*tags, *branches)}
    table = metadata.location.rpartition("/")[2]
    kept |= {release.snapshot_of(table) or 0 for release in releases if terms.needs(release)}
    # The empty one that the table was made with is what a first release branches from.
    kept.add(min(metadata.snapshots, key=lambda s: s.sequence_number or 0).snapshot_id)
    going = [snapshot for snapshot, at in made_at.items() if snapshot not in kept and at < before]
    return Expired(tuple(going), tuple(tags), tuple(branches))


def delete_orphans(lake: Lake, terms: Terms) -> list[StoredFile]:
    """Delete every file that nothing needs and that is older than the grace time; returns them. Raises LakeBroken."""
    # Listed first: whatever is published meanwhile is live then.
    old = [file for folder in _FOLDERS for file in lake.store.listed(folder) if file.modified < terms.before]
    newest = lake.newest_release()
    live = _live_files(lake, terms)
    orphans = [file for file in old if file.path not in live]
    if terms.only_look:
        return orphans
    deleted: list[StoredFile] = []
    for start in range(0, len(orphans), _DELETED_AT_ONCE):
        published = _files_of(lake, _published_since(lake, newest))
        going = [file for file in orphans[start : start + _DELETED_AT_ONCE] if file.path not in published]
        lake.store.delete([file.path for file in going])
        deleted += going
    return deleted


def _published_since(lake: Lake, release: Release | None) -> Sequence[Release]:
    number, latest = release.number if release is not None else 0, lake.newest_release()
    if latest is None or latest.number <= number:
        return ()
    return [release for release in lake.releases() if release.number > number]


def _live_files(lake: Lake, terms: Terms) -> set[str]:
    """Return the paths of all files in the store that stay, however old they are.

    Raises LakeBroken when it can't be told: the file list of a listed release is missing or altered, or Iceberg names a
    file elsewhere.
    """
    tables = [lake.table(name) for name in TABLES]
    releases = lake.releases(unlisted=True)  # after the tables: see `expire`
    needed = [release for release in releases if terms.needs(release)]
    live = _files_of(lake, needed)
    here = f"{lake.store.url}/"
    for name, table in zip(TABLES, tables, strict=True):
        of_releases = {release.snapshot_of(name) for release in needed}
        for url in _named_by(table, {*_expired(table.metadata, releases, terms).snapshots}, of_releases):
            if not url.startswith(here):
                raise LakeBroken(f"Iceberg names a file outside of the lake, {url}: nothing is deleted")
            live.add(url.removeprefix(here))
    return live


def _files_of(lake: Lake, releases: Iterable[Release]) -> set[str]:
    """Return the file lists of releases and the data files on them; of an unlisted release, what is there still."""
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


def _named_by(table: Table, going: set[int], of_releases: set[int | None]) -> Iterator[str]:
    """Iceberg's own files of one table, and the data files of the snapshots that are no release's."""
    metadata = table.metadata
    yield table.metadata_location
    # Somebody may just have looked up an earlier version; the next commits delete these by themselves.
    yield from (entry.metadata_file for entry in metadata.metadata_log)
    yield from (file.statistics_path for file in (*metadata.statistics, *metadata.partition_statistics))
    staying = [snapshot for snapshot in metadata.snapshots if snapshot.snapshot_id not in going]
    lists = {snapshot.manifest_list: snapshot.snapshot_id in of_releases for snapshot in staying}
    yield from lists

    def manifests(url: str) -> list[ManifestFile]:
        return list(read_manifest_list(table.io.new_input(url)))

    with ThreadPoolExecutor(_READ_AT_ONCE, "manifest lists") as pool:
        for is_of_release, listed in zip(lists.values(), pool.map(manifests, lists), strict=True):
            yield from (manifest.manifest_path for manifest in listed)
            if not is_of_release:
                entries = chain.from_iterable(manifest.fetch_manifest_entry(table.io) for manifest in listed)
                yield from (entry.data_file.file_path for entry in entries)

"""Files in the store that nothing needs: what killed ingests left behind, and what unlisted releases had.

The files of a lake that somebody needs: the releases, Iceberg, or an ingest that is under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from pyiceberg.manifest import ManifestFile, read_manifest_list
from pyiceberg.table import Table

from losslake.lake.lake import WAREHOUSE, Lake
from losslake.lake.maintenance.snapshots import expired
from losslake.lake.maintenance.unlisting import Terms
from losslake.lake.manifest import manifest_table
from losslake.lake.store.store import StoredFile
from losslake_schema.database import Release
from losslake_schema.errors import LakeBroken
from losslake_schema.tables import TABLES

_FILES_AT_ONCE = 8


def live_files(lake: Lake, terms: Terms) -> set[str]:
    """The paths of all files in the store that stay, however old they are.

    Raises LakeBroken when it can't be told: the file list of a listed release is missing or altered, or Iceberg names a
    file elsewhere.
    """
    tables = [lake.table(name) for name in TABLES]
    releases = lake.releases(unlisted=True)  # after the tables: see `snapshots.expire`
    needed = [release for release in releases if terms.needs(release)]
    live = files_of_releases(lake, needed)
    for name, table in zip(TABLES, tables, strict=True):
        of_releases = {release.snapshot_of(name) for release in needed}
        going = {*expired(table.metadata, releases, terms).snapshots}
        live |= {_path(lake, url) for url in _named_by(table, going, of_releases)}
    return live


def files_of_releases(lake: Lake, releases: Iterable[Release]) -> set[str]:
    """The file lists of releases and the data files on them; of an unlisted release, what is there still."""
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

    with ThreadPoolExecutor(_FILES_AT_ONCE, "manifest lists") as pool:
        for is_of_release, found in zip(lists.values(), pool.map(manifests, lists), strict=True):
            yield from (manifest.manifest_path for manifest in found)
            if not is_of_release:
                entries = chain.from_iterable(manifest.fetch_manifest_entry(table.io) for manifest in found)
                yield from (entry.data_file.file_path for entry in entries)


def _path(lake: Lake, url: str) -> str:
    """A file's path in the store."""
    here = f"{lake.store.url}/"
    if not url.startswith(here):
        raise LakeBroken(f"Iceberg names a file outside of the lake, {url}: nothing is deleted")
    return url.removeprefix(here)


_FOLDERS = (WAREHOUSE, "releases")
_AT_ONCE = 1000


def delete_orphans(lake: Lake, terms: Terms) -> list[StoredFile]:
    """Delete every file that nothing needs and that is older than the grace time; returns them. Raises LakeBroken."""
    # Listed first: whatever is published meanwhile is live then.
    old = [file for folder in _FOLDERS for file in lake.store.listed(folder) if file.modified < terms.before]
    newest = lake.newest_release()
    live = live_files(lake, terms)
    orphans = [file for file in old if file.path not in live]
    if terms.only_look:
        return orphans
    return _delete(lake, orphans, newest.number if newest is not None else 0)


def _delete(lake: Lake, orphans: Sequence[StoredFile], newest: int) -> list[StoredFile]:
    deleted: list[StoredFile] = []
    for start in range(0, len(orphans), _AT_ONCE):
        latest = lake.newest_release()
        is_new = latest is not None and latest.number > newest
        published = files_of_releases(lake, [r for r in lake.releases() if r.number > newest]) if is_new else set()
        going = [file for file in orphans[start : start + _AT_ONCE] if file.path not in published]
        lake.store.delete([file.path for file in going])
        deleted += going
    return deleted

"""Files in the store that nothing needs: what killed ingests left behind, and what unlisted releases had."""

from __future__ import annotations

from collections.abc import Sequence

from losslake.lake.lake import WAREHOUSE, Lake
from losslake.lake.maintenance.live_files import files_of_releases, live_files
from losslake.lake.maintenance.terms import Terms
from losslake.lake.store.store import StoredFile

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

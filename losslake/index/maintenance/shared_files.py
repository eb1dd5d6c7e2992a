"""Serving files that lie in the store for all machines."""

from __future__ import annotations

from collections.abc import Iterable

from losslake.index.maintenance.local_files import Serving, folders_named_by
from losslake.index.shared import FOLDER, fetched, is_shared
from losslake.lake.lake import Lake
from losslake.lake.maintenance.terms import Terms, needed_releases
from losslake.lake.store.store import StoredFile

_PACKED = ".tar.zst"
_WORKLOADS = f"{FOLDER}/workloads/"


def delete_shared_serving_files(lake: Lake, terms: Terms) -> list[StoredFile]:
    """Delete the serving files in the store of releases that are gone, and those of other versions of LossLake."""
    if not is_shared(lake):
        return []
    listed = list(lake.store.listed(FOLDER))
    serving = Serving(needed_releases(lake, terms))
    needed = _needed(lake, serving, (file.path for file in listed))
    going = [file for file in listed if file.path not in needed and file.modified < terms.before]
    if not terms.only_look:
        lake.store.delete([file.path for file in going])
    return going


def _needed(lake: Lake, serving: Serving, paths: Iterable[str]) -> set[str]:
    """Those of these files that a release is answered from, and the workloads that it names."""
    needed: set[str] = set()
    for path in paths:
        name = path.removeprefix(f"{FOLDER}/").removesuffix(_PACKED)
        if not path.endswith(_PACKED) or not serving.needs(name):
            continue
        needed.add(path)
        if serving.is_index(name):
            index = lake.folder / FOLDER / name
            if index.is_file() or fetched(lake, index):
                needed |= {f"{_WORKLOADS}{folder}{_PACKED}" for folder in folders_named_by(index)}
    return needed

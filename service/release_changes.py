"""What changed from one release to the next: the studies that came, went, or have other files now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from schema.database import Release
from schema.lake import Lake
from schema.manifest import DataFile
from schema.names import Study

_MOST_KEPT = 64
_Contents = Mapping[Study, frozenset[str]]


@dataclass(frozen=True)
class ReleaseChanges:
    """How a release differs from the one before it.

    added, replaced, removed: studies, by name; tables: small tables with other rows. n_trials: how many more trials.
    """

    before: int | None
    added: tuple[Study, ...]
    replaced: tuple[Study, ...]
    removed: tuple[Study, ...]
    tables: tuple[str, ...]
    n_trials: int


def release_changes(lake: Lake, before: Release | None, release: Release) -> ReleaseChanges:
    """What is new in a release; before: the one that it followed, None for the first. Raises LakeBroken."""
    old, old_tables = _contents(lake, before.number, before.manifest_sha256) if before is not None else ({}, {})
    new, new_tables = _contents(lake, release.number, release.manifest_sha256)
    both = old.keys() & new.keys()
    return ReleaseChanges(
        before=before.number if before is not None else None,
        added=tuple(sorted(new.keys() - both)),
        replaced=tuple(sorted(study for study in both if old[study] != new[study])),
        removed=tuple(sorted(old.keys() - both)),
        tables=tuple(sorted(name for name in new_tables if new_tables[name] != old_tables.get(name))),
        n_trials=release.n_trials - (before.n_trials if before is not None else 0),
    )


@lru_cache(_MOST_KEPT)
def _contents(lake: Lake, number: int, manifest_sha256: str) -> tuple[_Contents, Mapping[str, frozenset[str]]]:
    """The sha256 of the files of each study, and of each small table. manifest_sha256: tells releases apart."""
    release = lake.release(number)
    assert release.manifest_sha256 == manifest_sha256
    files = lake.files(release)
    studies: dict[Study, list[DataFile]] = defaultdict(list)
    tables: dict[str, list[DataFile]] = defaultdict(list)
    for file in files:
        study = file.study
        if study is not None:
            studies[study].append(file)
        else:
            tables[file.table].append(file)
    return (
        {study: _digests(own) for study, own in studies.items()},
        {table: _digests(own) for table, own in tables.items()},
    )


def _digests(files: Iterable[DataFile]) -> frozenset[str]:
    return frozenset(file.sha256 for file in files)

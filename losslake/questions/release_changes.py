"""What changed from one release to the next: the studies that came, went, or have other files now."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from losslake.lake.lake import Lake
from losslake.lake.manifest import MANIFEST, manifest_table
from losslake_schema.database import Release
from losslake_schema.names import Study, Workload
from losslake_schema.tables import STUDY_KEYS

_MOST_KEPT = 64
_NOW, _BEFORE = "digests", "digests_before"


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


@dataclass(frozen=True)
class _FileList:
    """Where the file list of a release is. sha256: tells it from others."""

    path: str
    sha256: str


@dataclass(frozen=True)
class _Differences:
    added: tuple[Study, ...]
    replaced: tuple[Study, ...]
    removed: tuple[Study, ...]
    tables: tuple[str, ...]


def release_changes(lake: Lake, before: Release | None, release: Release) -> ReleaseChanges:
    """What is new in a release; before: the one that it followed, None for the first. Raises LakeBroken."""
    found = _differences(lake, _list_of(before) if before is not None else None, _list_of(release))
    return ReleaseChanges(
        before=before.number if before is not None else None,
        added=found.added,
        replaced=found.replaced,
        removed=found.removed,
        tables=found.tables,
        n_trials=release.n_trials - (before.n_trials if before is not None else 0),
    )


def _list_of(release: Release) -> _FileList:
    return _FileList(release.manifest, release.manifest_sha256)


@lru_cache(_MOST_KEPT)
def _differences(lake: Lake, before: _FileList | None, now: _FileList) -> _Differences:
    old, new = _files(lake, before), _files(lake, now)
    is_of_study = pl.col("batch_size").is_not_null()
    studies = _side_by_side(old.filter(is_of_study), new.filter(is_of_study), [*STUDY_KEYS])
    tables = _side_by_side(old.filter(~is_of_study), new.filter(~is_of_study), ["table"])
    is_new, is_gone = pl.col(_BEFORE).is_null(), pl.col(_NOW).is_null()
    return _Differences(
        added=_studies(studies.filter(is_new)),
        replaced=_studies(studies.filter(pl.col(_NOW) != pl.col(_BEFORE))),
        removed=_studies(studies.filter(is_gone)),
        tables=tuple(tables.filter(~is_gone & pl.col(_NOW).ne_missing(pl.col(_BEFORE)))["table"]),
    )


def _files(lake: Lake, listed: _FileList | None) -> pl.DataFrame:
    table = manifest_table(lake.store, listed.path, listed.sha256) if listed is not None else MANIFEST.empty_table()
    return pl.DataFrame(table)


def _side_by_side(old: pl.DataFrame, new: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """By key, the sha256 of the files of each study or small table in both releases; null where it has none."""
    digests = pl.col("sha256").sort().str.join(" ")
    before, now = (files.group_by(keys).agg(digests.alias(name)) for files, name in ((old, _BEFORE), (new, _NOW)))
    return now.join(before, on=keys, how="full", coalesce=True).sort(keys)


def _studies(rows: pl.DataFrame) -> tuple[Study, ...]:
    return tuple(Study(Workload(*names), batch_size) for *names, batch_size in rows.select(STUDY_KEYS).iter_rows())

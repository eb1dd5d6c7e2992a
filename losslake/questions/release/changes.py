"""The changes from one release to the next: studies added, removed or replaced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import polars as pl

from losslake.lake.lake import Lake
from losslake.lake.manifest import MANIFEST, manifest_table
from losslake_schema.names import Study, Workload
from losslake_schema.quantities import counted
from losslake_schema.release import Release
from losslake_schema.tables import STUDY_KEYS

_NOW, _BEFORE = "digests", "digests_before"


@dataclass(frozen=True)
class ReleaseChanges:
    """The differences of a release from the one before it.

    before: the number of that one; None for none. added, replaced, removed: studies, by name. tables: small tables with
    other rows. n_trials: how many more trials.
    """

    before: int | None
    added: tuple[Study, ...]
    replaced: tuple[Study, ...]
    removed: tuple[Study, ...]
    tables: tuple[str, ...]
    n_trials: int


def changes_in_words(changes: ReleaseChanges | None) -> str:
    """Return what changed, in a few words; None: what can't be known, since a list of files can't be read."""
    if changes is None:
        return "unknown: its list of files can't be read"
    if changes.before is None:
        return "the first release"
    kinds = (("added", changes.added), ("replaced", changes.replaced), ("removed", changes.removed))
    words = [f"{counted(len(each), 'study')} {verb}" for verb, each in kinds if each]
    return ", ".join(words or (["no studies", *changes.tables] if changes.tables else ["nothing"]))


_FileList = tuple[str, str]
# The path of the file list of a release, and its sha256.


def release_changes(lake: Lake, before: Release | None, release: Release) -> ReleaseChanges:
    """Return what is new in a release; before: the previous one, None for the first. Raises LakeBroken."""
    lists = [None if each is None else (each.manifest, each.manifest_sha256) for each in (before, release)]
    changes = _changes(lake, *lists)
    if before is None:
        return replace(changes, n_trials=release.n_trials)
    return replace(changes, before=before.number, n_trials=release.n_trials - before.n_trials)


@lru_cache(64)
def _changes(lake: Lake, before: _FileList | None, now: _FileList) -> ReleaseChanges:
    old, new = _files(lake, before), _files(lake, now)
    is_of_study = pl.col("batch_size").is_not_null()
    studies = _side_by_side(old.filter(is_of_study), new.filter(is_of_study), [*STUDY_KEYS])
    tables = _side_by_side(old.filter(~is_of_study), new.filter(~is_of_study), ["table"])
    is_new, is_gone = pl.col(_BEFORE).is_null(), pl.col(_NOW).is_null()
    return ReleaseChanges(
        before=None,
        added=_studies(studies.filter(is_new)),
        replaced=_studies(studies.filter(pl.col(_NOW) != pl.col(_BEFORE))),
        removed=_studies(studies.filter(is_gone)),
        tables=tuple(tables.filter(~is_gone & pl.col(_NOW).ne_missing(pl.col(_BEFORE)))["table"]),
        n_trials=0,
    )


def _files(lake: Lake, listed: _FileList | None) -> pl.DataFrame:
    table = manifest_table(lake.store, *listed) if listed is not None else MANIFEST.empty_table()
    return pl.DataFrame(table)


def _side_by_side(old: pl.DataFrame, new: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return by key the SHA-256 of the files of each study or small table in both releases; null for none."""
    digests = pl.col("sha256").sort().str.join(" ")
    before, now = (files.group_by(keys).agg(digests.alias(name)) for files, name in ((old, _BEFORE), (new, _NOW)))
    return now.join(before, on=keys, how="full", coalesce=True).sort(keys)


def _studies(rows: pl.DataFrame) -> tuple[Study, ...]:
    return tuple(Study(Workload(*names), batch_size) for *names, batch_size in rows.select(STUDY_KEYS).iter_rows())

"""Merge many small data files of a study into few, in a release that says the same as the one before it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake.lake.data_files import Written, stored_table
from losslake.lake.lake import Lake
from losslake.lake.publishing import FileChanges, commit_release, following, land
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.memory import files_by_study, follow, states
from losslake_ingest.offer import stored_curves
from losslake_ingest.publish import ATTEMPTS, discard, in_order, study_names
from losslake_ingest.study import TrialFacts, trial_digests
from losslake_ingest.write import write_curves
from losslake_schema.database import Release
from losslake_schema.names import Study
from losslake_schema.tables import PARTITIONED

MOST_PARTS = 4
SMALL_BYTES = 1_000_000
_MOST_ROWS = 4_000_000  # of measurements that are in memory at once
_NOTES = "compacted"


@dataclass(frozen=True)
class Compacted:
    """What was merged. release: None if nothing was published. left: why a study stays as it is, in a line each."""

    release: int | None
    studies: int
    files_before: int
    files_after: int
    left: tuple[str, ...] = ()


def compact(lake: Lake, only_look: bool = False) -> Compacted:
    """Merge the data files of studies that have many small ones, and publish a release of the same content.

    The releases before keep their files. What another ingest changes meanwhile stays as that left it.
    """
    base = lake.newest_release()
    files = lake.files(base) if base is not None else []
    studies = scattered(files)
    if not studies or only_look:
        return Compacted(None, len(studies), sum(map(len, studies.values())), 0)
    merged: dict[Study, _Merged] = {}
    left: list[str] = []
    for study, trials in _trials_of(lake, files, studies):
        written = _merged(lake.store, study, studies[study], trials)
        if written is None:
            left.append(f"{study} reads otherwise than it was stored, and stays as it is: run 'losslake verify'")
        else:
            merged[study] = _Merged(studies[study], written)
    release = _publish(lake, merged)
    if release is None:
        return Compacted(None, 0, 0, 0, tuple(left))
    here = files_by_study(lake.files(release))
    done = {study: each for study, each in merged.items() if _paths(here.get(study, [])) == _paths(each.files)}
    was, now = states(files), states([file for study in done for file in here[study]])
    follow(lake, {study: (was[study], state) for study, state in now.items()})
    before, after = sum(len(each.old) for each in done.values()), sum(len(each.new) for each in done.values())
    return Compacted(release.number, len(done), before, after, tuple(left))


@dataclass(frozen=True)
class _Merged:
    """The files of a study, and those that say the same."""

    old: Sequence[DataFile]
    new: Sequence[Written]

    @property
    def files(self) -> list[DataFile]:
        return [new.file for new in self.new]


def scattered(files: Sequence[DataFile]) -> Mapping[Study, Sequence[DataFile]]:
    """Return the data files of the studies that have so many small ones that merging pays.

    A study has one file of records for each part in which it came.
    """
    return {study: own for study, own in files_by_study(files).items() if _pays(own)}


def _paths(files: Sequence[DataFile]) -> set[str]:
    return {file.path for file in files}


def _pays(files: Sequence[DataFile]) -> bool:
    parts = sum(file.table == "records" for file in files)
    rows = sum(file.rows for file in files if file.table == "measurements")
    is_small = sum(file.bytes for file in files) < SMALL_BYTES * len(files)
    return parts > MOST_PARTS and is_small and parts > 2 * (rows // _MOST_ROWS + 1)


def _trials_of(lake: Lake, files: Sequence[DataFile], studies: Iterable[Study]) -> Iterator[tuple[Study, pa.Table]]:
    """Some studies, each with its rows of `trials` by trial_id."""
    named = {str(study): study for study in studies}
    trials = stored_table(lake.store, files, "trials")
    trials = in_order(trials.filter(pc.is_in(study_names(trials), pa.array(named, pa.string()))))
    runs = pc.run_end_encode(study_names(trials).combine_chunks())
    start = 0
    for name, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield named[name], trials.slice(start, end - start)
        start = end


def _merged(store: Store, study: Study, files: Sequence[DataFile], rows: pa.Table) -> list[Written] | None:
    """The files of a study written anew, in as few as it may have; None if what they say has another digest."""
    written: list[Written] = []
    own = [file for file in files if file.table == "measurements"]
    for some in _in_memory(rows, sum(file.rows for file in own)):
        ids: list[int] = some["trial_id"].to_pylist()
        curves = stored_curves(store, own, ids)
        if trial_digests([_facts(row) for row in some.to_pylist()], curves) != some["content_digest"].to_pylist():
            discard(store, written)
            return None
        written += write_curves(store, study, ids, curves)
    return written


def _in_memory(trials: pa.Table, measurements: int) -> Iterator[pa.Table]:
    """The trials of a study, so many at once as have not too many measurements."""
    evaluations = np.cumsum(trials["n_evaluations"].to_numpy())
    pieces = measurements // _MOST_ROWS + 1
    bounds = np.searchsorted(evaluations, evaluations[-1] * np.arange(1, pieces) / pieces, side="right")
    edges = sorted({0, *bounds.tolist(), trials.num_rows})
    for start, stop in pairwise(edges):
        yield trials.slice(start, stop - start)


def _facts(row: Mapping[str, Any]) -> TrialFacts:
    maps = {"parameters": dict(row["parameters"]), "attributes": dict(row["attributes"])}
    return TrialFacts(**{field.name: row[field.name] for field in fields(TrialFacts)} | maps)


def _publish(lake: Lake, merged: Mapping[Study, _Merged]) -> Release | None:
    """A release in which the merged files are instead of those that they were merged from, where those are still."""
    branch = f"compact-{uuid.uuid4().hex}"
    for _ in range(ATTEMPTS):
        base = lake.release()
        files = lake.files(base)
        here = files_by_study(files)
        still = {study: each for study, each in merged.items() if _paths(here.get(study, [])) == _paths(each.old)}
        if not still:
            break
        release = land(lake, _commit(lake, base, branch, files, list(still.values())), [], branch, PARTITIONED)
        if release is not None:
            discard(lake.store, [new for study in merged.keys() - still.keys() for new in merged[study].new])
            return release
    discard(lake.store, [new for each in merged.values() for new in each.new])
    return None


def _commit(lake: Lake, base: Release, branch: str, files: Sequence[DataFile], merged: Sequence[_Merged]) -> Release:
    old = {file.path for each in merged for file in each.old}
    changes = FileChanges([file for file in files if file.path not in old])
    for table in PARTITIONED:
        changes.removed[table] = [file for each in merged for file in each.old if file.table == table]
        changes.added[table] = [new for each in merged for new in each.new if new.file.table == table]
    facts = following(base, _NOTES, base.content_digest)
    return commit_release(lake, base, branch, changes, facts, stored_table(lake.store, files, "studies"))

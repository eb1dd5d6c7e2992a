"""Compaction: merge the many small data files of a study, in a release with the same content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake.lake.data_files import WrittenFile, files_by_study, read_small_table
from losslake.lake.lake import Lake
from losslake.lake.publishing import FileChanges, StagedRelease, next_release, publish_release, stage_release
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.contracts.study import TrialFacts, trial_digests
from losslake_ingest.pipeline.directions import stated_directions
from losslake_ingest.pipeline.memory import states, update_states
from losslake_ingest.pipeline.publish import ATTEMPTS, discard
from losslake_ingest.pipeline.stored_curves import stored_curves
from losslake_ingest.pipeline.trial_rows import in_order, study_names
from losslake_ingest.pipeline.write import write_curves, write_records
from losslake_schema.names import Study
from losslake_schema.registry import Direction
from losslake_schema.release import Release
from losslake_schema.tables import PARTITIONED

MOST_PARTS = 4
SMALL_BYTES = 1_000_000
_MOST_ROWS = 4_000_000  # measurements in memory at a time


@dataclass(frozen=True)
class Compacted:
    """The result of a compaction. release: None if nothing was published. skipped: a line for each skipped study."""

    release: int | None
    studies: int
    files_before: int
    files_after: int
    skipped: tuple[str, ...] = ()


def compact(lake: Lake, dry_run: bool = False) -> Compacted:
    """Merge the data files of studies that have many small ones, and publish a release of the same content.

    Earlier releases keep their files. Studies that another ingest changes meanwhile are left alone.
    """
    base = lake.newest_release()
    files = lake.files(base) if base is not None else []
    studies = fragmented(files)
    if not studies or dry_run:
        return Compacted(None, len(studies), sum(map(len, studies.values())), 0)
    merged: dict[Study, _Merged] = {}
    skipped: list[str] = []
    directions = stated_directions(read_small_table(lake.store, files, "metrics"))
    for study, trials in _trials_of(lake, files, studies):
        result = merge_files(lake.store, study, studies[study], trials, directions)
        if result is None:
            reason = "the stored curves don't match their digests, so the study was skipped: run 'losslake verify'"
            skipped.append(f"{study}: {reason}")
        else:
            merged[study] = _Merged(studies[study], result[0])
    release = _publish(lake, merged)
    if release is None:
        return Compacted(None, 0, 0, 0, tuple(skipped))
    here = files_by_study(lake.files(release))
    done = {study: each for study, each in merged.items() if _paths(here.get(study, [])) == _paths(each.files)}
    was, now = states(files), states([file for study in done for file in here[study]])
    update_states(lake, {study: (was[study], state) for study, state in now.items()})
    before, after = sum(len(each.old) for each in done.values()), sum(len(each.new) for each in done.values())
    return Compacted(release.number, len(done), before, after, tuple(skipped))


@dataclass(frozen=True)
class _Merged:
    """The data files of a study, and the files that replace them."""

    old: Sequence[DataFile]
    new: Sequence[WrittenFile]

    @property
    def files(self) -> list[DataFile]:
        """The new data files."""
        return [new.file for new in self.new]


def fragmented(files: Sequence[DataFile]) -> Mapping[Study, Sequence[DataFile]]:
    """Return the data files of the studies with enough small files that merging pays.

    A study has one file of records for each part that was ingested.
    """
    return {study: parts for study, parts in files_by_study(files).items() if _pays(parts)}


def _paths(files: Sequence[DataFile]) -> set[str]:
    return {file.path for file in files}


def _pays(files: Sequence[DataFile]) -> bool:
    parts = sum(file.table == "records" for file in files)
    rows = sum(file.rows for file in files if file.table == "measurements")
    is_small = sum(file.bytes for file in files) < SMALL_BYTES * len(files)
    return parts > MOST_PARTS and is_small and parts > 2 * (rows // _MOST_ROWS + 1)


def _trials_of(lake: Lake, files: Sequence[DataFile], studies: Iterable[Study]) -> Iterator[tuple[Study, pa.Table]]:
    """Yield the studies, each with its rows of `trials` by trial_id."""
    named = {str(study): study for study in studies}
    trials = read_small_table(lake.store, files, "trials")
    trials = in_order(trials.filter(pc.is_in(study_names(trials), pa.array(named, pa.string()))))
    runs = pc.run_end_encode(study_names(trials).combine_chunks())
    start = 0
    for name, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield named[name], trials.slice(start, end - start)
        start = end


def merge_files(
    store: Store, study: Study, files: Sequence[DataFile], rows: pa.Table, directions: Mapping[str, Direction]
) -> tuple[list[WrittenFile], frozenset[str]] | None:
    """Write some trials of a study, `rows`, into as few files as possible; return these and the metrics in them.

    Returns None if a curve doesn't match its digest.
    """
    written: list[WrittenFile] = []
    metrics: set[str] = set()
    for batch in _batches(rows, sum(file.rows for file in files if file.table == "measurements")):
        ids: list[int] = batch["trial_id"].to_pylist()
        curves = stored_curves(store, files, ids)
        if trial_digests(list(map(TrialFacts.of, batch.to_pylist())), curves) != batch["content_digest"].to_pylist():
            discard(store, written)
            return None
        written += write_curves(store, study, ids, curves)
        metrics |= curves.values.keys()
    stated = {metric: directions[metric] for metric in sorted(metrics) if metric in directions}
    if stated:
        written.append(write_records(store, study, files, stated))
    return written, frozenset(metrics)


def _batches(trials: pa.Table, n_measurements: int) -> Iterator[pa.Table]:
    """Yield the trials of a study in batches with a bounded number of measurements."""
    evaluations = np.cumsum(trials["n_evaluations"].to_numpy())
    pieces = n_measurements // _MOST_ROWS + 1
    bounds = np.searchsorted(evaluations, evaluations[-1] * np.arange(1, pieces) / pieces, side="right")
    for start, stop in pairwise(sorted({0, *bounds.tolist(), trials.num_rows})):
        yield trials.slice(start, stop - start)


def _publish(lake: Lake, merged: Mapping[Study, _Merged]) -> Release | None:
    """Publish a release with the merged files, for the studies whose old files are still in the newest release."""
    for _ in range(ATTEMPTS):
        base = lake.release()
        files = lake.files(base)
        here = files_by_study(files)
        current = {study: each for study, each in merged.items() if _paths(here.get(study, [])) == _paths(each.old)}
        if not current:
            break
        release = publish_release(lake, _stage(lake, base, files, list(current.values())), [])
        if release is not None:
            discard(lake.store, [new for study in merged.keys() - current.keys() for new in merged[study].new])
            return release
    discard(lake.store, [new for each in merged.values() for new in each.new])
    return None


def _stage(lake: Lake, base: Release, files: Sequence[DataFile], merged: Sequence[_Merged]) -> StagedRelease:
    old = {file.path for each in merged for file in each.old}
    changes = FileChanges([file for file in files if file.path not in old])
    for table in PARTITIONED:
        changes.removed[table] = [file for each in merged for file in each.old if file.table == table]
        changes.added[table] = [new for each in merged for new in each.new if new.file.table == table]
    facts = next_release(base, "compacted", base.content_digest)
    return stage_release(lake, base, changes, facts, read_small_table(lake.store, files, "studies"))

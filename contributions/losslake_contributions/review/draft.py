"""A draft: a lake in a folder whose first release has stored workloads, and whose second has new runs, too.

So the explorer, REST and SQL show both, as of a lake that accepted the runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.library.lake import Lake as Library
from losslake.library.local import LocalSource
from losslake_ingest.bundles.writing import write_bundle
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.readers.recorded.folder import Spool
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.release import Release
from losslake_schema.tables import STUDY_KEYS

MOST_MEASUREMENTS = 2_000_000
RUNS, LAKE = "runs", "lake"
REQUEST = Request(formats=("record",), stored_facts_stay=True)
"""The runs of others are recorded runs, and change nothing that is stored of a collection."""


@dataclass(frozen=True)
class Draft:
    """A draft lake.

    before: the release with stored workloads only; None without any. after: the release with the runs, too; None if
    none of them could be stored. base: the release of the base lake that the stored workloads are from. trials: of the
    runs, by name. quarantined: what isn't stored, or not whole. left_out: stored workloads that it lacks, in words.
    """

    lake: Lake
    before: int | None
    after: int | None
    base: int | None
    trials: Mapping[str, Trial]
    quarantined: Sequence[Quarantined]
    left_out: Sequence[str]

    @property
    def names(self) -> Mapping[Trial, str]:
        """The runs, by trial."""
        return {trial: name for name, trial in self.trials.items()}

    @cached_property
    def source(self) -> LocalSource:
        """Both releases, each opened once for all that asks about it."""
        return LocalSource(self.lake.folder)


@dataclass(frozen=True)
class Selected:
    """The stored workloads of a draft. left_out: those for which there was no room, in words."""

    studies: Collection[Study]
    left_out: Sequence[str]


def make_draft(
    folder: Path,
    spools: Sequence[Spool],
    base: Lake | None = None,
    release: int | None = None,
    most_measurements: int = MOST_MEASUREMENTS,
) -> Draft:
    """Make a draft lake from a release of a base lake and the spools of a submission, and return it.

    folder: new or empty. spools: all in one folder, which has nothing else. base: None on a client without a lake;
    then the draft has the runs only. release: of the base; default: its newest. most_measurements: stored workloads are
    copied up to this number, those of the runs first. Raises LossLakeError.
    """
    places = {spool.folder.parent for spool in spools}
    if len(places) != 1:
        raise LossLakeError("a draft is made of runs in one folder: give at least one, and put them beside each other")
    lake = Lake.create(folder)
    stored = base.release(release) if base is not None and (release or base.newest_release() is not None) else None
    selected = Selected((), ())
    if base is not None and stored is not None:
        selected = select(base, stored, spools, most_measurements)
        if selected.studies:
            _copy(base, stored, selected.studies, lake)
    before = lake.newest_release()
    summary = ingest(lake, [str(next(iter(places)))], REQUEST)
    if summary.broken:
        raise LossLakeError(f"the runs can't be read: {summary.broken[0]}")
    after = lake.newest_release()
    has_runs = after is not None and (before is None or after.number != before.number)
    trials = _trials(lake, after, {spool.name for spool in spools}) if after is not None else {}
    return Draft(
        lake,
        before.number if before is not None else None,
        after.number if after is not None and (has_runs or trials) else None,
        stored.number if stored is not None else None,
        trials,
        [replace(each, source=RUNS) for each in summary.quarantined],  # which has the path of the folder
        selected.left_out,
    )


def select(base: Lake, release: Release, spools: Sequence[Spool], most_measurements: int) -> Selected:
    """Return the stored studies of the data sets and models of some runs, whole workloads up to a size.

    The workloads of the runs come first, then those of their optimizers, then small ones.
    """
    workloads = {Workload(*(str(spool.facts.get(key)) for key in STUDY_KEYS[:4])) for spool in spools}
    tasks = {(workload.dataset, workload.model) for workload in workloads}
    optimizers = {(*task, each.optimizer) for each in workloads for task in [(each.dataset, each.model)]}
    of_workload: dict[Workload, list[Study]] = {}
    sizes: dict[Workload, int] = {}
    table = read_small_table(base.store, base.files(release, partitioned=False), "studies")
    for row in table.select([*STUDY_KEYS, "n_measurements"]).to_pylist():
        study = Study.of(row)
        if (study.workload.dataset, study.workload.model) in tasks:
            of_workload.setdefault(study.workload, []).append(study)
            sizes[study.workload] = sizes.get(study.workload, 0) + int(row["n_measurements"])

    def order(workload: Workload) -> tuple[bool, bool, int, Workload]:
        is_same = (workload.dataset, workload.model, workload.optimizer) in optimizers
        return workload not in workloads, not is_same, sizes[workload], workload

    studies: list[Study] = []
    left_out: list[str] = []
    size = 0
    for workload in sorted(of_workload, key=order):
        size += sizes[workload]
        if size > most_measurements:
            left_out.append(
                f"{workload}: {sizes[workload]:,} measurements, beyond the {most_measurements:,} of a draft; flags may "
                "differ from those of the lake"
            )
            size -= sizes[workload]
        else:
            studies += of_workload[workload]
    return Selected(studies, left_out)


def _copy(base: Lake, release: Release, studies: Collection[Study], lake: Lake) -> None:
    """Publish some studies of a release as a release of another lake, with their trial ids."""
    # Beside the draft, with which a kill's leftovers are deleted.
    with tempfile.TemporaryDirectory(dir=lake.folder.parent) as scratch:
        bundle = Path(scratch) / "base.tar"
        write_bundle(base, release, bundle, f"release {release.number}", selected=studies, is_quick=True)
        summary = ingest(lake, [str(bundle)], notes=f"Stored workloads, as of release {release.number}.")
    if summary.broken:
        raise LossLakeError(f"release {release.number} can't be copied: {summary.broken[0]}")


def _trials(lake: Lake, release: Release, names: Collection[str]) -> dict[str, Trial]:
    """Return the trials that were read from runs, by the name of the run."""
    table = read_small_table(lake.store, lake.files(release, partitioned=False), "trials")
    is_of_run = pc.is_in(table["source"], pa.array(sorted(names), pa.string()))
    rows = table.filter(is_of_run).select([*STUDY_KEYS, "trial_id", "source"]).to_pylist()
    return {row["source"]: Trial.of(row) for row in rows}


def rows_of(lake: Library | None, question: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an answer about a release of a draft; none if it lacks what is asked about."""
    if lake is None:
        return []
    try:
        rows: list[dict[str, Any]] = getattr(lake, question)(**parameters).to_dicts()
    except LossLakeError:
        return []
    return rows

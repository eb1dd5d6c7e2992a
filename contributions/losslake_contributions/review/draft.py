"""A draft: a lake in a folder whose first release has stored workloads, and whose second has new runs, too.

So the explorer, REST and SQL show both, as of a lake that accepted the runs.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
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
from losslake.questions.release.view import ReleaseView
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

    @cached_property
    def runs(self) -> Mapping[str, str]:
        """The names of the runs, by the path of their trial."""
        return {str(trial): name for name, trial in self.trials.items()}

    @cached_property
    def _source(self) -> LocalSource:
        """Both releases, each opened once for all that asks about it."""
        return LocalSource(self.lake.folder)

    def view(self, release: int | None) -> ReleaseView | None:
        """Return one of the releases, opened; None for None."""
        return self._source.view(release) if release is not None else None

    def library(self, release: int | None) -> Library | None:
        """Return one of the releases, as an object that answers questions; None for None."""
        return Library(self._source, release) if release is not None else None


def make_draft(folder: Path, spools: Sequence[Spool], base: Lake | None = None, release: int | None = None) -> Draft:
    """Make a draft lake from a release of a base lake and the spools of a submission, and return it.

    folder: new or empty. spools: all in one folder, which has nothing else. base: None on a client without a lake;
    then the draft has the runs only. release: of the base; default: its newest. Raises LossLakeError.
    """
    places = {spool.folder.parent for spool in spools}
    if len(places) != 1:
        raise LossLakeError("a draft is made of runs in one folder: give at least one, and put them beside each other")
    lake = Lake.create(folder)
    studies, left_out = list[Study](), list[str]()
    stored = None
    if base is not None:
        stored = base.release(release) if release is not None else base.newest_release()
    if base is not None and stored is not None:
        studies, left_out = select(base, stored, spools, MOST_MEASUREMENTS)
        if studies:
            _copy(base, stored, studies, lake)
    before = lake.newest_release()
    summary = ingest(lake, [*map(str, places)], REQUEST)
    if summary.broken:
        raise LossLakeError(f"the runs can't be read: {summary.broken[0]}")
    after = lake.newest_release()
    trials = _trials(lake, after, {spool.name for spool in spools}) if after is not None else {}
    return Draft(
        lake,
        before=_number(before),
        after=_number(after) if trials or _number(after) != _number(before) else None,
        base=_number(stored),
        trials=trials,
        quarantined=[replace(each, source=RUNS) for each in summary.quarantined],  # which has the path of the folder
        left_out=left_out,
    )


def _number(release: Release | None) -> int | None:
    return release.number if release is not None else None


def workload_of(spool: Spool) -> Workload:
    """Return the workload that a run states."""
    return Workload(*(str(spool.facts.get(key)) for key in STUDY_KEYS[:4]))


def select(
    base: Lake, release: Release, spools: Sequence[Spool], most_measurements: int
) -> tuple[list[Study], list[str]]:
    """Return the stored studies of the data sets and models of some runs, and the workloads left out, in words.

    These are whole workloads up to a size: those of the runs first, then those of their optimizers, then small ones.
    """
    workloads = {workload_of(spool) for spool in spools}
    tasks = {(each.dataset, each.model) for each in workloads}
    optimizers = {(each.dataset, each.model, each.optimizer) for each in workloads}
    of_workload: defaultdict[Workload, list[Study]] = defaultdict(list)
    sizes: Counter[Workload] = Counter()
    table = read_small_table(base.store, base.files(release, partitioned=False), "studies")
    for row in table.select([*STUDY_KEYS, "n_measurements"]).to_pylist():
        study = Study.of(row)
        if (study.workload.dataset, study.workload.model) in tasks:
            of_workload[study.workload].append(study)
            sizes[study.workload] += row["n_measurements"]

    def order(workload: Workload) -> tuple[bool, bool, int, Workload]:
        is_same = (workload.dataset, workload.model, workload.optimizer) in optimizers
        return workload not in workloads, not is_same, sizes[workload], workload

    studies: list[Study] = []
    left_out: list[str] = []
    remaining = most_measurements
    for workload in sorted(of_workload, key=order):
        if sizes[workload] <= remaining:
            studies += of_workload[workload]
            remaining -= sizes[workload]
        else:
            left_out.append(
                f"{workload}: {sizes[workload]:,} measurements, beyond the {most_measurements:,} of a draft; flags may "
                "differ from those of the lake"
            )
    return studies, left_out


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
    if lake is not None:
        with suppress(LossLakeError):
            rows: list[dict[str, Any]] = getattr(lake, question)(**parameters).to_dicts()
            return rows
    return []

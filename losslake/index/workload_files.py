"""The files of `losslake.index.workload_file` for every workload of a release, made where they aren't there yet.

A workload's folder is named by what goes into it. So releases share what is the same in them: after a correction of one
study only its workload's files are made, and nothing is ever changed.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from losslake.index.frontiers import COUNTED
from losslake.index.records import TrialRecords, Trials, WorkloadTrials, trial_records
from losslake.index.serving import sql
from losslake.index.shared import fetched, only_one_at_a_time, share
from losslake.index.study_files import RecordFiles
from losslake.index.workload_file import write_workload
from losslake.lake.cores import cores
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_schema.names import Study, Workload
from losslake_schema.tables import STATUSES

WORKLOAD_VERSION = 1
_UNFINISHED = ".unfinished"


@dataclass(frozen=True)
class Studies:
    """A workload of a release: its studies by ascending batch size, with consecutive study_id. metrics: by study."""

    workload: Workload
    first_study: int
    batch_sizes: tuple[int, ...]
    metrics: tuple[tuple[str, ...], ...]

    @property
    def last_study(self) -> int:
        return self.first_study + len(self.batch_sizes) - 1

    @property
    def studies(self) -> list[Study]:
        return [Study(self.workload, batch_size) for batch_size in self.batch_sizes]


@dataclass(frozen=True)
class WorkloadStudies(Studies):
    """With what its files depend on. content_digests: by study. directions: of those of its metrics that have one."""

    content_digests: tuple[str, ...]
    directions: Mapping[str, str]


def workloads_of(connection: duckdb.DuckDBPyConnection) -> list[WorkloadStudies]:
    """The workloads of an open release, in the order of study_id."""
    directions: dict[str, str] = dict(connection.execute(sql("metric_directions")).fetchall())
    found = []
    rows = connection.execute(sql("study_facts")).fetchall()
    for keys, group in groupby(rows, key=lambda row: row[1:5]):
        studies = list(group)
        metrics = tuple(tuple(sorted(row[6])) for row in studies)
        measured = sorted({metric for names in metrics for metric in names})
        found.append(
            WorkloadStudies(
                workload=Workload(*keys),
                first_study=studies[0][0],
                batch_sizes=tuple(row[5] for row in studies),
                metrics=metrics,
                content_digests=tuple(row[7] for row in studies),
                directions={metric: directions[metric] for metric in measured if metric in directions},
            )
        )
    return found


def trials_of(connection: duckdb.DuckDBPyConnection, studies: WorkloadStudies) -> WorkloadTrials:
    """The trials of a workload of an open release."""
    asked = {"statuses": STATUSES, "first_study": studies.first_study, "last_study": studies.last_study}
    columns = connection.cursor().execute(sql("trial_facts"), asked).fetchnumpy()
    study_id, trial_id, status, last_step = (
        _integers(columns[name]) for name in ("study_id", "trial_id", "status", "last_step")
    )
    offsets = np.searchsorted(study_id, np.arange(studies.first_study, studies.last_study + 2))
    return WorkloadTrials(offsets, Trials(trial_id, status, last_step))


def workloads_folder(lake: Lake) -> Path:
    """Where the folders of all workloads are."""
    return lake.folder / "serving" / "workloads"


def made_workloads(
    lake: Lake, connection: duckdb.DuckDBPyConnection, workloads: Sequence[WorkloadStudies], files: Iterable[DataFile]
) -> list[str]:
    """The names of the folders of these workloads, made where they are missing; raises LakeBroken.

    connection: to the release's DuckDB file. files: of the release.
    """
    of_study: dict[Study, list[DataFile]] = {}
    for file in files:
        if file.table == "records" and file.study is not None:
            of_study.setdefault(file.study, []).append(file)
    sources = [_Sources(lake, studies, [of_study.get(study, []) for study in studies.studies]) for studies in workloads]
    if not all(source.folder.is_dir() for source in sources):
        with only_one_at_a_time(lake.folder / "serving"):
            _make([source for source in sources if not source.folder.is_dir()], connection)
    return [source.folder.name for source in sources]


@dataclass(frozen=True)
class _Sources:
    """What the files of a workload are made from; files: of records, by study."""

    lake: Lake
    studies: WorkloadStudies
    files: Sequence[Sequence[DataFile]]

    @cached_property
    def folder(self) -> Path:
        """Where they are, by the digest of all that goes into them."""
        facts: list[object] = [WORKLOAD_VERSION, sorted(self.studies.directions.items()), COUNTED]
        parts = zip(self.studies.batch_sizes, self.studies.content_digests, self.files, strict=True)
        facts += [(size, digest, sorted(file.sha256 for file in files)) for size, digest, files in parts]
        return workloads_folder(self.lake) / hashlib.sha256(repr(facts).encode()).hexdigest()[:32]

    @property
    def n_records(self) -> int:
        return sum(file.rows for files in self.files for file in files)

    def have(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Fetch the files, or make them and share them; not to be called by two at once."""
        if not fetched(self.lake, self.folder):
            self._make(connection)
            share(self.lake, self.folder)

    def _make(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the files, in a folder that gets its name when they are whole."""
        unfinished = self.folder.with_suffix(_UNFINISHED)
        unfinished.mkdir(parents=True)
        trials = trials_of(connection, self.studies)
        with ExitStack() as stack:
            opened = [stack.enter_context(RecordFiles(self.lake.store, own)) for own in self.files]

            def records_of(metric: str) -> TrialRecords:
                return trial_records(trials, [study.read(metric) for study in opened])

            write_workload(partial(_sink, unfinished), trials, self.studies.directions, records_of)
        unfinished.rename(self.folder)


def _make(missing: Sequence[_Sources], connection: duckdb.DuckDBPyConnection) -> None:
    if not missing:
        return
    for left in missing[0].folder.parent.glob(f"*{_UNFINISHED}"):
        shutil.rmtree(left)
    # The largest first, so that none is left over for one core at the end.
    ordered = sorted(missing, key=lambda source: -source.n_records)
    executor = ThreadPoolExecutor(cores())
    try:
        for _ in executor.map(partial(_Sources.have, connection=connection), ordered):
            pass
    finally:
        executor.shutdown(cancel_futures=True)


def _sink(folder: Path, name: str) -> pa.NativeFile:
    return pa.OSFile(str(folder / f"{name}.arrow"), "wb")


def _integers(values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    return np.asarray(values, np.int64)

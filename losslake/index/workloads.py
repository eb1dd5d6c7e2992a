"""The workloads of a release: the files of `losslake.index.workload_file` for each, built if they are missing.

The name of a workload's folder is a hash of its inputs. So releases share the files of unchanged workloads: after a
correction of one study only its workload is rebuilt, and files never change.

Opening a release needs one more Arrow file, the index of its workloads, which is mapped rather than parsed: a
microsecond per study. Reading the same from the serving file and the file list takes a hundred times as long.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from losslake.index.frontiers import COUNTED
from losslake.index.measurement_files import MeasurementFile, Scanned, batch_of_files, scan
from losslake.index.records import Trials, WorkloadTrials, trial_records
from losslake.index.shared import FOLDER, ensure, exclusive, fetch, is_shared, path_of, share
from losslake.index.study_files import study_records
from losslake.index.target_ranges import TARGET_RANGES, target_ranges
from losslake.index.view_texts import SERVING_VERSION, sql
from losslake.index.workload_file import OpenWorkload, OpenWorkloads, damaged_serving_file, mapped_file, write_workload
from losslake.lake.data_files import files_by_study
from losslake.lake.lake import Lake
from losslake.lake.machine import atomic_write, cores
from losslake.lake.store.store import DataFile
from losslake_schema.names import Study, Workload
from losslake_schema.reached import NEVER, Integers
from losslake_schema.release import Release
from losslake_schema.statuses import STATUSES
from losslake_schema.tables import STUDY_KEYS

WORKLOAD_VERSION = 7
INDEX_VERSION = 2
_UNFINISHED = ".unfinished"
_METRICS = b"metrics of a study"
# A row per workload. metrics: by study, the index of a list in the schema's metadata.
_INDEX = pa.schema(
    [
        *((key, pa.string()) for key in STUDY_KEYS[:4]),
        ("first_study", pa.int64()),
        ("batch_sizes", pa.list_(pa.int64())),
        ("metrics", pa.list_(pa.int32())),
        ("folder", pa.string()),
    ]
)


@dataclass(frozen=True)
class Studies:
    """The studies of a workload in a release, by ascending batch size, with consecutive study_id; metrics: by study."""

    workload: Workload
    first_study: int
    batch_sizes: tuple[int, ...]
    metrics: tuple[tuple[str, ...], ...]

    @property
    def last_study(self) -> int:
        """The study_id of the last study."""
        return self.first_study + len(self.batch_sizes) - 1

    @property
    def studies(self) -> list[Study]:
        """The names of the studies."""
        return [Study(self.workload, batch_size) for batch_size in self.batch_sizes]


@dataclass(frozen=True)
class KnownWorkload:
    """A workload of a release; opened: returns its mapped files; files: returns the measurement files of study i."""

    studies: Studies
    opened: Callable[[], OpenWorkload]
    files: Callable[[int], Sequence[MeasurementFile]]


def open_workloads(lake: Lake, release: Release, connection: duckdb.DuckDBPyConnection) -> list[KnownWorkload]:
    """Return the workloads of a release, by study_id, building missing files first.

    connection: to the release's serving file. Raises LakeBroken if a file is missing or damaged.
    """
    path = index_path(lake, release)
    make = partial(_make_index, path, lake, release, connection)
    if not path.is_file():
        ensure(lake, path, make)
    batch = _read_index(path)
    folder = workloads_folder(lake)
    folders: list[str] = batch.column("folder").to_pylist()
    existing = os.listdir(folder) if folder.is_dir() else ()  # noqa: PTH208 - paths of all would take longer
    # In a shared lake each workload is fetched on first use.
    if not is_shared(lake) and not set(existing).issuperset(folders):
        make()
    opened = OpenWorkloads(folder, partial(_restore, lake, make))
    return [
        KnownWorkload(studies, partial(opened.opened, name), partial(_files_of, opened, name))
        for name, studies in zip(folders, _studies(batch), strict=True)
    ]


def index_path(lake: Lake, release: Release) -> Path:
    """Return the path of the index of a release's workloads."""
    return path_of(lake, release, f"workloads-v{SERVING_VERSION}.{WORKLOAD_VERSION}.{INDEX_VERSION}.arrow")


def folders_in(path: Path) -> set[str]:
    """Return the names of the workload folders in an index. Raises LakeBroken if the index is damaged."""
    return set(_read_index(path).column("folder").to_pylist())


def _restore(lake: Lake, make: Callable[[], None], path: Path) -> None:
    """Fetch or rebuild the files of a workload that aren't on this machine."""
    if not fetch(lake, path):
        make()


def workloads_folder(lake: Lake) -> Path:
    """Return the folder that contains the folders of all workloads."""
    return lake.folder / FOLDER / "workloads"


@dataclass(frozen=True)
class WorkloadStudies(Studies):
    """The studies of a workload, with all inputs of its files.

    content_digests: by study. directions: by metric, of those that have one.
    """

    content_digests: tuple[str, ...]
    directions: Mapping[str, str]


def workloads_of(connection: duckdb.DuckDBPyConnection) -> list[WorkloadStudies]:
    """Return the workloads of an open release, by study_id."""
    directions: dict[str, str] = dict(connection.execute(sql("metric_directions")).fetchall())
    workloads = []
    for keys, group in groupby(connection.execute(sql("study_facts")).fetchall(), key=lambda row: row[1:5]):
        studies = list(group)
        metrics = tuple(tuple(sorted(row[6])) for row in studies)
        measured = sorted({metric for names in metrics for metric in names})
        workloads.append(
            WorkloadStudies(
                workload=Workload(*keys),
                first_study=studies[0][0],
                batch_sizes=tuple(row[5] for row in studies),
                metrics=metrics,
                content_digests=tuple(row[7] for row in studies),
                directions={metric: directions[metric] for metric in measured if metric in directions},
            )
        )
    return workloads


def trials_of(connection: duckdb.DuckDBPyConnection, studies: WorkloadStudies) -> WorkloadTrials:
    """Return the trials of a workload of an open release."""
    parameters = {"statuses": STATUSES, "first_study": studies.first_study, "last_study": studies.last_study}
    columns = connection.cursor().execute(sql("trial_facts"), parameters).fetchnumpy()
    numbers = {name: np.asarray(column, np.int64) for name, column in columns.items()}
    offsets = np.searchsorted(numbers.pop("study_id"), np.arange(studies.first_study, studies.last_study + 2))
    return WorkloadTrials(offsets, Trials(**numbers))


def target_ranges_of(
    lake: Lake, files: Sequence[DataFile], connection: duckdb.DuckDBPyConnection, unchanged: Set[Workload]
) -> pa.Table:
    """Return the results of each study in each metric with a direction, at every target: rows of TARGET_RANGES.

    connection: to the release's DuckDB file. unchanged: workloads to leave out. The caller must hold the lock. Raises
    LakeBroken.
    """
    sources = _sources_of(lake, [each for each in workloads_of(connection) if each.workload not in unchanged], files)
    _make_missing(sources, connection)
    opened = OpenWorkloads(workloads_folder(lake), lambda _: None)
    batches = []
    for source in sources:
        workload = opened.opened(source.folder.name)
        for metric, direction in source.studies.directions.items():
            frontiers, trial_id = workload.frontiers(metric), workload.trials.trials.trial_id
            batches.append(target_ranges(source.studies.first_study, metric, direction, frontiers, trial_id))
    return pa.Table.from_batches(batches, TARGET_RANGES)


def _sources_of(lake: Lake, workloads: Sequence[WorkloadStudies], files: Sequence[DataFile]) -> list[_Sources]:
    tables = ("records", "measurements")
    by_table = [files_by_study([file for file in files if file.table == table]) for table in tables]
    return [
        _Sources(lake, each, *([of_study.get(study, []) for study in each.studies] for of_study in by_table))
        for each in workloads
    ]


@dataclass(frozen=True)
class _Sources:
    """The inputs of the files of a workload; files: of records, by study. measurements: theirs, by study."""

    lake: Lake
    studies: WorkloadStudies
    files: Sequence[Sequence[DataFile]]
    measurements: Sequence[Sequence[DataFile]]

    @cached_property
    def folder(self) -> Path:
        """The folder of the workload, named by the digest of all inputs."""
        inputs: list[object] = [WORKLOAD_VERSION, sorted(self.studies.directions.items()), COUNTED]
        parts = zip(self.studies.batch_sizes, self.studies.content_digests, self.files, strict=True)
        inputs += [(size, digest, sorted(file.sha256 for file in files)) for size, digest, files in parts]
        inputs += [[file.path for file in files] for files in self.measurements]
        return workloads_folder(self.lake) / hashlib.sha256(repr(inputs).encode()).hexdigest()[:32]

    def ensure(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Fetch the files, or make and share them. The caller must hold the lock."""
        if not fetch(self.lake, self.folder):
            self._make(connection)
            share(self.lake, self.folder)

    def _make(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the files in a temporary folder, which is renamed when they are complete."""
        unfinished = self.folder.with_suffix(_UNFINISHED)
        unfinished.mkdir(parents=True)
        trials = trials_of(connection, self.studies)

        def open_sink(name: str) -> pa.NativeFile:
            return pa.OSFile(str(unfinished / f"{name}.arrow"), "wb")

        by_study = [study_records(self.lake.store, files, self.studies.directions) for files in self.files]
        by_metric = (trial_records(trials, studies) for studies in zip(*by_study, strict=True))
        scanned = [[scan(self.lake.store, file) for file in files] for files in self.measurements]
        ends = self._ends(trials, scanned)
        write_workload(open_sink, trials, self.studies.directions, by_metric, ends, batch_of_files(scanned))
        unfinished.rename(self.folder)

    def _ends(self, trials: WorkloadTrials, scanned: Sequence[Sequence[Scanned]]) -> dict[str, Integers]:
        """Return by metric and trial the last step of its evaluations, of metrics where it isn't that of the trial."""
        last = trials.trials.last_step
        ends: dict[str, Integers] = {}
        for study, (metrics, files) in enumerate(zip(self.studies.metrics, scanned, strict=True)):
            if len(metrics) < 2:
                continue
            rows = slice(*trials.offsets[study : study + 2])
            for metric in metrics:
                ends.setdefault(metric, last.copy())[rows] = NEVER
            for metric, trial_id, step in (end for file in files for end in file.ends):
                of_trial = trials.rows_of(study, trial_id)
                ends[metric][of_trial] = np.maximum(ends[metric][of_trial], step)
        return {metric: steps for metric, steps in ends.items() if (steps != last).any()}


def _make_missing(sources: Sequence[_Sources], connection: duckdb.DuckDBPyConnection) -> None:
    missing = [source for source in sources if not source.folder.is_dir()]
    if not missing:
        return
    for abandoned in missing[0].folder.parent.glob(f"*{_UNFINISHED}"):
        shutil.rmtree(abandoned)
    # The largest first, to balance the cores.
    ordered = sorted(missing, key=lambda source: -sum(file.rows for files in source.files for file in files))
    with ThreadPoolExecutor(cores()) as executor:
        for _ in executor.map(partial(_Sources.ensure, connection=connection), ordered):
            pass


def _make_index(path: Path, lake: Lake, release: Release, connection: duckdb.DuckDBPyConnection) -> None:
    """Make the missing files of workloads, then the index."""
    sources = _sources_of(lake, workloads_of(connection), lake.files(release))
    with exclusive(path.parent):
        _make_missing(sources, connection)
        with atomic_write(path) as unfinished:
            _write_index(unfinished, sources)


def _write_index(path: Path, sources: Sequence[_Sources]) -> None:
    workloads = [source.studies for source in sources]
    metrics: dict[tuple[str, ...], int] = {}
    columns = {
        **{key: [getattr(w.workload, key) for w in workloads] for key in STUDY_KEYS[:4]},
        "first_study": [w.first_study for w in workloads],
        "batch_sizes": [w.batch_sizes for w in workloads],
        "metrics": [[metrics.setdefault(names, len(metrics)) for names in w.metrics] for w in workloads],
        "folder": [source.folder.name for source in sources],
    }
    batch = pa.RecordBatch.from_pydict(columns, _INDEX.with_metadata({_METRICS: json.dumps(list(metrics)).encode()}))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def _read_index(path: Path) -> pa.RecordBatch:
    try:
        return pa.ipc.open_file(mapped_file(path)).get_batch(0)
    except (OSError, pa.ArrowException) as error:
        raise damaged_serving_file(error) from None


def _studies(batch: pa.RecordBatch) -> Iterable[Studies]:
    """Yield the studies of each workload, from flat columns: lists of lists would take four times as long."""
    keys = zip(*(batch.column(name).to_pylist() for name in _INDEX.names[:4]), strict=True)
    sets = [tuple(names) for names in json.loads((batch.schema.metadata or {})[_METRICS])]
    ends = batch.column("batch_sizes").offsets.to_pylist()
    sizes: list[int] = batch.column("batch_sizes").values.to_pylist()
    metrics = [sets[index] for index in batch.column("metrics").values.to_pylist()]
    for key, first, start, end in zip(keys, batch.column("first_study").to_pylist(), ends, ends[1:], strict=False):
        yield Studies(Workload(*key), first, tuple(sizes[start:end]), tuple(metrics[start:end]))


def _files_of(opened: OpenWorkloads, name: str, study: int) -> list[MeasurementFile]:
    return opened.opened(name).measurements.of_study(study)

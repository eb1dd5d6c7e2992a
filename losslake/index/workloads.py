"""The workloads of a release: for each the files of `losslake.index.workload_file`, made where they aren't there yet.

A workload's folder is named by what goes into it. So releases share what is the same in them: after a correction of one
study only its workload's files are made, and nothing is ever changed.

What opening a release needs to know of all of them is one more Arrow file, the index, mapped and not parsed: a
microsecond a study. The serving file and the file list say the same, in a hundred times that.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from losslake.index.frontiers import COUNTED
from losslake.index.records import TrialRecords, Trials, WorkloadTrials, trial_records
from losslake.index.serving import SERVING_VERSION, sql
from losslake.index.shared import FOLDER, fetched, have, is_shared, only_one_at_a_time, path_of, share
from losslake.index.study_files import study_records
from losslake.index.workload_file import OpenWorkload, OpenWorkloads, harmed, mapped_file, write_workload
from losslake.lake.lake import Lake
from losslake.lake.machine import cores, written_whole
from losslake.lake.store.store import DataFile
from losslake_schema.database import Release
from losslake_schema.names import Study, Workload
from losslake_schema.tables import STATUSES, STUDY_KEYS

WORKLOAD_VERSION = 1
INDEX_VERSION = 1
_UNFINISHED = ".unfinished"
_METRICS = b"metrics of a study"
_FILE = pa.struct([("path", pa.string()), ("bytes", pa.int64()), ("sha256", pa.string()), ("rows", pa.int64())])
_INDEX = pa.schema(
    [
        *((key, pa.string()) for key in STUDY_KEYS[:4]),
        ("first_study", pa.int64()),
        ("batch_sizes", pa.list_(pa.int64())),
        ("metrics", pa.list_(pa.int32())),
        ("folder", pa.string()),
        ("files", pa.list_(pa.list_(_FILE))),
    ]
)
"""A row per workload. metrics: by study, which of the lists in the schema's metadata. files: of its measurements, by
study."""


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
class KnownWorkload:
    """A workload of a release. opened: gives its files, mapped. files: of the measurements of its study of an index."""

    studies: Studies
    opened: Callable[[], OpenWorkload]
    files: Callable[[int], Sequence[DataFile]]


def open_workloads(lake: Lake, release: Release, connection: duckdb.DuckDBPyConnection) -> list[KnownWorkload]:
    """The workloads of a release, in the order of study_id; whatever is missing of their files is made first.

    connection: to the release's serving file. Raises LakeBroken.
    """
    version = f"{SERVING_VERSION}.{WORKLOAD_VERSION}.{INDEX_VERSION}"
    path = path_of(lake, release, f"workloads-v{version}.arrow")
    make = partial(_make_index, path, lake, release, connection)
    if not path.is_file():
        have(lake, path, make)
    batch = _read_index(path)
    folder = workloads_folder(lake)
    folders: list[str] = batch.column("folder").to_pylist()
    # Where others share theirs, each is fetched when it is first asked for.
    if not is_shared(lake) and not _names_in(folder).issuperset(folders):
        make()
    opened = OpenWorkloads(folder, partial(_have_again, lake, make))
    files = batch.column("files")
    return [
        KnownWorkload(studies, partial(opened.opened, name), partial(_files_of, files, row, studies))
        for row, (name, studies) in enumerate(zip(folders, _studies(batch), strict=True))
    ]


def folders_in(path: Path) -> set[str]:
    """The names of the folders of workloads that an index names; raises LakeBroken."""
    return set(_read_index(path).column("folder").to_pylist())


def _have_again(lake: Lake, make: Callable[[], None], path: Path) -> None:
    """Have the files of a workload that aren't on this machine, or no more."""
    if not fetched(lake, path):
        make()


def _names_in(folder: Path) -> set[str]:
    try:
        with os.scandir(folder) as entries:
            return {entry.name for entry in entries}
    except FileNotFoundError:
        return set()


def workloads_folder(lake: Lake) -> Path:
    """Where the folders of all workloads are."""
    return lake.folder / FOLDER / "workloads"


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
        np.asarray(columns[name], np.int64) for name in ("study_id", "trial_id", "status", "last_step")
    )
    offsets = np.searchsorted(study_id, np.arange(studies.first_study, studies.last_study + 2))
    return WorkloadTrials(offsets, Trials(trial_id, status, last_step))


def _made_workloads(
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
        with only_one_at_a_time(lake.folder / FOLDER):
            _make_missing([source for source in sources if not source.folder.is_dir()], connection)
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

        def open_sink(name: str) -> pa.NativeFile:
            return pa.OSFile(str(unfinished / f"{name}.arrow"), "wb")

        def records_of(metric: str) -> TrialRecords:
            return trial_records(trials, [study_records(self.lake.store, files, metric) for files in self.files])

        write_workload(open_sink, trials, self.studies.directions, records_of)
        unfinished.rename(self.folder)


def _make_missing(missing: Sequence[_Sources], connection: duckdb.DuckDBPyConnection) -> None:
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


def _make_index(path: Path, lake: Lake, release: Release, connection: duckdb.DuckDBPyConnection) -> None:
    """Make the files of workloads that aren't there, then the index."""
    files, workloads = lake.files(release), workloads_of(connection)
    folders = _made_workloads(lake, connection, workloads, files)
    with only_one_at_a_time(path.parent), written_whole(path) as unfinished:
        _write_index(unfinished, workloads, folders, files)


def _write_index(
    path: Path, workloads: Sequence[WorkloadStudies], folders: Sequence[str], files: Iterable[DataFile]
) -> None:
    of_study: Mapping[Study, list[dict[str, Any]]] = defaultdict(list)
    for file in files:
        if file.table == "measurements" and file.study is not None:
            of_study[file.study].append({name: getattr(file, name) for name in _FILE.names})
    metrics: dict[tuple[str, ...], int] = {}
    columns = {
        **{key: [getattr(w.workload, key) for w in workloads] for key in STUDY_KEYS[:4]},
        "first_study": [w.first_study for w in workloads],
        "batch_sizes": [w.batch_sizes for w in workloads],
        "metrics": [[metrics.setdefault(names, len(metrics)) for names in w.metrics] for w in workloads],
        "folder": folders,
        "files": [[of_study[study] for study in w.studies] for w in workloads],
    }
    batch = pa.RecordBatch.from_pydict(columns, _INDEX.with_metadata({_METRICS: json.dumps(list(metrics)).encode()}))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def _read_index(path: Path) -> pa.RecordBatch:
    try:
        return pa.ipc.open_file(mapped_file(path)).get_batch(0)
    except (OSError, pa.ArrowException) as error:
        raise harmed(error) from None


def _studies(batch: pa.RecordBatch) -> Iterable[Studies]:
    """Built from flat columns: lists of lists would take four times as long."""
    keys = zip(*(batch.column(name).to_pylist() for name in _INDEX.names[:4]), strict=True)
    sets = [tuple(names) for names in json.loads((batch.schema.metadata or {})[_METRICS])]
    ends = batch.column("batch_sizes").offsets.to_pylist()
    sizes: list[int] = batch.column("batch_sizes").values.to_pylist()
    metrics = [sets[index] for index in batch.column("metrics").values.to_pylist()]
    for own, first, start, end in zip(keys, batch.column("first_study").to_pylist(), ends, ends[1:], strict=False):
        yield Studies(Workload(*own), first, tuple(sizes[start:end]), tuple(metrics[start:end]))


def _files_of(files: pa.ListArray, row: int, studies: Studies, study: int) -> list[DataFile]:
    keys = Study(studies.workload, studies.batch_sizes[study]).key()
    return [DataFile("measurements", **file, **keys) for file in files[row].values[study].as_py()]

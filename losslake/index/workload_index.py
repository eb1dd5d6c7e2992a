"""What opening a release needs to know of its workloads: one Arrow file beside its serving file, mapped and not parsed.

It costs a microsecond a study. The serving file and the file list say the same, in a hundred times that.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from losslake.index.serving import SERVING_VERSION
from losslake.index.shared import fetched, have, is_shared, only_one_at_a_time
from losslake.index.workload_file import OpenWorkload, OpenWorkloads, harmed, mapped_file
from losslake.index.workload_files import (
    WORKLOAD_VERSION,
    Studies,
    WorkloadStudies,
    made_workloads,
    workloads_folder,
    workloads_of,
)
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_schema.database import Release
from losslake_schema.names import Study, Workload

INDEX_VERSION = 1
_METRICS = b"metrics of a study"
_FILE = pa.struct([("path", pa.string()), ("bytes", pa.int64()), ("sha256", pa.string()), ("rows", pa.int64())])
_INDEX = pa.schema(
    [
        ("collection", pa.string()),
        ("dataset", pa.string()),
        ("model", pa.string()),
        ("optimizer", pa.string()),
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
class KnownWorkload:
    """A workload of a release. opened: gives its files, mapped. files: of the measurements of its study of an index."""

    studies: Studies
    opened: Callable[[], OpenWorkload]
    files: Callable[[int], Sequence[DataFile]]


def open_workloads(lake: Lake, release: Release, connection: duckdb.DuckDBPyConnection) -> list[KnownWorkload]:
    """The workloads of a release, in the order of study_id; whatever is missing of their files is made first.

    connection: to the release's serving file. Raises LakeBroken.
    """
    path = _index_path(lake, release)
    make = partial(_make, path, lake, release, connection)
    if not path.is_file():
        have(lake, path, make)
    batch = _read(path)
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
    return set(_read(path).column("folder").to_pylist())


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


def _index_path(lake: Lake, release: Release) -> Path:
    version = f"{SERVING_VERSION}.{WORKLOAD_VERSION}.{INDEX_VERSION}"
    name = f"release-{release.number:06d}-{release.manifest_sha256[:12]}-workloads-v{version}.arrow"
    return lake.folder / "serving" / name


def _make(path: Path, lake: Lake, release: Release, connection: duckdb.DuckDBPyConnection) -> None:
    """Make the files of workloads that aren't there, then the index."""
    files, workloads = lake.files(release), workloads_of(connection)
    folders = made_workloads(lake, connection, workloads, files)
    with only_one_at_a_time(path.parent):
        unfinished = path.with_suffix(f".{os.getpid()}")
        try:
            _write(unfinished, workloads, folders, files)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


def _write(path: Path, workloads: Sequence[WorkloadStudies], folders: Sequence[str], files: Iterable[DataFile]) -> None:
    of_study: Mapping[Study, list[dict[str, Any]]] = defaultdict(list)
    for file in files:
        if file.table == "measurements" and file.study is not None:
            of_study[file.study].append({name: getattr(file, name) for name in _FILE.names})
    metrics: dict[tuple[str, ...], int] = {}
    columns = {
        "collection": [w.workload.collection for w in workloads],
        "dataset": [w.workload.dataset for w in workloads],
        "model": [w.workload.model for w in workloads],
        "optimizer": [w.workload.optimizer for w in workloads],
        "first_study": [w.first_study for w in workloads],
        "batch_sizes": [w.batch_sizes for w in workloads],
        "metrics": [[metrics.setdefault(names, len(metrics)) for names in w.metrics] for w in workloads],
        "folder": folders,
        "files": [[of_study[study] for study in w.studies] for w in workloads],
    }
    batch = pa.RecordBatch.from_pydict(columns, _INDEX.with_metadata({_METRICS: json.dumps(list(metrics)).encode()}))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def _read(path: Path) -> pa.RecordBatch:
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
    w = studies.workload
    keys = (w.collection, w.dataset, w.model, w.optimizer, studies.batch_sizes[study])
    found: list[dict[str, Any]] = files[row].values[study].as_py()
    return [DataFile("measurements", f["path"], f["bytes"], f["sha256"], f["rows"], *keys) for f in found]

"""Bundles of made-up logs, and bundles that strangers changed."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from losslake.lake.lake import Lake
from losslake_ingest.bundles.writing import write_bundle
from losslake_ingest.run import ingest
from tests.ingest.offers import Files, unpacked

MAPPING = b"""
collection = {name = "c", licence = "MIT"}
run = {dataset = "d", model = "m", optimizer = "o"}
parameters = {learning_rate = "{rate}"}
path = {patterns = ["{submitter}/b{batch_size:int}/lr{rate:float}/{name}.csv"]}
metrics = {loss = "val/cross_entropy_error", score = {metric = "val/score", direction = "maximize"}}
time = {elapsed_s = "seconds"}
goal = [{metric = "val/cross_entropy_error", target = 1.5, source = "rules"}]
"""
LOGS: Files = {
    "runs/ann/b8/lr0.1/a.csv": b"step,loss,score,seconds\n0,2,1,0\n10,1,nan,1.5\n",
    "runs/ann/b8/lr0.2/a.csv": b"step,loss,seconds\n0,2,0\n10,1.25,2\n20,1.125,3\n",
    "runs/ann/b16/lr0.1/a.csv": b"step,loss\n0,2\n5,1.5\n",
    "runs/ann/b16/lr0.3/a.csv": b"step,loss\n0,two\n",
}
Change = Callable[[pa.Table], pa.Table]


def logs_at(folder: Path, logs: Mapping[str, bytes] = LOGS) -> Path:
    """The folder, now with a mapping and these logs."""
    return unpacked(folder, {"losslake.toml": MAPPING, **logs})


def bundle_of(folder: Path, logs: Mapping[str, bytes] = LOGS, name: str = "c") -> Path:
    """A bundle of these logs."""
    lake = Lake.create(folder / f"lake-{name}")
    ingest(lake, [logs_at(folder / f"logs-{name}", logs)])
    path = folder / f"{name}.tar"
    write_bundle(lake, lake.release(), path, "https://host/c@1")
    return path


def members(bundle: Path) -> Files:
    """The files of a bundle, by name."""
    with tarfile.open(bundle) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]


def packed(path: Path, files: Mapping[str, bytes]) -> Path:
    """A tar of these files, the manifest first."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return path


def changed(bundle: Path, path: Path, changes: Mapping[str, Change], rows: Mapping[str, int] | None = None) -> Path:
    """A bundle with changed tables, whose manifest has their checksums and, unless it lies, their rows."""
    files = members(bundle)
    manifest = json.loads(files["bundle.json"])
    for name, change in changes.items():
        table = change(pq.read_table(pa.BufferReader(files[f"{name}.parquet"])))
        sink = io.BytesIO()
        pq.write_table(table, sink, compression="zstd", store_schema=False)
        files[f"{name}.parquet"] = sink.getvalue()
        manifest["files"][name] = {"sha256": hashlib.sha256(sink.getvalue()).hexdigest(), "rows": table.num_rows}
    for name, stated in (rows or {}).items():
        manifest["files"][name]["rows"] = stated
    files["bundle.json"] = json.dumps(manifest).encode()
    return packed(path, files)


def with_column(name: str, values: Callable[[list[object]], list[object]]) -> Change:
    """A change of one column of a table."""

    def change(table: pa.Table) -> pa.Table:
        place, field = table.column_names.index(name), table.schema.field(name)
        return table.set_column(place, field, pa.array(values(table[name].to_pylist()), field.type))

    return change

"""A release as a plain folder of Parquet files, for any tool, with checksums."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

import pyarrow.parquet as pq

from schema.database import Release
from schema.errors import LakeBroken, LossLakeError
from schema.lake import Lake
from schema.manifest import DataFile, sha256_of
from schema.tables import PARTITIONED


def export(
    lake: Lake, release: Release, folder: Path, link: bool = False, progress: Callable[[int, int], None] | None = None
) -> int:
    """Write a release to a new or empty folder and return the number of files.

    Partitioned tables become `measurements/collection=…/…/….parquet`, the others `studies.parquet`; `SHA256SUMS` lists
    all of them in the form of sha256sum, `README.md` says how to read them. link: hard links instead of copies.
    Raises LossLakeError when the folder holds something, LakeBroken when a copied file is not what was published.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise LossLakeError(f"{folder} is no folder: give a new one")
    if folder.is_dir() and any(folder.iterdir()):
        raise LossLakeError(f"{folder} is not empty: give a new folder")
    if folder.resolve().is_relative_to(lake.folder.resolve()):
        raise LossLakeError(f"{folder} is in the lake itself: give a folder elsewhere")
    files = lake.files(release)
    places = _places(files)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        unfinished.mkdir(parents=True)
        for done, file in enumerate(files, start=1):
            _put(lake.folder / file.path, unfinished / places[file.path], file, link)
            if progress:
                progress(done, len(files))
        (unfinished / "README.md").write_text(_readme(unfinished, release), "utf-8")
        _write_checksums(unfinished, {places[file.path]: file.sha256 for file in files})
        if folder.exists():
            folder.rmdir()
        unfinished.rename(folder)
    except OSError as error:
        raise LossLakeError(f"can't write {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return len(files) + 2


def _places(files: Sequence[DataFile]) -> dict[str, str]:
    """Where each file goes; several files of one partition are numbered."""
    counts: dict[str, int] = defaultdict(int)
    places = {}
    for file in sorted(files, key=lambda f: f.path):
        if file.study is None:
            places[file.path] = f"{file.table}.parquet"
            continue
        partition = f"{file.table}/{file.study.folder()}"
        places[file.path] = f"{partition}/part-{counts[partition]}.parquet"
        counts[partition] += 1
    return places


def _put(source: Path, target: Path, file: DataFile, link: bool) -> None:
    if not source.is_file():
        raise LakeBroken(f"the data file {source} is missing: restore it, or export another release")
    target.parent.mkdir(parents=True, exist_ok=True)
    if link:
        os.link(source, target)
    else:
        shutil.copyfile(source, target)
    if sha256_of(target) != file.sha256:
        raise LakeBroken(f"the data file {source} was altered since its release: restore it, or export another release")


def _write_checksums(folder: Path, known: dict[str, str]) -> None:
    known = known | {"README.md": sha256_of(folder / "README.md")}
    lines = [f"{sha256}  {path}\n" for path, sha256 in sorted(known.items())]
    (folder / "SHA256SUMS").write_text("".join(lines), "utf-8")


def _readme(folder: Path, release: Release) -> str:
    collections = pq.read_table(folder / "collections.parquet").to_pylist()
    sources = "\n".join(
        f"* **{row['collection']}**: {row['title']} Licence: {row['licence']}. {row['citation']}".rstrip()
        for row in collections
    )
    template = resources.files("schema.data").joinpath("export_readme.md").read_text("utf-8")
    return (
        template.replace("$release", str(release.number))
        .replace("$digest", release.content_digest)
        .replace("$measurements", f"{release.n_measurements:,}")
        .replace("$partitioned", " and ".join(f"`{name}/`" for name in PARTITIONED))
        .replace("$collections", sources)
    )

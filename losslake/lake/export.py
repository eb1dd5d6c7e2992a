"""A release as a plain folder of Parquet files, for any tool, with checksums."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from losslake.lake.croissant import CROISSANT_PLACE, croissant
from losslake.lake.documents import collections_of, documents
from losslake.lake.lake import Lake
from losslake.lake.manifest import checksum_lines, places, sha256_of
from losslake.lake.store.store import DataFile, Store
from losslake_schema.database import Release
from losslake_schema.errors import LakeBroken, LossLakeError


def export(
    lake: Lake, release: Release, folder: Path, link: bool = False, progress: Callable[[int, int], None] | None = None
) -> int:
    """Write a release to a new or empty folder and return the number of files.

    Partitioned tables become `measurements/collection=…/…/….parquet`, the others `studies.parquet`; `SHA256SUMS` lists
    all of them in the form of sha256sum, `README.md` says how to read them, `CITATION.cff` and `LICENSES/` how to cite
    and use them, `croissant.json` describes them to machines. link: hard links instead of copies.
    Raises LossLakeError when the folder holds something, LakeBroken when a copied file is not what was published.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise LossLakeError(f"{folder} is no folder: give a new one")
    if folder.is_dir() and any(folder.iterdir()):
        raise LossLakeError(f"{folder} is not empty: give a new folder")
    if link and not lake.store.url.startswith("file://"):
        raise LossLakeError(f"the files of {lake} can't be linked to: copy them")
    if folder.resolve().is_relative_to(lake.folder.resolve()):
        raise LossLakeError(f"{folder} is in the lake itself: give a folder elsewhere")
    files = lake.files(release)
    place_of = places(files)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        unfinished.mkdir(parents=True)
        for done, file in enumerate(files, start=1):
            _put(lake.store, unfinished / place_of[file.path], file, link)
            if progress:
                progress(done, len(files))
        collections = collections_of(lake, files)
        texts = documents(release, collections) | {CROISSANT_PLACE: croissant(release, files, collections)}
        for place, text in texts.items():
            (unfinished / place).parent.mkdir(parents=True, exist_ok=True)
            (unfinished / place).write_text(text, "utf-8")
        sums = {place_of[file.path]: file.sha256 for file in files}
        sums |= {place: sha256_of(unfinished / place) for place in texts}
        (unfinished / "SHA256SUMS").write_text(checksum_lines(sums), "utf-8")
        if folder.exists():
            folder.rmdir()
        unfinished.rename(folder)
    except OSError as error:
        raise LossLakeError(f"can't write {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return len(files) + len(texts) + 1


def _put(store: Store, target: Path, file: DataFile, link: bool) -> None:
    source = store.name_of(file.path)
    if store.missing([file.path]):
        raise LakeBroken(f"the data file {source} is missing: restore it, or export another release")
    target.parent.mkdir(parents=True, exist_ok=True)
    store.copy_to(file.path, target, link)
    if sha256_of(target) != file.sha256:
        raise LakeBroken(f"the data file {source} was altered since its release: restore it, or export another release")

"""Export of a release to a plain folder of Parquet files with checksums."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from losslake.lake.checksums import checksum_lines, sha256_of
from losslake.lake.croissant import CROISSANT_PATH, croissant
from losslake.lake.hugging_face import check_repository, dataset_card, merge_files, write_maps_as_lists
from losslake.lake.lake import Lake
from losslake.lake.public_paths import public_paths
from losslake.lake.readme_and_licences import collections_of, documents
from losslake.lake.store.store import DataFile, Store
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.release import Release
from losslake_schema.tables import PARTITIONED, STUDY_KEYS, TABLES


def export(
    lake: Lake,
    release: Release,
    folder: Path,
    link: bool = False,
    keys_in_files: bool = False,
    hugging_face: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write a release to a new or empty folder and return the number of files.

    Partitioned tables become `measurements/collection=…/…/….parquet`, the others `studies.parquet`; `SHA256SUMS` lists
    all of them in the format of sha256sum, `README.md` explains how to read them, `CITATION.cff` and `LICENSES/` how to
    cite and use them, and `croissant.json` describes them for tools. link: create hard links instead of copies.
    keys_in_files: the keys of a study are columns of its files, and not names in their paths. hugging_face: the
    name, OWNER/NAME, of a repository on the Hub: with keys_in_files, few files, a dataset card, and maps as lists.
    Raises LossLakeError if the folder is not empty, LakeBroken if a file is missing or differs from the published one.
    """
    if hugging_face is not None:
        check_repository(hugging_face)
        keys_in_files = True
    _check_folder(lake, folder, link, keys_in_files)
    files = lake.files(release)
    public_path = public_paths(files, keys_in_files)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        unfinished.mkdir(parents=True)
        for done, file in enumerate(files):
            target = unfinished / public_path[file.path]
            _copy(lake.store, target, file, link)
            if keys_in_files and file.batch_size is not None:
                files[done] = _add_keys(target, file)
            elif hugging_face is not None and write_maps_as_lists(target):
                files[done] = _rewritten(target, file)
            if progress:
                progress(done + 1, len(files))
        collections = collections_of(lake, files)
        if hugging_face is not None:
            merged = [file for table in PARTITIONED for file in merge_files(unfinished, table)]
            files = [*(file for file in files if file.table not in PARTITIONED), *merged]
            public_path = public_paths(files)
        texts = documents(release, collections, keys_in_files)
        texts[CROISSANT_PATH] = croissant(release, files, collections, keys_in_files=keys_in_files)
        if hugging_face is not None:
            texts["README.md"] = dataset_card(hugging_face, release, files, collections, texts["README.md"])
        _write_documents(unfinished, texts, {public_path[file.path]: file.sha256 for file in files})
        if folder.exists():
            folder.rmdir()
        unfinished.rename(folder)
    except OSError as error:
        raise LossLakeError(f"can't write {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return len(files) + len(texts) + 1


def _check_folder(lake: Lake, folder: Path, link: bool, keys_in_files: bool) -> None:
    if os.path.lexists(folder) and not folder.is_dir():
        raise LossLakeError(f"{folder} is not a folder: give a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise LossLakeError(f"{folder} is not empty: give a new folder")
    if link and lake.store.local_folder is None:
        raise LossLakeError(
            f"the files of {lake} are not on this machine and can't be hard-linked: export without --link"
        )
    if link and keys_in_files:
        why = "hard links keep the files as they are: export without --link"
        raise LossLakeError(f"{why}, or without --keys-in-files and --hugging-face")
    if folder.resolve().is_relative_to(lake.folder.resolve()):
        raise LossLakeError(f"{folder} is inside the lake: give a folder elsewhere")


def _write_documents(folder: Path, texts: Mapping[str, str], sums: Mapping[str, str]) -> None:
    """Write documents, and the checksums of these and of the data files, sums."""
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    every = {**sums, **{path: sha256_of(folder / path) for path in texts}}
    (folder / "SHA256SUMS").write_text(checksum_lines(every), "utf-8")


def _copy(store: Store, target: Path, file: DataFile, link: bool) -> None:
    source = store.display_name(file.path)
    if store.first_missing([file.path]):
        raise LakeBroken(f"the data file {source} is missing: restore it, or export another release")
    target.parent.mkdir(parents=True, exist_ok=True)
    store.copy_to(file.path, target, link)
    if sha256_of(target) != file.sha256:
        raise LakeBroken(f"the data file {source} was altered since its release: restore it, or export another release")


def _add_keys(path: Path, file: DataFile) -> DataFile:
    """Write a copied file of curves anew with the keys of its study as columns; return it with its new bytes."""
    source = pq.ParquetFile(pa.BufferReader(path.read_bytes()))
    schema, study = TABLES[file.table], {key: getattr(file, key) or None for key in STUDY_KEYS}
    repeated = [*STUDY_KEYS, "metric"]
    with pq.ParquetWriter(
        path, schema, compression="zstd", use_dictionary=repeated, write_statistics=repeated, store_schema=False
    ) as writer:
        for group in range(source.num_row_groups):
            rows = source.read_row_group(group)
            keys = {key: pa.repeat(pa.scalar(study[key], schema.field(key).type), len(rows)) for key in study}
            columns = {**keys, **{name: rows[name] for name in rows.column_names}}
            writer.write_table(pa.table(columns).select(schema.names).cast(schema))
    return _rewritten(path, file)


def _rewritten(path: Path, file: DataFile) -> DataFile:
    return replace(file, bytes=path.stat().st_size, sha256=sha256_of(path))

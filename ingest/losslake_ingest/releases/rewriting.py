"""Conversion of a lake of layout 2 to layout 3, and adoption of a moved lake, from the data files alone.

The releases are published anew, with their numbers, times and notes, in a temporary database, whose Iceberg tables are
in the lake's own warehouse. One transaction then replaces the releases and tables of the lake's database by them: a
kill leaves the lake as it was or as it should be, and `losslake maintain` deletes the files of the other one.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlalchemy import Connection, make_url, select, text
from sqlalchemy.orm import Session

from losslake.lake.catalog import create_database
from losslake.lake.data_files import check_files_exist, damaged_file, read_small_table, write_small_table
from losslake.lake.iceberg import add_tables, replace_versions
from losslake.lake.lake import LAYOUT_VERSION, MARKER_TEXT, REWRITABLE_VERSION, Lake, creation_lock
from losslake.lake.location import MARKER, check_layout, location_of
from losslake.lake.publishing import ReleaseMetadata, adopt
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.pipeline import encodings
from losslake_ingest.pipeline.write import LARGEST_ROW_GROUP, CurveFile
from losslake_schema.database import ReleaseRow
from losslake_schema.errors import LossLakeError
from losslake_schema.migrating import NEWEST, migrate, version_of
from losslake_schema.registry import Goal
from losslake_schema.registry import goals as registered_goals
from losslake_schema.release import Release
from losslake_schema.tables import GOALS, PARTITIONED

# The columns of a release that depend on its files.
_OF_FILES = (
    "manifest", "manifest_sha256", "content_digest", "n_studies", "n_trials", "n_evaluations", "n_measurements",
)  # fmt: skip
_BEFORE = "0002"  # the version of the database of a lake of layout 2
_SCRATCH = "rewriting"
Progress = Callable[[int, int], None]


def rewrite(location: str | Path | None = None, progress: Progress | None = None) -> Lake:
    """Convert a lake of layout 2, if it isn't converted yet, and return it.

    Numbers, times, notes, content digests and values stay; sources of studies lose their folders. Unlisted releases
    keep their row. progress: called with the number of converted files and the total. Raises LossLakeError if a release
    is published meanwhile, and the errors of `Lake.open`.
    """
    lake = Lake(location_of(location))
    if lake.store.first_missing([MARKER]):
        return Lake.open(location)
    marker = bytes(lake.store.read(MARKER)).decode("utf-8", "replace")
    check_layout(marker, lake.store.display_name(MARKER), (REWRITABLE_VERSION, LAYOUT_VERSION))
    with creation_lock(lake):
        with lake.engine.connect() as connection:
            is_old = (version_of(connection) or "") < NEWEST
        if is_old:
            migrate(lake.engine, _BEFORE)
            with _scratch(lake) as folder:
                _rewrite(lake, folder, progress)
        if marker != MARKER_TEXT:
            lake.store.put(MARKER, MARKER_TEXT.encode())
    return Lake.open(location)


def adopt_moved(location: str | Path | None = None) -> Lake:
    """Let the catalog of a lake that was moved or copied refer to the files that are beside it now; return the lake.

    Nothing changes if it does so already. Numbers, times, digests and data files of releases stay. Raises LakeBroken if
    a data file is missing, LossLakeError if a release is published meanwhile, and the errors of `Lake.open`.
    """
    lake = Lake.open(location)
    with creation_lock(lake):
        if not lake.is_in_place():
            releases = list(reversed(lake.releases()))
            for release in releases:
                check_files_exist(lake.store, lake.files(release))
            with _scratch(lake) as folder:
                _republish(lake, folder, releases, lake.files)
    return lake


def republish(
    lake: Lake,
    releases: list[Release],
    files: Callable[[Release], list[DataFile]],
    digest: Callable[[Release], str],
    also: Callable[[Session], None],
) -> None:
    """Publish releases anew with other files, counts and content digests, all in one transaction.

    releases: all that are listed, oldest first. also: makes further changes of the database in that transaction. Raises
    LossLakeError if another release is published meanwhile.
    """
    with creation_lock(lake), _scratch(lake) as folder:
        _republish(lake, folder, releases, files, digest, also)


@contextmanager
def _scratch(lake: Lake) -> Iterator[Path]:
    """Provide a folder for a temporary database, which may have texts that are being erased; hold the creation lock."""
    delete_scratch(lake)
    folder = lake.folder / _SCRATCH
    folder.mkdir(mode=0o700, parents=True)
    try:
        yield folder
    finally:
        delete_scratch(lake)


def delete_scratch(lake: Lake) -> None:
    """Delete the temporary database that a kill has left."""
    shutil.rmtree(lake.folder / _SCRATCH, ignore_errors=True)


def _rewrite(lake: Lake, folder: Path, progress: Progress | None) -> None:
    releases = list(reversed(lake.releases()))
    files = {file.path: file for release in releases for file in lake.files(release)}
    converted: dict[str, list[DataFile]] = {}
    with ThreadPoolExecutor() as pool:
        for path, new in zip(files, pool.map(partial(_converted, lake.store), files.values()), strict=True):
            converted[path] = new
            if progress:
                progress(len(converted), len(files))

    def converted_files(release: Release) -> list[DataFile]:
        return [new for file in lake.files(release) for new in converted[file.path]]

    _republish(lake, folder, releases, converted_files)


def _republish(
    lake: Lake,
    folder: Path,
    releases: list[Release],
    files: Callable[[Release], list[DataFile]],
    digest: Callable[[Release], str] = lambda release: release.content_digest,
    also: Callable[[Session], None] = lambda _: None,
) -> None:
    """Publish releases anew, with these files, in a temporary database, and switch to it.

    releases: all that were listed when the work began. digest: of the content with these files. also: see `republish`.
    Raises LossLakeError if the releases are others by now.
    """
    scratch = Lake(replace(lake.location, catalog=make_url(f"sqlite:///{folder / 'catalog.db'}")))
    create_database(scratch.engine)
    for release in releases:
        release_files = files(release)
        metadata = ReleaseMetadata(release.number, release.created_at, release.notes, digest(release))
        adopt(scratch, metadata, release_files, read_small_table(lake.store, release_files, "studies"), [])
    add_tables(scratch, lake.table_versions().keys())
    with lake.engine.begin() as connection:
        _switch(lake, connection, scratch, releases, also)


def _converted(store: Store, file: DataFile) -> list[DataFile]:
    """Return the files that replace a file of layout 2; its own, if that doesn't change."""
    try:
        data = store.read(file.path)
    except OSError as error:
        raise damaged_file(store, file.path, f"can't be read ({error.strerror})") from None
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise damaged_file(store, file.path, "was altered (its sha256 differs)")
    if file.table in PARTITIONED:
        return _with_plain_values(store, file, data)
    convert = {"studies": _without_folders, "goals": _with_comparators}.get(file.table)
    return [convert(store, file) if convert else file]


def _with_plain_values(store: Store, file: DataFile, data: pa.Buffer) -> list[DataFile]:
    """Store the rows of a file of curves with the value of each row and, of records, the previous step.

    As in an ingest, metrics whose values repeat get a file of their own.

    The columns of layout 2 are taken by their places: metric, trial_id, step, its distance from the previous step
    (records only), digits, the power of ten that the digits are divided by, value (if it isn't their quotient),
    elapsed_s.
    """
    table = pq.ParquetFile(pa.BufferReader(data)).read()
    metric, trial_id, step, *distance, digits, power, value, elapsed_s = table.columns
    columns = {"trial_id": trial_id, "step": step}
    if distance:
        columns["previous_step"] = pc.subtract(step, distance[0])
    columns |= {"value": pc.coalesce(value, pc.divide(digits, power)), "elapsed_s": elapsed_s}
    rows = pa.table(columns)
    steps = encodings.smallest(step.to_numpy(), encodings.STEPS)
    of_steps = dict.fromkeys(("step", "previous_step") if distance else ("step",), steps)
    targets: dict[str, CurveFile] = {}
    for name in sorted(pc.unique(metric).to_pylist()):
        metric_rows = rows.filter(pc.equal(metric, name)).combine_chunks()
        values = encodings.for_values(np.asarray(metric_rows["value"].to_numpy()), LARGEST_ROW_GROUP)
        if values.name not in targets:
            targets[values.name] = CurveFile(file.table, of_steps, values)
        columns = {column: metric_rows[column].combine_chunks() for column in metric_rows.column_names}
        targets[values.name].add(name, columns)
    if not targets:
        targets[""] = CurveFile(file.table, of_steps, encodings.SPLIT)
    assert file.study is not None
    return [target.finish(store, file.study).file for target in targets.values()]


def _with_comparators(store: Store, file: DataFile) -> DataFile:
    """Store the table of goals with a comparator: that of the goal that LossLake knows, else strict as it was."""
    registered = {(goal.workload, goal.metric, goal.target): goal.comparator for goal in registered_goals()}
    rows = pq.ParquetFile(pa.BufferReader(store.read(file.path))).read().to_pylist()
    goals = map(Goal.of, rows)
    comparators = [registered.get((goal.workload, goal.metric, goal.target), "strict") for goal in goals]
    rows = [row | {"comparator": each} for row, each in zip(rows, comparators, strict=True)]
    return write_small_table(store, "goals", pa.Table.from_pylist(rows, GOALS)).file


def _without_folders(store: Store, file: DataFile) -> DataFile:
    """Store the table of studies with the last name of each local source: its folders name users and projects."""
    studies = read_small_table(store, [file], "studies")
    sources = [
        source if source.startswith(("http://", "https://")) else source.rstrip("/").rpartition("/")[2]
        for source in studies["source"].to_pylist()
    ]
    place = studies.column_names.index("source")
    studies = studies.set_column(place, studies.schema.field("source"), pa.array(sources, pa.string()))
    return write_small_table(store, "studies", studies).file


def _switch(
    lake: Lake, connection: Connection, scratch: Lake, releases: list[Release], also: Callable[[Session], None]
) -> None:
    """Replace the releases and Iceberg tables of the lake's database by those of the scratch one."""
    if lake.engine.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE losslake_releases IN EXCLUSIVE MODE"))
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    session = Session(connection)
    manifests = {release.number: release.manifest for release in releases}
    listed = session.scalars(select(ReleaseRow).where(ReleaseRow.unlisted_at.is_(None))).all()
    if {release.number: release.manifest for release in listed} != manifests:
        raise LossLakeError(f"another process changed the releases of {lake}: stop it and run the same command again")
    new = {release.number: release for release in scratch.releases()}
    for release in listed:
        for name in _OF_FILES:
            setattr(release, name, getattr(new[release.number], name))
        snapshots = new[release.number].snapshots
        for snapshot in list(release.snapshots):
            if snapshot.table in snapshots:
                snapshot.snapshot_id = snapshots[snapshot.table]
            else:
                session.delete(snapshot)
    also(session)
    session.commit()  # of the session only: the connection's transaction goes on
    replace_versions(connection, scratch.table_versions())
    connection.execute(text("UPDATE losslake_version SET version_num = :version"), {"version": NEWEST})

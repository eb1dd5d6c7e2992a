"""Download of a release, or a part of it, from a service into a local lake."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import select

from losslake.client.client import Client, RemoteError
from losslake.client.fetching import ProgressTotal, RemoteFile, fetch_all
from losslake.client.service import ListedFile, ListedRelease, Service
from losslake.lake.data_files import column_by_study, data_file, folder_of, read_small_table, write_small_table
from losslake.lake.lake import Lake
from losslake.lake.machine import locked
from losslake.lake.publishing import ReleaseMetadata, adopt, content_digest, data_file_problem
from losslake.lake.store.store import DataFile
from losslake_schema.database import LedgerEntry
from losslake_schema.names import Study
from losslake_schema.release import Release
from losslake_schema.tables import ALL_TABLES, OPTIONAL_TABLES, PARTITIONED, STUDY_KEYS, TABLES


@dataclass(frozen=True)
class Selection:
    """The selected values of each key of a study; no values mean all."""

    values: Mapping[str, Sequence[str | int]]

    @property
    def is_everything(self) -> bool:
        """True if nothing is excluded."""
        return not any(self.values.values())

    def __str__(self) -> str:
        return "; ".join(f"{key} {', '.join(map(str, values))}" for key, values in self.values.items() if values)

    def includes(self, study: Study) -> bool:
        """Return True if a study is selected."""
        key = study.shown_key()
        return all(not values or key[name] in values for name, values in self.values.items())

    def filter_tables(self, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Return the small tables of a release with the rows of the selected studies only."""
        studies = self._rows(tables["studies"])
        collections, metrics = tables["collections"], tables["metrics"]
        measured = pc.unique(pc.list_flatten(studies["metrics"]))
        return {
            "collections": collections.filter(pc.is_in(collections["collection"], pc.unique(studies["collection"]))),
            "studies": studies,
            "trials": self._rows(tables["trials"]),
            "metrics": metrics.filter(pc.is_in(metrics["metric"], measured)),
            "goals": _of_workloads(tables["goals"], studies),
            **{name: self._rows(tables[name]) for name in OPTIONAL_TABLES},
        }

    def _rows(self, table: pa.Table) -> pa.Table:
        for name, values in self.values.items():
            if values:
                table = table.filter(pc.is_in(table[name], pa.array(values, TABLES["studies"].field(name).type)))
        return table


def _of_workloads(goals: pa.Table, studies: pa.Table) -> pa.Table:
    keys = list(STUDY_KEYS[:4])
    workloads = set(zip(*(studies[key].to_pylist() for key in keys), strict=True))
    rows = zip(*(goals[key].to_pylist() for key in keys), strict=True)
    return goals.filter(pa.array([row in workloads for row in rows], pa.bool_()))


ORIGIN = "losslake release"  # the format of a downloaded release in the ledger
_MOST_SHOWN = 20


class Progress(Protocol):
    """Receives the progress of a download."""

    def begin(self, name: str, total_bytes: int, total_files: int) -> None:
        """Begin a download."""

    def advance(self, bytes_here: int, files_here: int) -> None:
        """Report the bytes and files that are complete so far."""


@dataclass(frozen=True)
class Downloaded:
    """The result of a download; is_new is False if the release existed already."""

    release: Release
    files: int
    bytes: int
    is_new: bool


def download(
    client: Client,
    service: Service,
    place: str,
    number: int | None,
    selection: Selection,
    jobs: int,
    progress: Progress,
) -> Downloaded:
    """Download a release, or the selected part of it, as the newest release of the lake at `place`.

    Creates the lake if it doesn't exist. Resumes an interrupted download. Raises RemoteError, and LossLakeError if
    `place` contains something else.
    """
    listed = service.release(number)
    selected = _selected_files(service, listed, selection)
    lake = Lake.create(place)
    lake.check_location()
    notes = _notes(service, listed, selection)
    with _download_lock(lake) as unfinished:
        existing = _existing_release(lake, service, listed, notes)
        if existing is not None:
            return Downloaded(existing, 0, 0, is_new=False)
        files, tables = _Download(client, service, lake, listed, selection, unfinished).run(selected, jobs, progress)
        digest = content_digest(tables)
        if selection.is_everything and digest != listed.content_digest:
            message = f"release {listed.release} of {service.name} states the digest {listed.content_digest[:12]}…"
            raise RemoteError(f"{message}, but its tables have {digest[:12]}…: contact the operator of the service")
        metadata = ReleaseMetadata(listed.release, listed.created_at.astimezone(UTC), notes, digest)
        release = adopt(lake, metadata, files, tables["studies"], [_origin(service, selection)])
        shutil.rmtree(unfinished, ignore_errors=True)
        return Downloaded(release, len(files), sum(file.bytes for file in files), is_new=True)


@dataclass(frozen=True)
class _Download:
    """The download of the files of one release into a lake."""

    _client: Client
    _service: Service
    _lake: Lake
    _listed: ListedRelease
    _selection: Selection
    _unfinished: Path

    def run(
        self, selected: Sequence[ListedFile], jobs: int, progress: Progress
    ) -> tuple[list[DataFile], dict[str, pa.Table]]:
        """Fetch the files, and return the files and small tables of the new release."""
        local = self._local_files(selected)
        self._fetch(selected, local, jobs, progress)
        tables = {
            name: read_small_table(self._lake.store, local, name) for name in ALL_TABLES if name not in PARTITIONED
        }
        if not self._selection.is_everything:
            tables = self._selection.filter_tables(tables)
            local = [file for file in local if file.study is not None]
            stored = {name: table for name, table in tables.items() if table.num_rows or name not in OPTIONAL_TABLES}
            local += [write_small_table(self._lake.store, name, table).file for name, table in stored.items()]
        self._check(local, tables)
        return local, tables

    def _local_files(self, selected: Sequence[ListedFile]) -> list[DataFile]:
        """Return the local files, named by their content, so that later releases share them.

        Small tables of a partial download go to the folder of unfinished files: only a part of them is stored.
        """
        times: Counter[Path] = Counter()
        files = []
        for listed in selected:
            folder = folder_of(listed.table, listed.study)
            if listed.study is None and not self._selection.is_everything:
                folder = self._unfinished.relative_to(self._lake.folder) / listed.table
            path = folder / listed.sha256[:32]
            times[path] += 1
            again = f"-{times[path]}" if times[path] > 1 else ""
            name = f"{path.as_posix()}{again}.parquet"
            files.append(data_file(listed.table, listed.study, name, listed.bytes, listed.sha256, listed.rows))
        return files

    def _fetch(self, selected: Sequence[ListedFile], local: Sequence[DataFile], jobs: int, progress: Progress) -> None:
        release = self._listed.release
        wanted = [
            RemoteFile(self._service.data_url(release, listed), file.bytes, file.sha256, self._lake.folder / file.path)
            for listed, file in zip(selected, local, strict=True)
        ]
        missing = sum(one.size for one in wanted if not one.target.exists())
        free = shutil.disk_usage(self._unfinished).free
        if missing > free:
            raise RemoteError(f"{missing:,} bytes are missing, but {self._lake.folder} has space for {free:,} only")
        progress.begin(f"release {release}", sum(one.size for one in wanted), len(wanted))
        fetch_all(self._client, wanted, self._unfinished, jobs, ProgressTotal(progress.advance))
        for file in local:
            self._lake.store.move_in(self._lake.folder / file.path, file.path)
            fault = data_file_problem(self._lake, file)
            if fault:
                raise RemoteError(f"{file.table} of release {release} of {self._service.name}: a file {fault}")

    def _check(self, local: Sequence[DataFile], tables: Mapping[str, pa.Table]) -> None:
        """Raise RemoteError unless the files match the counts of their tables, or those of the service for all."""
        listed, studies = self._listed, tables["studies"]
        actual = {
            "n_studies": studies.num_rows,
            "n_trials": tables["trials"].num_rows,
            "n_evaluations": sum(studies["n_evaluations"].to_pylist()),
            "n_measurements": sum(file.rows for file in local if file.table == "measurements"),
        }
        expected = {name: sum(studies[name].to_pylist()) for name in ("n_trials", "n_measurements")}
        if self._selection.is_everything:
            expected = {name: getattr(listed, name) for name in actual}
        is_whole = all(actual[name] == count for name, count in expected.items())
        studies_here = {file.study for file in local if file.study}
        if not is_whole or studies_here != set(column_by_study(studies, "content_digest")):
            message = f"the files of release {listed.release} of {self._service.name} do not match its counts"
            raise RemoteError(f"{message}: contact the operator of the service")


def _existing_release(lake: Lake, service: Service, listed: ListedRelease, notes: str) -> Release | None:
    """Return the same release in this lake, or None; raise RemoteError if the lake can't store it."""
    releases = lake.releases()
    same = next((r for r in releases if r.number == listed.release), None)
    if same is not None:
        if same.notes == notes and _is_from(lake, service, same):
            return same
        raise RemoteError(f"{lake} already has another release {listed.release}: give another folder")
    if releases and releases[0].number > listed.release:
        raise RemoteError(f"{lake} already has a newer release, {releases[0].number}: give another folder")
    if releases and not _is_from(lake, service, releases[0]):
        raise RemoteError(f"the newest release in {lake} was not downloaded from {service.name}: give another folder")
    return None


def _is_from(lake: Lake, service: Service, release: Release) -> bool:
    origin = select(LedgerEntry.id).where(
        LedgerEntry.format == ORIGIN, LedgerEntry.source == service.name, LedgerEntry.release == release.number
    )
    return lake.read(lambda session: session.scalars(origin).first()) is not None


def _origin(service: Service, selection: Selection) -> LedgerEntry:
    reason = str(selection) or None
    now = datetime.now(UTC)
    return LedgerEntry(offered_at=now, source=service.name, path="", format=ORIGIN, outcome="ingested", reason=reason)


def _notes(service: Service, listed: ListedRelease, selection: Selection) -> str:
    if selection.is_everything:
        return listed.notes
    part = f"part of release {listed.release} of {service.name}: {selection}"
    return f"{part}. {listed.notes}" if listed.notes else part


def _selected_files(service: Service, listed: ListedRelease, selection: Selection) -> list[ListedFile]:
    files = service.files(listed.release)
    selected = [file for file in files if file.study is None or selection.includes(file.study)]
    if not selection.is_everything and not any(file.study for file in selected):
        keys = [key for key, values in selection.values.items() if values]
        existing = {key: sorted({file.study.shown_key()[key] for file in files if file.study}, key=str) for key in keys}
        choices = "; ".join(f"{key} {', '.join(map(str, values[:_MOST_SHOWN]))}" for key, values in existing.items())
        raise RemoteError(f"no study of release {listed.release} has {selection}; it has {choices}")
    return selected


@contextmanager
def _download_lock(lake: Lake) -> Iterator[Path]:
    """Lock and yield the folder for unfinished files, so that only one download runs at a time."""
    folder = lake.folder / "downloading"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, RemoteError(f"another download into {lake} is running: wait until it finishes")):
        yield folder

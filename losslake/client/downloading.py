"""Download a release of a service, or a part of it, as a release of a lake on this machine."""

from __future__ import annotations

import fcntl
import os
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
from losslake.client.fetching import Tally, Wanted, fetch_all
from losslake.client.service import ListedFile, ListedRelease, Service
from losslake.lake import iceberg
from losslake.lake.data_files import data_file, folder_of, stored_table, studies_in, write_small_table
from losslake.lake.lake import Lake
from losslake.lake.publishing import ReleaseFacts, adopt, content_digest, why_not_a_data_file
from losslake.lake.store.store import DataFile
from losslake_schema.database import LedgerEntry, Release
from losslake_schema.names import Study
from losslake_schema.tables import PARTITIONED, STUDY_KEYS, TABLES


@dataclass(frozen=True)
class Selection:
    """For each key of a study, the values that are wanted; none given means all."""

    wanted: Mapping[str, Sequence[str | int]]

    @property
    def is_everything(self) -> bool:
        return not any(self.wanted.values())

    def __str__(self) -> str:
        return "; ".join(f"{key} {', '.join(map(str, found))}" for key, found in self.wanted.items() if found)

    def holds(self, study: Study) -> bool:
        """Whether a study is wanted."""
        key = study.key()
        return all(not found or key[name] in found for name, found in self.wanted.items())

    def of(self, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """The small tables of a release, reduced to the studies that are wanted and to what these need."""
        studies = self._rows(tables["studies"])
        collections = tables["collections"]
        metrics = tables["metrics"]
        measured = {name for names in studies["metrics"].to_pylist() for name in names}
        goals = _of_workloads(tables["goals"], studies)
        return {
            "collections": collections.filter(pc.is_in(collections["collection"], _set(studies["collection"]))),
            "studies": studies,
            "trials": self._rows(tables["trials"]),
            "metrics": metrics.filter(pc.is_in(metrics["metric"], pa.array(sorted(measured), pa.string()))),
            "goals": goals,
        }

    def _rows(self, table: pa.Table) -> pa.Table:
        for name, found in self.wanted.items():
            if found:
                table = table.filter(pc.is_in(table[name], pa.array(found, TABLES["studies"].field(name).type)))
        return table


def _of_workloads(goals: pa.Table, studies: pa.Table) -> pa.Table:
    keys = list(STUDY_KEYS[:4])
    there = set(zip(*(studies[key].to_pylist() for key in keys), strict=True))
    rows = zip(*(goals[key].to_pylist() for key in keys), strict=True)
    return goals.filter(pa.array([row in there for row in rows], pa.bool_()))


def _set(column: pa.ChunkedArray) -> pa.Array:
    return pa.array(sorted(set(column.to_pylist())), column.type)


ORIGIN = "losslake release"
"""What the ledger has as the format of a downloaded release."""

_UNFINISHED = "downloading"
_MOST_SHOWN = 20


class Progress(Protocol):
    """Hears how a download gets on."""

    def begin(self, what: str, total_bytes: int, total_files: int) -> None: ...

    def advance(self, bytes_here: int, files_here: int) -> None: ...


@dataclass(frozen=True)
class Downloaded:
    """What a download led to; is_new is False when the release was there already."""

    release: Release
    files: int
    bytes: int
    is_new: bool


def download(
    client: Client, service: Service, place: str, number: int | None, selection: Selection, jobs: int, heard: Progress
) -> Downloaded:
    """Make a release of a service, or what is selected of it, the newest release of the lake at a place.

    The lake is made if there is none. Run again, it goes on where it was left. Raises RemoteError, and LossLakeError
    when the place holds something else.
    """
    listed = service.release(number)
    chosen = _chosen(service, listed, selection)
    lake = Lake.create(place)
    lake.check_place()
    notes = _notes(service, listed, selection)
    with _alone_in(lake) as unfinished:
        there = _there_already(lake, service, listed, notes)
        if there is not None:
            iceberg.settle(lake, there, "")
            return Downloaded(there, 0, 0, is_new=False)
        work = _Download(client, service, lake, listed, selection, unfinished)
        files, tables = work.run(chosen, jobs, heard)
        digest = content_digest(tables)
        if selection.is_everything and digest != listed.content_digest:
            raise RemoteError(
                f"release {listed.release} of {service.name} says that its digest is {listed.content_digest[:12]}…, "
                f"its tables give {digest[:12]}…: ask the service's operator"
            )
        facts = ReleaseFacts(listed.release, listed.created_at.astimezone(UTC), notes, digest)
        release = adopt(lake, facts, files, tables["studies"], [_origin(service, selection)])
        shutil.rmtree(unfinished, ignore_errors=True)
        return Downloaded(release, len(files), sum(file.bytes for file in files), is_new=True)


class _Download:
    """The files of one release on their way into a lake."""

    def __init__(
        self,
        client: Client,
        service: Service,
        lake: Lake,
        listed: ListedRelease,
        selection: Selection,
        unfinished: Path,
    ) -> None:
        self._client = client
        self._service = service
        self._lake = lake
        self._listed = listed
        self._selection = selection
        self._unfinished = unfinished

    def run(
        self, chosen: Sequence[ListedFile], jobs: int, heard: Progress
    ) -> tuple[list[DataFile], dict[str, pa.Table]]:
        """Fetch the files; returns the files and the small tables of the release to be."""
        here = self._places(chosen)
        self._fetch(chosen, here, jobs, heard)
        tables = {name: stored_table(self._lake.store, here, name) for name in TABLES if name not in PARTITIONED}
        if not self._selection.is_everything:
            tables = self._selection.of(tables)
            here = [file for file in here if file.study is not None]
            here += [write_small_table(self._lake.store, name, table).file for name, table in tables.items()]
        self._check(here, tables)
        return here, tables

    def _places(self, chosen: Sequence[ListedFile]) -> list[DataFile]:
        """Where each file goes: named by its content, so that it is known again in a later release.

        The small tables of which only a part is wanted go where the unfinished files are.
        """
        times: Counter[Path] = Counter()
        places = []
        for listed in chosen:
            folder = folder_of(listed.table, listed.study)
            if listed.study is None and not self._selection.is_everything:
                folder = self._unfinished.relative_to(self._lake.folder) / listed.table
            path = folder / listed.sha256[:32]
            times[path] += 1
            again = f"-{times[path]}" if times[path] > 1 else ""
            name = f"{path.as_posix()}{again}.parquet"
            places.append(data_file(listed.table, listed.study, name, listed.bytes, listed.sha256, listed.rows))
        return places

    def _fetch(self, chosen: Sequence[ListedFile], here: Sequence[DataFile], jobs: int, heard: Progress) -> None:
        wanted = [
            Wanted(
                self._service.data_url(self._listed.release, listed),
                file.bytes,
                file.sha256,
                self._lake.folder / file.path,
            )
            for listed, file in zip(chosen, here, strict=True)
        ]
        missing = sum(one.size for one in wanted if not one.target.exists())
        free = shutil.disk_usage(self._unfinished).free
        if missing > free:
            raise RemoteError(f"{missing:,} bytes are to come, but {self._lake.folder} has space for {free:,} only")
        heard.begin(f"release {self._listed.release}", sum(one.size for one in wanted), len(wanted))
        fetch_all(self._client, wanted, self._unfinished, jobs, Tally(heard.advance))
        for file in here:
            self._lake.store.take(self._lake.folder / file.path, file.path)
            fault = why_not_a_data_file(self._lake, file)
            if fault:
                raise RemoteError(
                    f"{file.table} of release {self._listed.release} of {self._service.name}: a file {fault}"
                )

    def _check(self, here: Sequence[DataFile], tables: Mapping[str, pa.Table]) -> None:
        """Whether what is here is whole by its own account, and the whole release by that of the service."""
        listed, studies = self._listed, tables["studies"]
        found = {
            "n_studies": studies.num_rows,
            "n_trials": tables["trials"].num_rows,
            "n_evaluations": sum(studies["n_evaluations"].to_pylist()),
            "n_measurements": sum(file.rows for file in here if file.table == "measurements"),
        }
        said = {name: sum(studies[name].to_pylist()) for name in ("n_trials", "n_measurements")}
        if self._selection.is_everything:
            said = {name: getattr(listed, name) for name in found}
        is_whole = all(found[name] == count for name, count in said.items())
        if not is_whole or {file.study for file in here if file.study} != set(studies_in(studies, "content_digest")):
            raise RemoteError(
                f"release {listed.release} of {self._service.name} lacks files, or holds others than it says: "
                "ask the service's operator"
            )


def _there_already(lake: Lake, service: Service, listed: ListedRelease, notes: str) -> Release | None:
    """The same release in this lake, if it is there; raises RemoteError when the lake can't take it."""
    releases = lake.releases()
    same = next((r for r in releases if r.number == listed.release), None)
    if same is not None:
        if same.notes == notes and _came_from(lake, service, same):
            return same
        raise RemoteError(f"{lake} has another release {listed.release} already: give another folder")
    if releases and releases[0].number > listed.release:
        raise RemoteError(f"{lake} has a newer release, {releases[0].number}, already: give another folder")
    if releases and not _came_from(lake, service, releases[0]):
        raise RemoteError(f"the newest release in {lake} was not downloaded from {service.name}: give another folder")
    return None


def _came_from(lake: Lake, service: Service, release: Release) -> bool:
    origin = select(LedgerEntry.id).where(
        LedgerEntry.format == ORIGIN, LedgerEntry.source == service.name, LedgerEntry.release == release.number
    )
    return lake.read(lambda session: session.scalars(origin).first()) is not None


def _origin(service: Service, selection: Selection) -> LedgerEntry:
    return LedgerEntry(
        offered_at=datetime.now(UTC),
        source=service.name,
        path="",
        format=ORIGIN,
        outcome="ingested",
        reason=str(selection) or None,
    )


def _notes(service: Service, listed: ListedRelease, selection: Selection) -> str:
    if selection.is_everything:
        return listed.notes
    part = f"part of release {listed.release} of {service.name}: {selection}"
    return f"{part}. {listed.notes}" if listed.notes else part


def _chosen(service: Service, listed: ListedRelease, selection: Selection) -> list[ListedFile]:
    files = service.files(listed.release)
    chosen = [file for file in files if file.study is None or selection.holds(file.study)]
    if not selection.is_everything and not any(file.study for file in chosen):
        keys = [key for key, found in selection.wanted.items() if found]
        there = {key: sorted({file.study.key()[key] for file in files if file.study}, key=str) for key in keys}
        known = "; ".join(f"{key} {', '.join(map(str, values[:_MOST_SHOWN]))}" for key, values in there.items())
        raise RemoteError(f"no study of release {listed.release} has {selection}; there are: {known}")
    return chosen


@contextmanager
def _alone_in(lake: Lake) -> Iterator[Path]:
    """The folder for what is not whole yet, which only one download has at a time."""
    folder = lake.folder / _UNFINISHED
    folder.mkdir(parents=True, exist_ok=True)
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    except BlockingIOError:
        raise RemoteError(f"another download into {lake} is under way: let it finish") from None
    finally:
        os.close(opened)

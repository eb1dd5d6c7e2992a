"""The lake: an Iceberg catalog, data files, releases and the ledger, in a folder or at two URLs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Engine, select, text
from sqlalchemy.orm import Session

from losslake.lake.connecting import SECONDS_TO_READ, engine_of, patiently
from losslake.lake.location import MARKER, Location, layout_of, location_of
from losslake.lake.machine import locked
from losslake.lake.manifest import read_manifest
from losslake.lake.store.folder import FolderStore
from losslake.lake.store.store import DataFile, Store
from losslake_schema.database import LedgerEntry, Release
from losslake_schema.errors import LakeBroken, LakeNotFound, LossLakeError, UnknownRelease
from losslake_schema.migrating import check, migrate
from losslake_schema.tables import NAMESPACE

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.table import Table

LAYOUT_VERSION = 2
T = TypeVar("T")
WAREHOUSE = "warehouse"
_MARKER_TEXT = f"""# A LossLake lake: data files in warehouse/, catalog, releases and ledger in catalog.db.
layout_version = {LAYOUT_VERSION}
"""
_MAKING = 5_355_321  # the number of the lock that PostgreSQL keeps while a lake is made


@dataclass(frozen=True)
class Lake:
    """A lake. Make one by `Lake.create`, open one by `Lake.open`."""

    location: Location

    @staticmethod
    def open(location: Location | str | Path | None = None) -> Lake:
        """Open an existing lake; raises LakeNotFound, or LakeBroken for a layout of another version."""
        lake = Lake(location if isinstance(location, Location) else location_of(location))
        try:
            marker = bytes(lake.store.read(MARKER)).decode("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            raise LakeNotFound(
                f"there is no lake in {lake}: make one with 'losslake ingest PATH --lake {lake.typed}', "
                "or name another with --lake or LOSSLAKE_LAKE"
            ) from None
        except UnicodeDecodeError as error:
            raise LakeBroken(f"{lake.store.name_of(MARKER)} can't be read ({error}): restore it") from None
        except OSError as error:
            raise LossLakeError(f"can't read the lake: {error.strerror or error}") from None
        layout_of(marker, lake.store.name_of(MARKER), LAYOUT_VERSION)
        patiently(lambda: check(lake.engine, lake.typed), SECONDS_TO_READ)
        return lake

    @staticmethod
    def create(location: str | Path | None = None) -> Lake:
        """Open the lake at `location`, making it first if there is none; safe to call from several processes.

        Raises what `open` raises, also for a database whose tables are of an older version: `migrate` helps there.
        """
        lake = Lake(location_of(location))
        if lake.location.is_folder:
            _check_folder(lake.folder)
        if lake.store.missing([MARKER]):
            lake._make_tables()
        return Lake.open(location)

    @staticmethod
    def migrate(location: str | Path | None = None) -> Lake:
        """As `create`, and brings the tables in the database to the version that this LossLake works with."""
        lake = Lake(location_of(location))
        if not lake.store.missing([MARKER]):
            with _only_one_at_once(lake):
                migrate(lake.engine)
        return Lake.create(location)

    @property
    def folder(self) -> Path:
        """The folder of this machine: the lake itself, or what is kept here of one that is elsewhere."""
        return self.location.folder

    def __str__(self) -> str:
        return str(self.location)

    @property
    def typed(self) -> str:
        """The lake as a command line takes it."""
        return shlex.quote(str(self))

    @cached_property
    def store(self) -> Store:
        """Where its files lie for good."""
        return store_of(self.location)

    @property
    def warehouse(self) -> Path:
        """The folder below which its data files lie, where they lie in a folder."""
        return Path(self.location.files_url.removeprefix("file://")) / WAREHOUSE

    @cached_property
    def engine(self) -> Engine:
        return engine_of(self.location.database)

    @cached_property
    def catalog(self) -> SqlCatalog:
        """The Iceberg catalog. Only writers and checks use it, and PyIceberg takes half a second to import."""
        from losslake.lake import catalog as iceberg_tables

        return iceberg_tables.catalog(self.location)

    def table(self, name: str) -> Table:
        """The Iceberg table of that name, at its newest metadata."""
        return self.catalog.load_table((NAMESPACE, name))

    def check_place(self) -> None:
        """Raise LakeBroken when the catalog names files elsewhere than in the store: the lake was moved or copied."""
        first = text("SELECT metadata_location FROM iceberg_tables LIMIT 1")
        location = str(self.read(lambda session: session.scalar(first)))
        here = f"{self.store.url_of(WAREHOUSE)}/"
        if not location.startswith(here):
            was = location.removeprefix("file://").partition(f"/{WAREHOUSE}/")[0]
            raise LakeBroken(
                f"the lake in {self} was moved or copied from {was}: it can be read here, "
                f"but to take in more put it back there, or ingest into a new lake"
            )

    def read(self, asked: Callable[[Session], T]) -> T:
        """What is read in a session of the database, which may go away for a moment meanwhile."""

        def work() -> T:
            with Session(self.engine) as session:
                return asked(session)

        return patiently(work, SECONDS_TO_READ)

    def releases(self, unlisted: bool = False) -> Sequence[Release]:
        """Every release that is listed, newest first; unlisted: also those that are not any more."""
        query = select(Release).order_by(Release.number.desc())
        if not unlisted:
            query = query.where(Release.unlisted_at.is_(None))
        return self.read(lambda session: session.scalars(query).all())

    def release(self, number: int | None = None) -> Release:
        """The release of that number, by default the newest; raises UnknownRelease, also for one that was unlisted."""
        found = self.newest_release() if number is None else self.release_ever(number)
        if found is not None and found.unlisted_at is not None:
            when = f"{found.unlisted_at:%Y-%m-%d}"
            raise UnknownRelease(
                f"release {number} was unlisted on {when}: use another, 'losslake releases' lists them"
            )
        if found is not None:
            return found
        if number is None:
            raise UnknownRelease(f"the lake in {self} has no release yet: ingest something first")
        known = ", ".join(str(release.number) for release in self.releases()[:5]) or "none"
        raise UnknownRelease(f"there is no release {number}; the newest are: {known}")

    def newest_release(self) -> Release | None:
        """The newest release, which is always listed, or None while nothing has been published."""
        newest = select(Release).order_by(Release.number.desc()).limit(1)
        return self.read(lambda session: session.scalars(newest).first())

    def release_ever(self, number: int) -> Release | None:
        """The release of that number, listed or not; None if there never was one."""
        return self.read(lambda session: session.get(Release, number))

    def files(self, release: Release, of_studies: bool = True) -> list[DataFile]:
        """The files of a release, or only those of no study; raises LakeBroken when its list is missing or altered."""
        return read_manifest(self.store, release.manifest, release.manifest_sha256, of_studies)

    def ledger(self, outcome: str | None = None, limit: int | None = None) -> Sequence[LedgerEntry]:
        """What was offered and what became of it, newest first."""
        query = select(LedgerEntry).order_by(LedgerEntry.id.desc())
        if outcome is not None:
            query = query.where(LedgerEntry.outcome == outcome)
        return self.read(lambda session: session.scalars(query.limit(limit) if limit is not None else query).all())

    def _make_tables(self) -> None:
        """Create whatever is not there yet; the marker is written last, so a half-made lake is made again."""
        from losslake.lake import catalog as iceberg_tables

        with _only_one_at_once(self):
            if self.store.missing([MARKER]):
                if self.engine.dialect.name == "sqlite":
                    with self.engine.connect() as connection:
                        # Readers go on while an ingest commits, and a commit waits for the disk once, not four times.
                        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                migrate(self.engine)
                iceberg_tables.make(self.catalog, self.store.url_of(WAREHOUSE))
                self.store.put(MARKER, _MARKER_TEXT.encode())


def store_of(location: Location) -> Store:
    """The store of the files of a lake."""
    if location.files_url.startswith("file://"):
        return FolderStore(Path(location.files_url.removeprefix("file://")))
    from losslake.lake.store.blocks import Blocks
    from losslake.lake.store.bucket import Bucket
    from losslake.lake.store.bucket_store import BucketStore

    bucket = Bucket(location.files_url, location.endpoint)
    return BucketStore(bucket, Blocks(location.folder, location.cache_bytes))


def _check_folder(folder: Path) -> None:
    """Raise LossLakeError unless a lake is in the folder, or can be made there; makes the folder."""
    if folder.exists() and not folder.is_dir():
        raise LossLakeError(f"{folder} is a file: give --lake a folder")
    is_lake = (folder / MARKER).is_file() or (folder / "catalog.db").exists()
    if not is_lake and folder.is_dir() and any(folder.iterdir()):
        raise LossLakeError(f"{folder} holds other files and is no lake: give --lake an empty or new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LossLakeError(f"can't make a lake in {folder}: {error.strerror}") from None


@contextmanager
def _only_one_at_once(lake: Lake) -> Iterator[None]:
    """Wait until no other process makes this lake."""
    if lake.engine.dialect.name == "postgresql":
        with lake.engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MAKING})
            yield
        return
    lake.folder.mkdir(parents=True, exist_ok=True)
    with locked(lake.folder):
        yield

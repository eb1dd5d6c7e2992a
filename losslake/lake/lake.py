"""A lake: Iceberg catalog, data files, releases and ledger, in a folder or at two URLs."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from losslake.lake.location import MARKER, Location, check_layout, location_of
from losslake.lake.machine import locked
from losslake.lake.manifest import read_manifest
from losslake.lake.store.backends import backend_of
from losslake.lake.store.blocks import BlockCache
from losslake.lake.store.store import DataFile, Store
from losslake_schema.errors import LakeBroken, LakeNotFound, LossLakeError, UnknownRelease
from losslake_schema.migrating import NEWEST, VERSION_TABLE, check
from losslake_schema.release import Release, utc
from losslake_schema.tables import ALL_TABLES, NAMESPACE

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.table import Table
    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from losslake_schema.database import LedgerEntry

LAYOUT_VERSION = 3
# Commands wait for a database that restarts as long as ingests do; services, which have to answer soon, wait less.
SECONDS_TO_READ, SECONDS_TO_ANSWER = 60.0, 5.0
REWRITABLE_VERSION = 2  # also in the marker of a lake whose rewriting was killed at its very end
T = TypeVar("T")
_COLUMNS = tuple(each.name for each in fields(Release) if each.name != "snapshots")
WAREHOUSE = "warehouse"
MARKER_TEXT = f"""# A LossLake lake: data files in warehouse/, catalog, releases and ledger in catalog.db.
layout_version = {LAYOUT_VERSION}
"""
_TABLE_VERSIONS = f"SELECT table_name, metadata_location FROM iceberg_tables WHERE table_namespace = '{NAMESPACE}'"  # noqa: S608
_CREATION_LOCK = 5_355_321  # key of the advisory lock in PostgreSQL while a lake is created


@dataclass(frozen=True)
class Lake:
    """A lake. Use `Lake.create` to create one and `Lake.open` to open one.

    seconds_to_read: how long to wait for the database before a query fails.
    """

    location: Location
    seconds_to_read: float = SECONDS_TO_READ

    @staticmethod
    def open(location: Location | str | Path | None = None, seconds_to_read: float = SECONDS_TO_READ) -> Lake:
        """Open an existing lake; raise LakeNotFound, or LakeBroken for a layout of another version."""
        lake = Lake(location if isinstance(location, Location) else location_of(location), seconds_to_read)
        try:
            marker = bytes(lake.store.read(MARKER)).decode("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            message = f"there is no lake in {lake}: create one with 'losslake ingest PATH --lake {lake.as_argument}'"
            raise LakeNotFound(f"{message}, or name another with --lake or LOSSLAKE_LAKE") from None
        except UnicodeDecodeError as error:
            raise LakeBroken(f"{lake.store.display_name(MARKER)} can't be read ({error}): restore it") from None
        except OSError as error:
            raise LossLakeError(f"can't read the lake: {error.strerror or error}") from None
        check_layout(marker, lake.store.display_name(MARKER), (REWRITABLE_VERSION, LAYOUT_VERSION))
        lake._check_version()
        return lake

    @staticmethod
    def create(location: str | Path | None = None) -> Lake:
        """Open the lake at `location` and create it first if it doesn't exist; safe to call from several processes.

        Raises the errors of `open`, also for a lake of an older layout.
        """
        lake = Lake(location_of(location))
        if lake.location.is_folder:
            _check_folder(lake.folder)
        if lake.store.first_missing([MARKER]):
            lake._create_tables()
        return Lake.open(location)

    @property
    def folder(self) -> Path:
        """The local folder: the lake itself, or the cache of a remote lake."""
        return self.location.folder

    def __str__(self) -> str:
        return str(self.location)

    @property
    def as_argument(self) -> str:
        """The lake as an argument for a shell."""
        return shlex.quote(str(self))

    @cached_property
    def store(self) -> Store:
        """The store of its files."""
        return store_of(self.location)

    @cached_property
    def engine(self) -> Engine:
        """The engine of its database."""
        from losslake.lake.connecting import engine_of

        return engine_of(self.location.database)

    @cached_property
    def catalog(self) -> SqlCatalog:
        """The Iceberg catalog, imported lazily: only writers and checks need it, and PyIceberg takes half a second."""
        from losslake.lake import catalog as iceberg_tables

        return iceberg_tables.open_catalog(self.location)

    def table(self, name: str) -> Table:
        """Return an Iceberg table, with its newest metadata."""
        return self.catalog.load_table((NAMESPACE, name))

    def table_versions(self) -> Mapping[str, str]:
        """Return the URLs of the current metadata files of the Iceberg tables that exist, by name."""
        urls = {name: str(url) for name, url in self.rows(_TABLE_VERSIONS)}
        return {name: urls[name] for name in ALL_TABLES if name in urls}

    def check_location(self) -> None:
        """Raise LakeBroken if the catalog refers to files outside of the store: the lake was moved or copied."""
        if not self.is_in_place():
            original = min(self.table_versions().values()).removeprefix("file://").partition(f"/{WAREHOUSE}/")[0]
            message = f"the lake in {self} was moved or copied from {original}: it can be read here"
            raise LakeBroken(f"{message}; to change it here, run 'losslake init --adopt --lake {self.as_argument}'")

    def is_in_place(self) -> bool:
        """Return True if the catalog refers to files in the store, False if the lake was moved or copied."""
        locations = self.table_versions().values()
        return not locations or min(locations).startswith(f"{self.store.url_of(WAREHOUSE)}/")

    def read(self, query: Callable[[Session], T]) -> T:
        """Return the result of a query in a session of the database, retried on transient errors."""
        from sqlalchemy.orm import Session

        from losslake.lake.connecting import with_retries

        def work() -> T:
            with Session(self.engine) as session:
                return query(session)

        return with_retries(work, self.seconds_to_read)

    def releases(self, include_unlisted: bool = False) -> Sequence[Release]:
        """Return the listed releases, newest first; with include_unlisted, all that were ever published."""
        return self._releases("" if include_unlisted else "WHERE unlisted_at IS NULL")

    def release(self, number: int | None = None) -> Release:
        """Return a release, by default the newest; raise UnknownRelease if it does not exist or was unlisted."""
        release = self.newest_release() if number is None else self.find_release(number)
        if release is not None and release.unlisted_at is not None:
            message = f"release {number} was unlisted on {release.unlisted_at:%Y-%m-%d}"
            raise UnknownRelease(f"{message}: use another, 'losslake releases' lists them")
        if release is not None:
            return release
        if number is None:
            raise UnknownRelease(f"the lake in {self} has no release yet: ingest something first")
        newest = ", ".join(str(release.number) for release in self.releases()[:5]) or "none"
        raise UnknownRelease(f"there is no release {number}; the newest are: {newest}")

    def newest_release(self) -> Release | None:
        """Return the newest release, which is always listed, or None if there is none yet."""
        return next(iter(self._releases("WHERE number = (SELECT max(number) FROM losslake_releases)")), None)

    def find_release(self, number: int) -> Release | None:
        """Return a release, listed or not, or None if it never existed."""
        return next(iter(self._releases(f"WHERE number = {number:d}")), None)

    def _releases(self, condition: str) -> list[Release]:
        """Return releases, newest first. condition: a WHERE clause, or nothing."""
        columns = ", ".join(_COLUMNS)
        # One statement: between two, another release could be published.
        rows = self.rows(
            f'SELECT {columns}, "table", snapshot_id FROM losslake_releases '  # noqa: S608
            f"LEFT JOIN losslake_release_snapshots ON release = number {condition} "
            'ORDER BY number DESC, "table"'
        )
        by_number: dict[int, tuple[dict[str, Any], dict[str, int]]] = {}
        for *values, table, snapshot in rows:
            _, snapshots = by_number.setdefault(values[0], (dict(zip(_COLUMNS, values, strict=True)), {}))
            if table is not None:
                snapshots[table] = snapshot
        return [_release(facts, snapshots) for facts, snapshots in by_number.values()]

    def rows(self, statement: str) -> Sequence[Sequence[Any]]:
        """Return the rows of a statement in the database, if possible without SQLAlchemy."""
        rows = self._rows_of_file(statement)
        if rows is not None:
            return rows
        from sqlalchemy import text

        return self.read(lambda session: session.execute(text(statement)).all())

    def _rows_of_file(self, statement: str) -> list[tuple[Any, ...]] | None:
        """Return the rows of a statement without importing SQLAlchemy, or None if that isn't possible.

        SQLAlchemy takes longer to import than a release to be read; it then says what is wrong with the file.
        """
        file = self.location.database_file
        with suppress(sqlite3.Error):
            if file is not None and file.is_file():
                with closing(sqlite3.connect(file)) as connection:
                    return connection.execute(statement).fetchall()
        return None

    def _check_version(self) -> None:
        if self._rows_of_file(f"SELECT version_num FROM {VERSION_TABLE}") != [(NEWEST,)]:  # noqa: S608
            from losslake.lake.connecting import with_retries

            with_retries(lambda: check(self.engine, self.as_argument), self.seconds_to_read)

    def files(self, release: Release, partitioned: bool = True) -> list[DataFile]:
        """Return the files of a release; raise LakeBroken if its list is missing or altered.

        partitioned: include the files of partitioned tables.
        """
        return read_manifest(self.store, release.manifest, release.manifest_sha256, partitioned)

    def ledger(self, outcome: str | None = None, limit: int | None = None) -> Sequence[LedgerEntry]:
        """Return entries of the ledger, newest first; those of places only if they are the outcome that is given."""
        from sqlalchemy import select

        from losslake_schema.database import LedgerEntry

        is_listed = LedgerEntry.outcome == outcome if outcome is not None else LedgerEntry.outcome != "placed"
        query = select(LedgerEntry).where(is_listed).order_by(LedgerEntry.id.desc())
        return self.read(lambda session: session.scalars(query.limit(limit) if limit is not None else query).all())

    def _create_tables(self) -> None:
        """Create what is missing. The marker is written last, so that an interrupted creation is resumed."""
        from losslake.lake.catalog import create_database

        with creation_lock(self):
            if self.store.first_missing([MARKER]):
                if self.engine.dialect.name == "sqlite":
                    with self.engine.connect() as connection:
                        # With WAL, readers continue during a commit, and a commit syncs to disk once, not four times.
                        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                create_database(self.engine)
                self.store.put(MARKER, MARKER_TEXT.encode())


def store_of(location: Location) -> Store:
    """Return the store of the files of a lake."""
    cache = BlockCache(location.folder, location.cache_bytes)
    return backend_of(location.files_url).open_store(location.files_url, location.endpoint, cache)


def _release(values: dict[str, Any], snapshots: dict[str, int]) -> Release:
    times = {name: utc(values[name]) for name in ("created_at", "unlisted_at") if values[name] is not None}
    return Release(**{**values, **times, "snapshots": snapshots})


def _check_folder(folder: Path) -> None:
    """Create the folder of a lake; raise LossLakeError if it can't be created or contains other files."""
    if folder.exists() and not folder.is_dir():
        raise LossLakeError(f"{folder} is a file: give --lake a folder")
    has_files = folder.is_dir() and any(folder.iterdir())
    # After the look at the files: another process may be creating the lake, its database first.
    is_lake = (folder / MARKER).is_file() or (folder / "catalog.db").exists()
    if has_files and not is_lake:
        raise LossLakeError(f"{folder} contains other files and is not a lake: give --lake an empty or new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LossLakeError(f"can't create a lake in {folder}: {error.strerror}") from None


@contextmanager
def creation_lock(lake: Lake) -> Iterator[None]:
    """Hold the lock under which one process at a time creates or rewrites this lake."""
    if lake.engine.dialect.name == "postgresql":
        from sqlalchemy import text

        with lake.engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _CREATION_LOCK})
            yield
        return
    lake.folder.mkdir(parents=True, exist_ok=True)
    with locked(lake.folder):
        yield

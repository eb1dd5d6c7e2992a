"""The lake: a folder (or, later, two URLs) that holds an Iceberg catalog, data files, releases and the ledger."""

from __future__ import annotations

import fcntl
import os
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from sqlalchemy import Engine, create_engine, select
from sqlalchemy.orm import Session

from schema.database import Base, LedgerEntry, Release
from schema.errors import LakeBroken, LakeNotFound, LossLakeError, UnknownRelease
from schema.manifest import DataFile, read_manifest
from schema.tables import NAMESPACE

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.table import Table

LAYOUT_VERSION = 2
SECONDS_TO_WAIT_FOR_THE_DATABASE = 60
_MARKER = "lake.toml"
_MARKER_TEXT = f"""# A LossLake lake: data files in warehouse/, catalog, releases and ledger in catalog.db.
layout_version = {LAYOUT_VERSION}
"""


@dataclass(frozen=True)
class Lake:
    """A lake in a folder. Make one by `Lake.create`, open one by `Lake.open`."""

    folder: Path

    @staticmethod
    def locate(location: str | Path | None = None) -> Path:
        """The folder that `location` names: a path or file URL; default $LOSSLAKE_LAKE, else ./lake."""
        text = str(location or os.environ.get("LOSSLAKE_LAKE") or "lake")
        parts = urlsplit(text)
        if parts.scheme == "file":
            return Path(unquote(parts.path)).absolute()
        if "://" in text:
            raise LossLakeError(f"--lake {text}: only folders and file:// URLs are supported yet; give a folder")
        return Path(text).expanduser().absolute()

    @staticmethod
    def open(location: str | Path | None = None) -> Lake:
        """Open an existing lake; raises LakeNotFound, or LakeBroken for a layout of another version."""
        folder = Lake.locate(location)
        marker = folder / _MARKER
        if not marker.is_file():
            raise LakeNotFound(
                f"there is no lake in {folder}: make one with 'losslake ingest PATH --lake {folder}', "
                "or name another with --lake or LOSSLAKE_LAKE"
            )
        try:
            version = tomllib.loads(marker.read_text("utf-8")).get("layout_version")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise LakeBroken(f"{marker} can't be read ({error}): restore it, or make a new lake") from None
        if version != LAYOUT_VERSION:
            known = isinstance(version, int) and version < LAYOUT_VERSION
            remedy = "ingest its logs into a new lake" if known else "use a newer LossLake"
            raise LakeBroken(f"{marker} has layout {version}, this LossLake reads layout {LAYOUT_VERSION}: {remedy}")
        return Lake(folder)

    @staticmethod
    def create(location: str | Path | None = None) -> Lake:
        """Open the lake at `location`, making it first if there is none; safe to call from several processes."""
        folder = Lake.locate(location)
        if folder.exists() and not folder.is_dir():
            raise LossLakeError(f"{folder} is a file: give --lake a folder")
        if not (folder / _MARKER).is_file():
            if folder.is_dir() and any(folder.iterdir()) and not (folder / "catalog.db").exists():
                raise LossLakeError(f"{folder} holds other files and is no lake: give --lake an empty or new folder")
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise LossLakeError(f"can't make a lake in {folder}: {error.strerror}") from None
            Lake(folder)._make_tables()
        return Lake.open(folder)

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse"

    @property
    def database_url(self) -> str:
        return f"sqlite:///{self.folder / 'catalog.db'}"

    @cached_property
    def engine(self) -> Engine:
        return create_engine(self.database_url, connect_args={"timeout": SECONDS_TO_WAIT_FOR_THE_DATABASE})

    @cached_property
    def catalog(self) -> SqlCatalog:
        """The Iceberg catalog. Only writers and checks use it, and PyIceberg takes half a second to import."""
        from schema import iceberg_tables

        return iceberg_tables.catalog(self.database_url, self.warehouse)

    def table(self, name: str) -> Table:
        """The Iceberg table of that name, at its newest metadata."""
        return self.catalog.load_table((NAMESPACE, name))

    def table_folder(self, name: str) -> Path:
        """The folder below which the data files of a table lie."""
        return self.warehouse / NAMESPACE / name / "data"

    def check_place(self) -> None:
        """Raise LakeBroken when the catalog's absolute paths are not this folder's: the lake was moved or copied."""
        with self.engine.connect() as connection:
            query = "SELECT metadata_location FROM iceberg_tables LIMIT 1"
            location = str(connection.exec_driver_sql(query).scalar())
        if not location.startswith(f"file://{self.warehouse}/"):
            was = location.removeprefix("file://").partition("/warehouse/")[0]
            raise LakeBroken(
                f"the lake in {self.folder} was moved or copied from {was}: it can be read here, "
                f"but to take in more put it back there, or ingest into a new lake"
            )

    def releases(self) -> Sequence[Release]:
        """Every release, newest first."""
        with Session(self.engine) as session:
            return session.scalars(select(Release).order_by(Release.number.desc())).all()

    def release(self, number: int | None = None) -> Release:
        """The release of that number, by default the newest; raises UnknownRelease."""
        found = self.newest_release() if number is None else self._release_numbered(number)
        if found is not None:
            return found
        if number is None:
            raise UnknownRelease(f"the lake in {self.folder} has no release yet: ingest something first")
        known = ", ".join(str(release.number) for release in self.releases()[:5]) or "none"
        raise UnknownRelease(f"there is no release {number}; the newest are: {known}")

    def newest_release(self) -> Release | None:
        """The newest release, or None while nothing has been published."""
        with Session(self.engine) as session:
            return session.scalars(select(Release).order_by(Release.number.desc()).limit(1)).first()

    def _release_numbered(self, number: int) -> Release | None:
        with Session(self.engine) as session:
            return session.get(Release, number)

    def files(self, release: Release) -> list[DataFile]:
        """The files of a release; raises LakeBroken when its list is missing or altered."""
        return read_manifest(self.folder / release.manifest, release.manifest_sha256)

    def ledger(self, outcome: str | None = None, limit: int | None = None) -> Sequence[LedgerEntry]:
        """What was offered and what became of it, newest first."""
        query = select(LedgerEntry).order_by(LedgerEntry.id.desc())
        if outcome is not None:
            query = query.where(LedgerEntry.outcome == outcome)
        with Session(self.engine) as session:
            return session.scalars(query.limit(limit) if limit is not None else query).all()

    def _make_tables(self) -> None:
        """Create whatever is not there yet; the marker is written last, so a half-made lake is made again."""
        with _only_one_at_once(self.folder):
            if not (self.folder / _MARKER).is_file():
                self._make_missing_tables()

    def _make_missing_tables(self) -> None:
        from schema import iceberg_tables

        with self.engine.connect() as connection:
            # Readers go on while an ingest commits, and a commit waits for the disk once, not four times.
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        Base.metadata.create_all(self.engine)
        iceberg_tables.make(self.catalog, self.warehouse)
        marker = self.folder / _MARKER
        unfinished = marker.with_suffix(f".{os.getpid()}")
        unfinished.write_text(_MARKER_TEXT, "utf-8")
        unfinished.replace(marker)


@contextmanager
def _only_one_at_once(folder: Path) -> Iterator[None]:
    """Wait until no other process is in here for this folder."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)

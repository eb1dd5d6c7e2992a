"""The location of a lake: a folder, or two URLs, of the catalog's database and of the warehouse for its files."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from losslake.lake.store.backends import backend_of
from losslake_schema.errors import LakeBroken, LossLakeError

if TYPE_CHECKING:
    from sqlalchemy import URL

MARKER = "lake.toml"
CACHE_MB = 10_000
_MEGABYTE = 1_000_000
_HOW = "give a folder, a lake.toml, or two URLs: 'postgresql+psycopg://host/name s3://bucket/prefix'"
_PAIR = re.compile(r"(?P<catalog>\w+(\+\w+)?://[^\s,]*)[\s,]+(?P<warehouse>\S.*)")
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgresql+psycopg": "postgresql+psycopg"}
_KEYS = ("catalog", "warehouse", "endpoint", "cache", "cache_mb")


@dataclass(frozen=True)
class Location:
    """The location of a lake.

    folder: a local folder: the lake itself, or the cache of a remote lake. files_url: of the warehouse,
    without a trailing slash. catalog: the URL of the database, None for the file in the folder. endpoint: of an S3
    store other than Amazon's. cache_bytes: approximate size of the cache.
    """

    folder: Path
    files_url: str
    catalog: URL | None = None
    endpoint: str | None = None
    cache_bytes: int = CACHE_MB * _MEGABYTE

    @property
    def is_folder(self) -> bool:
        """True if the whole lake is in the folder."""
        return self.files_url == f"file://{self.folder}"

    @property
    def database_file(self) -> Path | None:
        """The file of the database of a lake in a folder."""
        return self.folder / "catalog.db" if self.catalog is None else None

    @property
    def database(self) -> URL:
        """The database of catalog, releases and ledger."""
        from sqlalchemy import URL

        return self.catalog or URL.create("sqlite", database=str(self.database_file))

    def __str__(self) -> str:
        if self.is_folder:
            return str(self.folder)
        return f"{self.database.render_as_string(hide_password=True)} {self.files_url}"


def in_folder(folder: Path) -> Location:
    """Return the location of a lake in a folder."""
    return Location(folder, f"file://{folder}")


def location_of(lake: str | Path | None = None, cache: str = "", cache_mb: int = 0) -> Location:
    """Return the location of a lake; raise LossLakeError for anything else.

    lake: a folder or its file:// URL, a lake.toml, or two URLs; default: $LOSSLAKE_LAKE, or ./lake.
    cache, cache_mb: folder and size of the cache of a remote lake; default: those of the environment or the lake.toml.
    """
    location = _location(str(lake or os.environ.get("LOSSLAKE_LAKE") or "lake").strip())
    if location.is_folder:
        return location
    folder = Path(cache).expanduser().absolute() / location.folder.name if cache else location.folder
    return replace(location, folder=folder, cache_bytes=cache_mb * _MEGABYTE or location.cache_bytes)


def _location(text: str) -> Location:
    pair = _PAIR.fullmatch(text)
    if pair:
        return _from_urls(pair["catalog"], pair["warehouse"], "--lake")
    parts = urlsplit(text)
    if parts.scheme == "file":
        return in_folder(_without_dots(Path(unquote(parts.path)).absolute()))
    if "://" in text:
        without_password = re.sub(r"(://[^/@:\s]*):[^/@\s]*@", r"\1:***@", text)
        raise LossLakeError(f"--lake {without_password} is one URL: {_HOW}")
    path = _without_dots(Path(text).expanduser().absolute())
    return _from_file(path) if path.name.endswith(".toml") and not path.is_dir() else in_folder(path)


def _without_dots(path: Path) -> Path:
    """Return an absolute path without `..`, as a catalog has it; links stay, but where `..` leaves one."""
    if ".." not in path.parts:
        return path
    plain, resolved = Path(os.path.normpath(path)), path.resolve()
    return plain if plain.resolve() == resolved else resolved


def _from_file(path: Path) -> Location:
    """Return the location in a TOML file, or the folder of the file if it is the marker of a lake."""
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise LossLakeError(f"--lake {path} can't be read ({reason}): {_HOW}") from None
    if "layout_version" in values:
        return in_folder(path.parent)
    unknown = next((key for key in values if key not in _KEYS), None)
    if unknown:
        raise LossLakeError(f"{path}: unknown key {unknown!r}; the keys of a lake.toml are {', '.join(_KEYS)}")
    for key in ("catalog", "warehouse"):
        if not isinstance(values.get(key), str):
            raise LossLakeError(f'{path}: {key} is missing: add {key} = "URL"')
    for key, kind in (("cache", str), ("cache_mb", int), ("endpoint", str)):
        if key in values and not isinstance(values[key], kind):
            raise LossLakeError(f"{path}: {key} must be {'a number' if kind is int else 'a string'}")
    return _from_urls(where=str(path), **values)


def _from_urls(
    catalog: str,
    warehouse: str,
    where: str,
    endpoint: str | None = None,
    cache: str = "",
    cache_mb: int = CACHE_MB,
) -> Location:
    database = _database(catalog, where)
    files_url = _files_url(warehouse, where)
    if endpoint is not None and urlsplit(endpoint).scheme not in ("http", "https"):
        raise LossLakeError(f"{where}: the endpoint {endpoint} is not an http:// or https:// URL")
    megabytes = os.environ.get("LOSSLAKE_CACHE_MB") or cache_mb
    if not str(megabytes).isdigit() or int(megabytes) == 0:
        raise LossLakeError(f"the size of the cache, {megabytes} MB, must be a whole number above 0")
    default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "losslake"
    top = os.environ.get("LOSSLAKE_CACHE") or cache or default
    name = hashlib.sha256(f"{database.render_as_string(hide_password=True)} {files_url}".encode()).hexdigest()[:16]
    folder = Path(top).expanduser().absolute() / name
    return Location(folder, files_url, database, endpoint, int(megabytes) * _MEGABYTE)


def _database(url: str, where: str) -> URL:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise LossLakeError(f"{where}: the catalog's URL can't be read: {_HOW}") from None
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise LossLakeError(f"{where}: a catalog must be in PostgreSQL or SQLite, not {parsed.drivername}: {_HOW}")
    if driver == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise LossLakeError(f"{where}: the catalog's URL names no file: write sqlite:////path/catalog.db")
        parsed = parsed.set(database=str(Path(parsed.database).absolute()))
    return parsed.set(drivername=driver)


def _files_url(url: str, where: str) -> str:
    try:
        return backend_of(url).normalize_url(url.rstrip("/"))
    except ValueError as error:
        raise LossLakeError(f"{where}: {error}") from None


def check_layout(marker: str, name: str, supported: tuple[int, ...]) -> None:
    """Raise LakeBroken unless the marker of a lake states a supported layout version. name: of the marker."""
    try:
        version = tomllib.loads(marker).get("layout_version")
    except tomllib.TOMLDecodeError as error:
        raise LakeBroken(f"{name} can't be read ({error}): restore it, or create a new lake") from None
    if version not in supported:
        is_older = isinstance(version, int) and version < supported[0]
        remedy = "ingest its logs into a new lake" if is_older else "use a newer LossLake"
        raise LakeBroken(f"{name} has layout {version}, this LossLake reads layout {supported[-1]}: {remedy}")

"""Where a lake is: a folder; or two URLs, of the catalog's database and of the warehouse for its files."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from losslake_schema.errors import LakeBroken, LossLakeError

MARKER = "lake.toml"
CACHE_MB = 10_000
_MEGABYTE = 1_000_000
_HOW = "give a folder, a lake.toml, or two URLs: 'postgresql+psycopg://host/name s3://bucket/prefix'"
_PAIR = re.compile(r"(?P<catalog>\w+(\+\w+)?://[^\s,]*)[\s,]+(?P<warehouse>\S.*)")
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgresql+psycopg": "postgresql+psycopg"}
_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^?#]*)?")
_KEYS = ("catalog", "warehouse", "endpoint", "cache", "cache_mb")


@dataclass(frozen=True)
class Location:
    """Where a lake is.

    folder: of this machine: the lake itself, or what is kept here of one that is elsewhere. database: of the catalog,
    releases and ledger. files_url: file:// or s3://, without a slash at the end. endpoint: of an S3 store that isn't
    Amazon's. cache_bytes: of files to keep in the folder, about.
    """

    folder: Path
    database: URL
    files_url: str
    endpoint: str | None = None
    cache_bytes: int = CACHE_MB * _MEGABYTE

    @property
    def is_folder(self) -> bool:
        """Whether all of it is in the folder."""
        return self.files_url == f"file://{self.folder}"

    @property
    def database_url(self) -> str:
        """The database's URL, with its password."""
        return self.database.render_as_string(hide_password=False)

    def __str__(self) -> str:
        if self.is_folder:
            return str(self.folder)
        return f"{self.database.render_as_string(hide_password=True)} {self.files_url}"


def in_folder(folder: Path) -> Location:
    """The lake that is a folder."""
    return Location(folder, URL.create("sqlite", database=str(folder / "catalog.db")), f"file://{folder}")


def location_of(wanted: str | Path | None = None, cache: str = "", cache_mb: int = 0) -> Location:
    """The location that is meant: a folder or its file:// URL, a lake.toml, or two URLs; default $LOSSLAKE_LAKE, else
    ./lake. Raises LossLakeError for anything else.

    cache, cache_mb: the folder for what is kept here of a lake that is elsewhere, and its size, where they aren't to be
    as the environment or the lake.toml says.
    """
    location = _location(str(wanted or os.environ.get("LOSSLAKE_LAKE") or "lake").strip())
    if location.is_folder:
        return location
    folder = Path(cache).expanduser().absolute() / location.folder.name if cache else location.folder
    return replace(location, folder=folder, cache_bytes=cache_mb * _MEGABYTE or location.cache_bytes)


def _location(text: str) -> Location:
    pair = _PAIR.fullmatch(text)
    if pair:
        return _of_two(pair["catalog"], pair["warehouse"], "--lake")
    parts = urlsplit(text)
    if parts.scheme == "file":
        return in_folder(Path(unquote(parts.path)).absolute())
    if "://" in text:
        without_password = re.sub(r"(://[^/@:\s]*):[^/@\s]*@", r"\1:***@", text)
        raise LossLakeError(f"--lake {without_password} is one URL: {_HOW}")
    path = Path(text).expanduser().absolute()
    return _of_file(path) if path.name.endswith(".toml") and not path.is_dir() else in_folder(path)


def _of_file(path: Path) -> Location:
    """The location that a TOML file says, or the folder of the file that marks a lake."""
    try:
        said = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise LossLakeError(f"--lake {path} can't be read ({reason}): {_HOW}") from None
    if "layout_version" in said:
        return in_folder(path.parent)
    unknown = next((key for key in said if key not in _KEYS), None)
    if unknown:
        raise LossLakeError(f"{path}: {unknown!r} is not known; a lake.toml has {', '.join(_KEYS)}")
    for key in ("catalog", "warehouse"):
        if not isinstance(said.get(key), str):
            raise LossLakeError(f'{path} lacks {key} = "…": it says where the lake\'s {key} is, as a URL')
    cache, cache_mb, endpoint = said.get("cache"), said.get("cache_mb"), said.get("endpoint")
    for key, value, kind in (("cache", cache, str), ("cache_mb", cache_mb, int), ("endpoint", endpoint, str)):
        if value is not None and not isinstance(value, kind):
            raise LossLakeError(f"{path}: {key} has to be {'a number' if kind is int else 'text'}")
    return _of_two(said["catalog"], said["warehouse"], str(path), endpoint, cache, cache_mb)


def _of_two(
    catalog: str,
    warehouse: str,
    where: str,
    endpoint: str | None = None,
    cache: str | None = None,
    cache_mb: int | None = None,
) -> Location:
    database = _database(catalog, where)
    files_url = _files_url(warehouse, where)
    if endpoint is not None and urlsplit(endpoint).scheme not in ("http", "https"):
        raise LossLakeError(f"{where}: the endpoint {endpoint} is no http:// or https:// URL")
    megabytes = os.environ.get("LOSSLAKE_CACHE_MB") or (CACHE_MB if cache_mb is None else cache_mb)
    if not str(megabytes).isdigit() or int(megabytes) == 0:
        raise LossLakeError(f"the size of the cache, {megabytes} MB, has to be a whole number above 0")
    usual = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "losslake"
    top = os.environ.get("LOSSLAKE_CACHE") or cache or usual
    name = hashlib.sha256(f"{database.render_as_string(hide_password=True)} {files_url}".encode()).hexdigest()[:16]
    folder = Path(top).expanduser().absolute() / name
    return Location(folder, database, files_url, endpoint, int(megabytes) * _MEGABYTE)


def _database(url: str, where: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise LossLakeError(f"{where}: the catalog's URL can't be read: {_HOW}") from None
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise LossLakeError(f"{where}: a catalog is in PostgreSQL or SQLite, not {parsed.drivername}: {_HOW}")
    if driver == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise LossLakeError(f"{where}: the catalog's URL names no file: write sqlite:////path/catalog.db")
        parsed = parsed.set(database=str(Path(parsed.database).absolute()))
    return parsed.set(drivername=driver)


def _files_url(url: str, where: str) -> str:
    url = url.rstrip("/")
    parts = urlsplit(url)
    if parts.scheme == "s3":
        if not _BUCKET.fullmatch(url) or "//" in url.removeprefix("s3://") or "/../" in f"{url}/":
            raise LossLakeError(f"{where}: {url} is no place in a bucket: write s3://bucket/prefix")
        return url
    if parts.scheme not in ("", "file"):
        raise LossLakeError(f"{where}: a warehouse is a folder or s3://bucket/prefix, not {parts.scheme}://")
    path = Path(unquote(parts.path) if parts.scheme else url)
    return f"file://{path.expanduser().absolute()}"


def layout_of(marker: str, what: str, reads: int) -> None:
    """Check the layout that a lake's marker says; raises LakeBroken. what: names the marker; reads: what we do."""
    try:
        version = tomllib.loads(marker).get("layout_version")
    except tomllib.TOMLDecodeError as error:
        raise LakeBroken(f"{what} can't be read ({error}): restore it, or make a new lake") from None
    if version != reads:
        known = isinstance(version, int) and version < reads
        remedy = "ingest its logs into a new lake" if known else "use a newer LossLake"
        raise LakeBroken(f"{what} has layout {version}, this LossLake reads layout {reads}: {remedy}")

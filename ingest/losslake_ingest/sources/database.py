"""A database server as a source: no files, but a connection that a format may read through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, NullPool, create_engine, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from losslake_ingest.rules import SourceBroken, UnknownSource
from losslake_ingest.sources.member import Member, Refused, Source, Wanted

SCHEMES = ("postgresql", "postgres", "postgresql+psycopg", "postgresql+psycopg2")
_DRIVER = "postgresql+psycopg"
_HIDDEN = "…"


def is_database_url(text: str) -> bool:
    """Return True if a text is the URL of a database that can be a source."""
    return text.partition("://")[0].lower() in SCHEMES and "://" in text


class DatabaseSource(Source):
    """A PostgreSQL database by its URL, `postgresql://user:password@host/database`.

    path is for showing: the URL without user, password and options.
    """

    def __init__(self, url: str) -> None:
        if not is_database_url(url):
            raise UnknownSource("the URL is no PostgreSQL database's: give postgresql://user:password@host/database")
        try:
            self._url = make_url(url).set(drivername=_DRIVER)
        except (ArgumentError, ValueError):
            raise UnknownSource("the URL can't be read: give postgresql://user:password@host/database") from None
        self.path = Path(_shown(self._url))
        self.name = str(self.path)

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        """Nothing: a database has no files."""
        yield from ()

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A connection that only reads, in one snapshot; every error of the database is a SourceBroken."""
        options = {} if "connect_timeout" in self._url.query else {"connect_timeout": 10}
        engine = create_engine(self._url, poolclass=NullPool, connect_args=options)
        snapshot = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        try:
            with snapshot.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise SourceBroken(f"{self.path}: {self._reason(error)}") from None
        finally:
            engine.dispose()

    def _reason(self, error: SQLAlchemyError) -> str:
        """The driver's own words, in one line and without the password."""
        text = " ".join(str(getattr(error, "orig", None) or error).split())
        secrets = [self._url.password, *(value for value in self._url.query.values() if isinstance(value, str))]
        for secret in secrets:
            if secret:
                text = text.replace(secret, _HIDDEN)
        return text


def _shown(url: URL) -> str:
    host = f"[{url.host}]" if url.host and ":" in url.host else url.host or ""
    port = f":{url.port}" if url.port else ""
    return f"postgresql:{host}{port}/{url.database or ''}"

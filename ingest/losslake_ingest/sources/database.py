"""A database server as a source: no files, but a connection for formats to read through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, NullPool, create_engine, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from losslake_ingest.contracts.rules import SourceBroken, UnknownSource
from losslake_ingest.sources.member import Member, Refused, Source, Wanted

SCHEMES = ("postgresql", "postgres", "postgresql+psycopg", "postgresql+psycopg2")
_HOW = "give postgresql://user:password@host/database"


def is_database_url(text: str) -> bool:
    """Return True if the text is the URL of a database that can be a source."""
    return text.partition("://")[0].lower() in SCHEMES and "://" in text


class DatabaseSource(Source):
    """A PostgreSQL database, given as `postgresql://user:password@host/database`.

    path: the URL without user, password and options, for display.
    """

    def __init__(self, url: str) -> None:
        if not is_database_url(url):
            raise UnknownSource(f"this isn't the URL of a PostgreSQL database: {_HOW}")
        try:
            self._url = make_url(url).set(drivername="postgresql+psycopg")
        except (ArgumentError, ValueError):
            raise UnknownSource(f"the URL can't be read: {_HOW}") from None
        self.path = Path(_shown(self._url))
        self.name = str(self.path)

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        """Yield nothing: a database has no files."""
        yield from ()

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Open a read-only connection in one snapshot. Database errors become SourceBroken."""
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
        """Return the driver's message on one line, without the password."""
        text = " ".join(str(getattr(error, "orig", None) or error).split())
        secrets = [self._url.password, *(value for value in self._url.query.values() if isinstance(value, str))]
        for secret in secrets:
            if secret:
                text = text.replace(secret, "…")
        return text


def _shown(url: URL) -> str:
    host = f"[{url.host}]" if url.host and ":" in url.host else url.host or ""
    port = f":{url.port}" if url.port else ""
    return f"postgresql:{host}{port}/{url.database or ''}"

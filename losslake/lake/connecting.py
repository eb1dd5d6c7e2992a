"""Connections to the database of a lake, with retries while it is unavailable."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

SECONDS_TO_WAIT_FOR_THE_DATABASE = 60
SECONDS_TO_WRITE = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0
_SECONDS_IN_SILENCE = 2.0
_CACHE_KIB = 256
# SQLSTATE of lost and refused connections, shutdowns, serialization failures and deadlocks.
_TRANSIENT = ("08", "53300", "57P", "40001", "40P01")

T = TypeVar("T")
_log = logging.getLogger(__name__)


def engine_of(database: URL) -> Engine:
    """Return an engine for the database at a URL."""
    is_sqlite = database.drivername == "sqlite"
    engine = create_engine(patient(database), pool_pre_ping=not is_sqlite)
    if is_sqlite:
        event.listen(engine, "connect", _keep_few_pages)
    return engine


def _keep_few_pages(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    """Limit the pages that a connection to SQLite keeps: the system has them in memory already, once for all."""
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")


def patient(database: URL) -> URL:
    """Return a URL that states how long to wait: SQLite for a lock, 5 s by default, PostgreSQL for a connection."""
    is_sqlite = database.drivername == "sqlite"
    name, seconds = ("timeout", SECONDS_TO_WAIT_FOR_THE_DATABASE) if is_sqlite else ("connect_timeout", 10)
    return database if name in database.query else database.update_query_dict({name: str(seconds)})


def with_retries(work: Callable[[], T], seconds: float) -> T:
    """Return the result of `work`, retried on transient errors of the database.

    work: has to be safe to repeat: either a failure changes nothing, or it notices that it has succeeded before.
    seconds: after this time the error is raised. A wait of over two seconds is logged.
    """
    began = time.monotonic()
    pause, last, is_logged = _FIRST_PAUSE_S, began + seconds, False
    while True:
        try:
            return work()
        except DBAPIError as error:
            remaining = last - time.monotonic()
            if not is_transient(error) or remaining <= 0:
                raise
        if not is_logged and time.monotonic() > began + _SECONDS_IN_SILENCE:
            _log.warning("the lake's database doesn't answer: trying for up to %g s", seconds)
            is_logged = True
        time.sleep(min(pause, remaining))
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def is_transient(error: DBAPIError) -> bool:
    """Return True if an error of the database may go away by itself; errors of SQLite never do."""
    if type(error.orig).__module__.startswith("sqlite3"):
        return False
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return error.connection_invalidated or isinstance(error, (OperationalError, InterfaceError))
    return str(state).startswith(_TRANSIENT)

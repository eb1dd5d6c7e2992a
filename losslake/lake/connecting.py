"""Connections to the database of a lake, and patience with one that goes away for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import URL, Engine, create_engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

SECONDS_TO_WAIT_FOR_THE_DATABASE = 60
SECONDS_TO_READ = 5.0
SECONDS_TO_WRITE = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0
# Connections lost or refused for now, a deadlock, and what two transactions could not both do.
_PASSING = ("08", "53300", "57P", "40001", "40P01")

T = TypeVar("T")


def engine_of(database: URL) -> Engine:
    """An engine for the database at a URL."""
    if database.drivername == "sqlite":
        return create_engine(database, connect_args={"timeout": SECONDS_TO_WAIT_FOR_THE_DATABASE})
    return create_engine(database, pool_pre_ping=True, connect_args={"connect_timeout": 10})


def patiently(work: Callable[[], T], seconds: float) -> T:
    """What `work` returns; while the database is away it is done again, for about so many seconds.

    work: leaves nothing behind in the database when it fails, or can tell that it was done.
    """
    pause, last = _FIRST_PAUSE_S, time.monotonic() + seconds
    while True:
        try:
            return work()
        except DBAPIError as error:
            if not may_pass(error) or time.monotonic() + pause > last:
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def may_pass(error: DBAPIError) -> bool:
    """Whether an error of the database is one that may be gone in a moment; a file has none of these."""
    module = type(error.orig).__module__
    if module.startswith("sqlite3"):
        return False
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return error.connection_invalidated or isinstance(error, (OperationalError, InterfaceError))
    return str(state).startswith(_PASSING)

"""Connections to the database of a lake."""

from __future__ import annotations

from sqlalchemy import URL, Engine, create_engine

SECONDS_TO_WAIT_FOR_THE_DATABASE = 60


def engine_of(database: URL) -> Engine:
    """An engine for the database at a URL."""
    if database.drivername == "sqlite":
        return create_engine(database, connect_args={"timeout": SECONDS_TO_WAIT_FOR_THE_DATABASE})
    return create_engine(database, pool_pre_ping=True)

"""Only one process maintains a lake at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import text

from losslake.lake.lake import Lake
from losslake_schema.errors import LossLakeError

_MAINTAINING = 5_355_322  # the number of the lock that PostgreSQL keeps meanwhile


@contextmanager
def alone(lake: Lake) -> Iterator[None]:
    """Raises LossLakeError while another process is in here for this lake; a killed one holds nothing up."""
    busy = LossLakeError(f"the lake {lake} is being maintained already: let that finish")
    if lake.engine.dialect.name == "postgresql":
        with lake.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            if not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": _MAINTAINING}):
                raise busy
            try:
                yield
            finally:
                connection.invalidate()  # ends the session, and the lock with it
        return
    lake.folder.mkdir(parents=True, exist_ok=True)
    opened = os.open(lake.folder / ".maintaining", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise busy from None
    finally:
        os.close(opened)

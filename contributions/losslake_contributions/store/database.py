"""The database of contributions: created on demand, transactions with retries, one writer a contributor at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

from sqlalchemy import bindparam, update
from sqlalchemy.orm import Session

from losslake.lake.connecting import SECONDS_TO_WRITE, with_retries
from losslake.lake.lake import Lake, creation_lock
from losslake_contributions.store.private_files import protect
from losslake_contributions.store.tables import CHAIN, NEWEST, Contributor
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.migrating import migrate, version_of

T = TypeVar("T")
_LAST_WITH_KEY = "0004"
# Locks a contributor until the transaction ends. Made once: to build it for each request takes time.
LOCK = (
    update(Contributor)
    .where(Contributor.id == bindparam("contributor"))
    .values(n_writes=Contributor.n_writes + 1)
    .execution_options(synchronize_session=False)
)


class Turn:
    """A lock that threads get in the order in which they came, for `with`."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._queue: deque[Lock] = deque()  # first the one of the thread whose turn it is

    @property
    def n_waiting(self) -> int:
        """The number of threads that wait."""
        return max(0, len(self._queue) - 1)

    def __enter__(self) -> None:
        mine = Lock()
        with self._lock:
            if self._queue:
                mine.acquire()
            self._queue.append(mine)
        mine.acquire()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._queue.popleft()
            if self._queue:
                self._queue[0].release()


@dataclass(frozen=True)
class Database:
    """The tables of contributions of a lake."""

    lake: Lake
    _turn: Turn = field(default_factory=Turn, init=False, repr=False, compare=False)

    @staticmethod
    def create(lake: Lake) -> Database:
        """Return the database of a lake; create its tables, or upgrade them, if needed, and close it to others."""
        is_new = _version(lake) != NEWEST
        protect(lake, is_new)
        if is_new:
            with creation_lock(lake):
                version = _version(lake)
                if version is not None and version > NEWEST:
                    raise LakeBroken(f"the contributions of {lake} have version {version}: use a newer LossLake")
                if version is not None and version <= _LAST_WITH_KEY:
                    _destroy_key(lake)
                migrate(lake.engine, NEWEST, CHAIN)
        return Database(lake)

    @staticmethod
    def open(lake: Lake) -> Database:
        """Return the database of a lake that takes contributions; raise LossLakeError for any other."""
        version = _version(lake)
        if version is None:
            how = f"make a token with 'losslake tokens create --lake {lake.as_argument}' first"
            raise LossLakeError(f"the lake in {lake} takes no contributions: {how}")
        if version != NEWEST:
            return Database.create(lake)
        protect(lake, is_new=False)
        return Database(lake)

    def read(self, query: Callable[[Session], T]) -> T:
        """Return the result of a query."""
        return self.lake.read(query)

    def write(self, contributor: str | None, work: Callable[[Session], T]) -> T:
        """Return the result of a transaction, the only one of this contributor meanwhile; None: beside any others.

        work: repeated after a transient error, also when the first one was committed after all: it has to give the same
        result then.
        """

        def attempt() -> T:
            with Session(self.lake.engine, expire_on_commit=False) as session:
                if contributor is not None:
                    session.execute(LOCK, {"contributor": contributor})
                result = work(session)
                session.commit()
                return result

        if self.lake.engine.dialect.name != "sqlite":
            return with_retries(attempt, SECONDS_TO_WRITE)
        # SQLite has one writer at a time; who waits for it looks again after up to 0.1 s, whoever came first. So would
        # threading.Lock give it to any of them, such as one that has just written.
        with self._turn:
            return with_retries(attempt, SECONDS_TO_WRITE)


def takes_contributions(lake: Lake) -> bool:
    """Return True if a lake has the tables of contributions."""
    return _version(lake) is not None


def _destroy_key(lake: Lake) -> None:
    """Remove the key that signed links from the database, and its bytes from the file."""
    with lake.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        is_file = lake.engine.dialect.name == "sqlite"
        if is_file:
            connection.exec_driver_sql("PRAGMA secure_delete = ON")
        connection.exec_driver_sql("DELETE FROM losslake_contribution_secrets")
        if is_file:
            # Free pages, and the write-ahead log, may have the bytes as well.
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")


def _version(lake: Lake) -> str | None:
    def query() -> str | None:
        with lake.engine.connect() as connection:
            return version_of(connection, CHAIN)

    return with_retries(query, lake.seconds_to_read)

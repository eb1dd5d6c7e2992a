"""Every write of an operation: a process is killed at it, or it fails, in a lake that is the same each time.

The writes are not listed by hand. A first run of the operation notes them: what Python's audit events and SQLAlchemy's
events say of files and of the database. A write is a file that is opened for writing, synced, renamed or removed, a
folder that is made or removed, a statement that changes the database, and a commit.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Engine, event
from sqlalchemy.engine.default import DefaultDialect

from tests.forked import Forked
from tests.servers.postgresql import PostgreSQL

# kill: before the write; after a write is before the next one. torn: within it, so that a file is there with other
# bytes. fail: the disk or the database is full. lost: a commit succeeds, and its answer is an error.
How = Literal["kill", "torn", "fail", "lost"]
KILLS: tuple[How, ...] = ("kill", "torn")
_CHANGING = ("INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "VACUUM", "LOCK", "BEGIN IMMEDIATE")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NUMBER = re.compile(r"[0-9a-f]{8,}(-[0-9a-f]{4,})*|\d+")
_TABLE = re.compile(r"losslake/\w+/")
_OF_PATHS = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")


@dataclass(frozen=True)
class Point:
    """A write. number: from 0, in the order of an operation."""

    number: int
    kind: str
    name: str

    @property
    def group(self) -> tuple[str, str]:
        """What it has in common with writes that are alike: the same of another file, run or table."""
        name = _TABLE.sub("losslake/*/", _NUMBER.sub("#", self.name))
        return self.kind, name if "/" in name or self.kind == "statement" else ""


def cases(points: Sequence[Point], are_all: bool) -> Iterator[tuple[Point, How]]:
    """Yield how a process is disturbed at its writes: in each way at all, or at commits and one or two of those alike.

    A kill shows no difference before or after a sync, or a statement of a transaction that isn't committed.
    """
    last = {point.group: point for point in points}
    first = {point.group: point for point in reversed(points)}
    before = Point(-1, "", "")
    for point in points:
        is_again = point.kind == before.kind
        before = point
        if not (are_all or point.kind == "commit" or point in (first[point.group], last[point.group])):
            continue
        yield point, "fail"
        if point.kind == "open":
            yield point, "torn"
        if point.kind == "commit":
            yield point, "lost"
        if point.kind != "sync" and not (point.kind == "statement" and is_again):
            yield point, "kill"


@dataclass
class _Watch:
    """What notes the writes of this process below a folder, and disturbs it at one of them."""

    folder: Path
    at: int | None
    how: How
    points: list[Point] = field(default_factory=list)
    is_noting: bool = True

    def begin(self) -> None:
        """Watch from now on, as long as the process lives."""
        sys.addaudithook(self._audit)
        fsync = os.fsync

        def synced(fd: Any) -> None:
            self._note("sync", "")
            fsync(fd)

        os.fsync = synced
        event.listen(Engine, "do_execute", self._statement)
        event.listen(Engine, "do_executemany", self._statement)
        commit: Any = DefaultDialect.do_commit

        def committed(dialect: DefaultDialect, connection: Any) -> None:
            try:
                is_lost = self._note("commit", "", dialect.dbapi)
            except Exception:
                connection.rollback()  # as databases do by themselves
                raise
            commit(dialect, connection)
            if is_lost:
                raise _full(dialect.dbapi)

        DefaultDialect.do_commit = committed  # type: ignore[method-assign]

    def _audit(self, name: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_noting:
            return
        if name == "open" and arguments[2] is not None and arguments[2] & _WRITING:
            path = arguments[0]
            if isinstance(path, str | bytes) and os.fsdecode(path).startswith(f"{self.folder}/"):
                self._note("open", os.fsdecode(path))
        elif name in _OF_PATHS:
            path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else ""
            if name == "os.mkdir" and Path(path).is_dir():
                return
            # Within a folder that is removed with what is in it, paths are relative.
            if path.startswith(f"{self.folder}/") or not path.startswith("/"):
                self._note(name, path)

    def _statement(self, _: object, statement: str, __: object, context: Any) -> None:
        if statement.lstrip().upper().startswith(_CHANGING):
            self._note("statement", " ".join(statement.split()[:3]), context.dialect.dbapi)

    def _note(self, kind: str, name: str, database: Any = None) -> bool:
        """Note a write, and disturb it if it is the one; return True for a commit whose answer is to be lost."""
        if not self.is_noting:
            return False
        number = len(self.points)
        self.points.append(Point(number, kind, name.removeprefix(f"{self.folder}/")))
        if number != self.at:
            return False
        if self.how == "lost":
            return True
        if self.how == "fail":
            raise OSError(errno.ENOSPC, "No space left on device", name) if database is None else _full(database)
        if self.how == "torn" and kind == "open":  # with threads, another write may have this number
            self.is_noting = False
            Path(name).write_bytes(b'{"torn')
        os.kill(os.getpid(), signal.SIGKILL)
        return False


def _full(database: Any) -> Exception:
    """Return the error of a driver whose database is full."""
    error: Exception = database.OperationalError("database or disk is full")
    return error


def _attempt(
    folder: Path, at: int | None, how: How, operation: Callable[..., None], arguments: tuple[object, ...]
) -> None:
    """Do an operation in this process; again, if a write of it failed: services go on."""
    tempfile.tempdir = str(folder / "watched" / "tmp")
    watch = _Watch(folder / "watched", at, how)
    watch.begin()
    try:
        operation(*arguments)
    except Exception:
        if at is None:
            raise
        (folder / "failure").write_text(traceback.format_exc())
        watch.is_noting = False
        operation(*arguments)
    watch.is_noting = False
    (folder / "points").write_text(json.dumps([(each.kind, each.name) for each in watch.points]))


@dataclass
class CrashPoints:
    """An operation on a lake that is as it was before each time. postgresql: the server of its database, if it has one.

    folder: has the lake below `watched`, with temporary files in `watched/tmp`, and a copy of what it was.
    """

    folder: Path
    operation: Callable[..., None]
    arguments: tuple[object, ...]
    postgresql: PostgreSQL | None = None
    database: str = ""
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def watched(self) -> Path:
        """The folder whose files are watched."""
        return self.folder / "watched"

    def keep(self) -> None:
        """Keep the lake as it is now; nobody may have it open."""
        (self.watched / "tmp").mkdir()
        shutil.copytree(self.watched, self.folder / "kept")
        self._copy_database(f"{self.database}_kept", self.database)

    def restore(self) -> None:
        """Let the lake be as it was."""
        shutil.rmtree(self.watched)
        shutil.copytree(self.folder / "kept", self.watched)
        self._copy_database(self.database, f"{self.database}_kept")

    def _copy_database(self, to: str, source: str) -> None:
        if self.postgresql is not None:
            with self.postgresql.connect(autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [source]
                )
                connection.execute(f'DROP DATABASE IF EXISTS "{to}" WITH (FORCE)')
                connection.execute(f'CREATE DATABASE "{to}" TEMPLATE "{source}"')

    def points(self) -> list[Point]:
        """Return the writes of the operation, undisturbed."""
        self.restore()
        assert self._run(None, "kill") == 0
        noted = json.loads((self.folder / "points").read_text())
        return [Point(number, kind, name) for number, (kind, name) in enumerate(noted)]

    def disturb(self, point: Point, how: How) -> None:
        """Do the operation, with a kill or a failure at a write of it."""
        self.restore()
        status = self._run(point.number, how)
        # Threads may do less before another one is killed, and a failure is no end of a service.
        assert status in (0, -signal.SIGKILL) if how in KILLS else status == 0, (point, how, self.failure())
        self.counts["kills" if how in KILLS else "failed writes"] += 1

    def failure(self) -> str:
        """Return the error of the write that failed."""
        file = self.folder / "failure"
        return file.read_text() if file.exists() else ""

    def _run(self, at: int | None, how: How) -> int:
        (self.folder / "failure").unlink(missing_ok=True)
        process = Forked(_attempt, self.folder, at, how, self.operation, self.arguments, may_start_others=True)
        return process.wait(300)

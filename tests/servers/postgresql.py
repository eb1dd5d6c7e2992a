"""A PostgreSQL server of a test's own, from Debian's package, in a folder that is removed with it.

It listens on 127.0.0.1 and trusts whoever connects. Nothing is forced to disk: what was committed survives the death of
its processes, not that of the machine.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.servers.processes import ADDRESS, SECONDS, end, ended, free_port, program, wait_until

_USER = "postgres"
_SETTINGS = (
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=16MB",
    "jit=off",
    "autovacuum=off",
    "max_connections=100",
)


@dataclass
class PostgreSQL:
    """A server that runs, or may be started again on the same port with the same data."""

    folder: Path
    port: int
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def url(self, database: str = "postgres") -> str:
        """Where a database is, as SQLAlchemy and `--lake` write it."""
        return f"postgresql+psycopg://{_USER}@{ADDRESS}:{self.port}/{database}"

    def new_database(self) -> str:
        """Make an empty database of a name of its own, and return its URL."""
        name = f"lake_{uuid.uuid4().hex[:12]}"
        with self.connect(autocommit=True) as connection:
            connection.execute(f'create database "{name}" template template0')
        return self.url(name)

    def connect(self, database: str = "postgres", *, autocommit: bool = False) -> psycopg.Connection:
        """A connection of the test's own."""
        return psycopg.connect(
            host=ADDRESS, port=self.port, user=_USER, dbname=database, autocommit=autocommit, connect_timeout=SECONDS
        )

    @property
    def log(self) -> str:
        """What the server has said."""
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> None:
        """Start it, and return when it answers."""
        settings = [*_SETTINGS, f"port={self.port}", f"listen_addresses={ADDRESS}"]
        folders = ["-D", str(self.folder / "data"), "-k", str(self.folder)]
        arguments = [*folders, *(part for setting in settings for part in ("-c", setting))]
        with (self.folder / "log").open("ab") as log:
            self.processes.append(_as_user(_program("postgres"), arguments, log.fileno()))
        wait_until(self._answers, "PostgreSQL answers")

    def stop(self) -> None:
        """End it as an administrator does: connections are closed, what was committed is kept."""
        if self.processes:
            end(self.processes.pop(), signal.SIGINT)

    def kill(self) -> None:
        """End it without any farewell, as a machine that fails does."""
        if self.processes:
            end(self.processes.pop(), signal.SIGQUIT)

    def restart(self) -> None:
        """Stop and start: whoever was connected has to connect again."""
        self.stop()
        self.start()

    def _answers(self) -> bool:
        assert self.processes[-1].poll() is None, self.log[-2000:]
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def postgresql_server() -> Iterator[PostgreSQL]:
    """Start a new server and end it; skips the test where PostgreSQL isn't installed."""
    initdb = _program("initdb")
    # Not pytest's folder: only root may look into that, and PostgreSQL refuses to run as root.
    folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
    if os.geteuid() == 0:
        shutil.chown(folder, _USER, _USER)
    server = PostgreSQL(folder, free_port())
    try:
        with (folder / "log").open("ab") as log:
            options = ["--auth=trust", f"--username={_USER}", "--no-sync", "--encoding=UTF8", "--locale=C"]
            made = _as_user(initdb, ["-D", str(folder / "data"), *options], log.fileno())
        assert ended(made) == 0, server.log
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)


def _program(name: str) -> Path:
    """The newest that is installed: Debian keeps them where no shell looks."""
    versions = sorted(Path("/usr/lib/postgresql").glob("[0-9]*/bin"), key=lambda folder: float(folder.parent.name))
    return program(name, "postgresql", reversed(versions))


def _as_user(path: Path, arguments: list[str], log: int) -> subprocess.Popen[bytes]:
    """Start a program with a log instead of streams; in place of root, as the user that Debian's package made."""
    user = _USER if os.geteuid() == 0 else None
    return subprocess.Popen(
        [path, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd="/",
        user=user,
        group=user,
        extra_groups=[] if user else None,
        start_new_session=True,
    )

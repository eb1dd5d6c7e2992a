"""A PostgreSQL server of the tests' own, on a socket in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

PASSWORD = "s3cret word"
_LONGEST_START = 30.0


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a database server that lives as long as the context; skips where PostgreSQL is not installed."""
    if not (shutil.which("initdb") and shutil.which("postgres")):
        pytest.skip("PostgreSQL's initdb and postgres are not installed")
    # Not under pytest's own folder: that is closed to the user that the server has to run as.
    folder = Path(tempfile.mkdtemp(prefix="losslake-postgres-"))
    try:
        (folder / "password").write_text(PASSWORD)
        who = _unprivileged(folder)
        options = [
            "-U",
            "losslake",
            "-A",
            "scram-sha-256",
            "--pwfile",
            "password",
            "--no-sync",
            "-E",
            "UTF8",
            "--no-locale",
        ]
        subprocess.run(["initdb", "-D", "data", *options], cwd=folder, check=True, capture_output=True, **who)
        command = ["postgres", "-D", "data", "-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off"]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(command, cwd=folder, stderr=log, **who)
        try:
            _wait_for(folder)
            yield f"postgresql://losslake:{PASSWORD.replace(' ', '%20')}@/postgres?host={folder}"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
    finally:
        shutil.rmtree(folder)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """How to start a process as a user that PostgreSQL runs as, which is not root."""
    if os.getuid() != 0:
        return {}
    for path in (folder, *folder.iterdir()):
        shutil.chown(path, "nobody", None)
    return {"user": "nobody", "extra_groups": []}


def _wait_for(folder: Path) -> None:
    """Wait until the server answers; its socket is there before."""
    end = time.monotonic() + _LONGEST_START
    while time.monotonic() < end:
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(host=str(folder), user="losslake", password=PASSWORD, dbname="postgres").close()
            return
        time.sleep(0.05)
    raise TimeoutError(f"PostgreSQL does not answer after {_LONGEST_START} s")

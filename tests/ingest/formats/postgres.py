"""A PostgreSQL server of the tests' own, on a socket in a temporary folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.servers.processes import SECONDS, end, wait_until

PASSWORD = "s3cret word"


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
        subprocess.run(
            ["initdb", "-D", "data", *options], cwd=folder, check=True, capture_output=True, timeout=SECONDS, **who
        )
        command = ["postgres", "-D", "data", "-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off"]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(command, cwd=folder, stderr=log, **who)
        try:
            wait_until(lambda: _answers(server, folder), "PostgreSQL answers")
            yield f"postgresql://losslake:{PASSWORD.replace(' ', '%20')}@/postgres?host={folder}"
        finally:
            end(server, signal.SIGINT)
    finally:
        shutil.rmtree(folder)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """How to start a process as a user that PostgreSQL runs as, which is not root."""
    if os.getuid() != 0:
        return {}
    for path in (folder, *folder.iterdir()):
        shutil.chown(path, "nobody", None)
    return {"user": "nobody", "extra_groups": []}


def _answers(server: subprocess.Popen[bytes], folder: Path) -> bool:
    """Whether the server answers; its socket is there before."""
    assert server.poll() is None, (folder / "log").read_text(errors="replace")
    try:
        psycopg.connect(host=str(folder), user="losslake", password=PASSWORD, dbname="postgres").close()
    except psycopg.OperationalError:
        return False
    return True

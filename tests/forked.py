"""Processes with everything imported from the start: forks of one that has imported what ingests and commands need.

Python with those modules takes two seconds to start, a fork a hundredth. The tests' own process is not what is forked:
its threads hold locks.
"""

from __future__ import annotations

import fcntl
import os
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from losslake.__main__ import main

_FORKING = get_context("forkserver")
_FORKING.set_forkserver_preload(
    [
        "tests.forked",
        "ingest.run",
        "losslake.local_session",
        "losslake.progress",
        "losslake.remote.downloading",
        "losslake.remote.session",
        "losslake.shell",
        "schema.iceberg_tables",
        "schema.serving",
    ]
)


class Forked:
    """A process that runs a function and ends."""

    def __init__(self, function: Callable[..., None], *arguments: object) -> None:
        self._process = _FORKING.Process(target=function, args=arguments, daemon=True)
        self._process.start()

    def is_running(self) -> bool:
        return self._process.is_alive()

    def send_signal(self, signal: int) -> None:
        assert self._process.pid is not None
        if self.is_running():
            os.kill(self._process.pid, signal)

    def kill(self) -> None:
        self._process.kill()

    def wait(self, seconds: float | None = None) -> int:
        """The exit status, negative for a signal."""
        self._process.join(seconds)
        assert self._process.exitcode is not None, "still running"
        return self._process.exitcode


def start_command(arguments: Sequence[object], stderr: Path | None = None, **environment: str) -> Forked:
    """The command line in a process of its own. stderr: a file for what it complains of."""
    return Forked(_run_command, [*map(str, arguments)], os.environ | environment, None, stderr)


def start_on_a_terminal(arguments: Sequence[object], terminal: int, **environment: str) -> Forked:
    """The command line with all its streams on a terminal that is its own; the file handle of it is closed here."""
    passed = Connection(terminal)
    forked = Forked(_run_command, [*map(str, arguments)], os.environ | environment, passed, None)
    passed.close()
    return forked


def _run_command(
    arguments: Sequence[str], environment: Mapping[str, str], terminal: Connection | None, stderr: Path | None
) -> None:
    if terminal is not None:
        os.setsid()
        fcntl.ioctl(terminal.fileno(), termios.TIOCSCTTY, 0)
        for stream in (0, 1, 2):
            os.dup2(terminal.fileno(), stream)
        terminal.close()
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    elif stderr is not None:
        sys.stderr = stderr.open("w", buffering=1)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["losslake", *arguments]
    main()

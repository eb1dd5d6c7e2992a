"""Processes with everything imported from the start: forks of one that has imported what commands and services need.

Python with those modules takes two seconds to start, a fork a hundredth. The tests' own process is not what is forked:
its threads hold locks.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import tempfile
import termios
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from losslake_cli.main import main

_FORKING = get_context("forkserver")
_FORKING.set_forkserver_preload(
    [
        "losslake_ingest.run",
        "losslake_cli.sql.session",
        "losslake_cli.progress",
        "losslake.client.downloading",
        "losslake_cli.sql.remote_session",
        "losslake_cli.sql.shell",
        "losslake.lake.catalog",
        "losslake_service.serve",
        "losslake_contributions.serve",
        "tests.contributions.running",
        "tests.forked",
        "tests.service.running",
        "uvloop",
    ]
)
Streams = Mapping[int, int]
SECONDS_TO_END = 60.0


class Forked:
    """A process that runs a function and ends.

    streams: which open files become which of its standard streams. may_start_others: whether the function may use
    multiprocessing; such a process is not ended with this one.
    """

    def __init__(
        self,
        function: Callable[..., None],
        *arguments: object,
        streams: Streams | None = None,
        may_start_others: bool = False,
    ) -> None:
        passed = {stream: Connection(os.dup(opened)) for stream, opened in (streams or {}).items()}
        given = (dict(os.environ), passed, function, arguments)
        self._process = _FORKING.Process(target=_run, args=given, daemon=not may_start_others)
        self._process.start()
        for connection in passed.values():
            connection.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def is_running(self) -> bool:
        return self._process.is_alive()

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):  # it may end after the look
            if self.is_running():
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, seconds: float | None = None) -> int:
        """The exit status, negative for a signal; after so many seconds it is killed, and AssertionError."""
        self._process.join(seconds)
        status = self._process.exitcode
        if status is None:
            self.kill()
            self._process.join(SECONDS_TO_END)
            raise AssertionError(f"process {self.pid} was still running after {seconds:g} s, and was killed")
        return status

    def end(self) -> int:
        """Ask it to end, and return its exit status."""
        self.terminate()
        return self.wait(SECONDS_TO_END)


def start_command(arguments: Sequence[object], stderr: Path, *, may_start_others: bool = False) -> Forked:
    """The command line in a process of its own, which complains into a file."""
    with stderr.open("w") as complaints:
        streams = {2: complaints.fileno()}
        return Forked(_command, [*map(str, arguments)], streams=streams, may_start_others=may_start_others)


def start_on_a_terminal(arguments: Sequence[object], terminal: int, **environment: str) -> Forked:
    """The command line with all its streams on a terminal that is its own."""
    streams = dict.fromkeys((0, 1, 2), terminal)
    return Forked(_command_on_a_terminal, [*map(str, arguments)], environment, streams=streams)


def _run(
    environment: Mapping[str, str],
    passed: Mapping[int, Connection],
    function: Callable[..., None],
    arguments: Sequence[Any],
) -> None:
    for stream, connection in passed.items():
        os.dup2(connection.fileno(), stream)
        connection.close()
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # which TMPDIR says, not what the server found
    function(*arguments)


def _command(arguments: Sequence[str]) -> None:
    sys.argv = ["losslake", *arguments]
    main()


def _command_on_a_terminal(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.update(environment)
    _command(arguments)

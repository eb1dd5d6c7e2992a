"""Programs of others as processes of a test: found or skipped, started on free ports of this machine, and ended."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

SECONDS = 60
ADDRESS = "127.0.0.1"


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as listening:
        listening.bind((ADDRESS, 0))
        port = listening.getsockname()[1]
    assert isinstance(port, int)
    return port


def program(name: str, package: str, folders: Iterable[Path] = ()) -> Path:
    """The path of a program, in one of the folders or where the shell looks; skips the test where there is none.

    Args:
        name: what the program is called.
        package: Debian's package that has it, for the reason of the skip.
        folders: where to look first.
    """
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} isn't installed: apt-get install {package}")
    return Path(found)


def wait_until(happened: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
    """Look again and again until something has happened; AssertionError names what hasn't."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.02)


def accepts(port: int) -> bool:
    """Whether something listens on a port."""
    with socket.socket() as connection:
        connection.settimeout(1)
        return connection.connect_ex((ADDRESS, port)) == 0


def wait_until_listening(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return when a process that was just started accepts connections; AssertionError has its log if it ended."""

    def listening() -> bool:
        assert process.poll() is None, f"{process.args!r} ended: {log.read_text(errors='replace')[-2000:]}"
        return accepts(port)

    wait_until(listening, f"port {port} answers")


def end(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> int:
    """Ask a process to end, insist after a while, and return its exit status."""
    if process.poll() is None:
        process.send_signal(how)
    try:
        return process.wait(SECONDS / 2)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait(SECONDS / 2)

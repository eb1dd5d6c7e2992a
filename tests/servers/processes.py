"""Programs of others as processes of a test: found or skipped, started on free ports of this machine, and ended."""

from __future__ import annotations

import secrets
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
_ANY_PORT = Path("/proc/sys/net/ipv4/ip_local_port_range")
_MINE: list[socket.socket] = []


def free_port(among: Iterable[int] | None = None) -> int:
    """Return a port that is this process's until it ends, whether a server of its listens there just now or not.

    Connections and whoever asks for any port get others: the system takes those from a range of its own. Among tests, a
    port belongs to the process that has bound its number for UDP.
    """
    for port in among or _outside_of_the_range_for_any_port():
        mine = socket.socket(type=socket.SOCK_DGRAM)
        try:
            mine.bind((ADDRESS, port))
            with socket.socket() as listening:
                listening.bind((ADDRESS, port))
        except OSError:
            mine.close()
        else:
            _MINE.append(mine)
            return port
    raise AssertionError("every port is taken")


def _outside_of_the_range_for_any_port() -> list[int]:
    low, high = map(int, _ANY_PORT.read_text().split()) if _ANY_PORT.exists() else (49_152, 65_535)
    ports = [port for port in range(10_000, 65_536) if not low <= port <= high]
    # Not by the seed of a test: processes that start at once would all try the same ports.
    first = secrets.randbelow(len(ports))
    return ports[first:] + ports[:first]


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


def wait_until(happened: Callable[[], bool], what: str, seconds: float = SECONDS, pause: float = 0.02) -> None:
    """Look again and again until something has happened; AssertionError names what hasn't.

    pause: between two looks, so that they don't take the time of what is waited for.
    """
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(pause)


def accepts(port: int) -> bool:
    """Whether something listens on a port."""
    with socket.socket() as connection:
        connection.settimeout(SECONDS)
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
    return ended(process)


def ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a process, insist after a while, and return its exit status."""
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait(SECONDS)

"""Measure the time, memory and disk space that a function or a command uses."""

from __future__ import annotations

import multiprocessing
import os
import platform
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

STARTING = multiprocessing.get_context("spawn")
_WHOSE = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


@dataclass(frozen=True)
class Measured:
    """The cost of a run, with its result."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    result: Any


def in_own_process(function: Callable[..., Any], *arguments: object) -> Measured:
    """Run a function in a fresh process; imports at its module's top are not counted."""
    receiving, sending = STARTING.Pipe(duplex=False)
    process = STARTING.Process(target=_run, args=(sending, function, arguments))
    process.start()
    sending.close()  # else a child that fails would be waited for without end
    try:
        measurement: Measured = receiving.recv()
    except EOFError:
        raise RuntimeError(f"{function.__name__} failed, see above") from None
    finally:
        process.join()
    return measurement


def start(command: Sequence[str], environment: Mapping[str, str], output: int) -> subprocess.Popen[bytes]:
    """Start a program. output: the file that becomes its standard output."""
    return subprocess.Popen(command, env=environment, stdout=output)


def measured(function: Callable[..., Any], *arguments: object) -> Measured:
    """Run a function in this process; its finished children count, for memory the largest of them."""
    wall, cpu = time.perf_counter(), _cpu_s()
    result = function(*arguments)
    return Measured(time.perf_counter() - wall, _cpu_s() - cpu, _peak_mb(), result)


def milliseconds(function: Callable[..., object], *arguments: object) -> float:
    """Return the milliseconds of one call."""
    started = time.perf_counter()
    function(*arguments)
    return (time.perf_counter() - started) * 1000


def percentile(times: Sequence[float], part: float) -> float:
    """Return the time within which that part of them lies."""
    return sorted(times)[int(len(times) * part)]


def _run(sending: Connection, function: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    sending.send(measured(function, *arguments))


def _cpu_s() -> float:
    used = (resource.getrusage(whose) for whose in _WHOSE)
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak_mb() -> float:
    return sum(resource.getrusage(whose).ru_maxrss for whose in _WHOSE) / 1024


@dataclass(frozen=True)
class Command:
    """The cost of a finished command. memory_gb, disk_gb: the largest of samples taken every second."""

    status: int
    minutes: float
    memory_gb: float
    disk_gb: float


def watched(command: Sequence[str]) -> Command:
    """Run a command and measure it. Its temporary files go into a folder of their own, which is then removed."""
    memory = disk = 0
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="losslake-bench-") as folder,
        psutil.Popen(command, env=os.environ | {"TMPDIR": folder}) as process,
    ):
        while (status := _status_within_a_second(process)) is None:
            memory = max(memory, memory_of(process))
            disk = max(disk, bytes_in(Path(folder)))
    return Command(status, (time.monotonic() - started) / 60, memory / 1e9, disk / 1e9)


def _status_within_a_second(process: psutil.Popen) -> int | None:
    try:
        return int(process.wait(timeout=1))
    except psutil.TimeoutExpired:
        return None


def memory_of(process: psutil.Process) -> int:
    """Return the bytes of memory of a process and of all its descendants, without mapped files."""
    total = 0
    for one in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            memory = one.memory_info()  # readable by every user, also for sandboxed processes, unlike PSS
            total += memory.rss - memory.shared
    return total


def cpu_of(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and of its descendants so far."""
    total = 0.0
    for one in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            times = one.cpu_times()
            total += times.user + times.system
    return total


def bytes_in(folder: Path) -> int:
    """Return the bytes of all files in a folder, from which others may remove some meanwhile."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(where, name).stat().st_size
    return total


def machine() -> str:
    """Return one line about the machine and the relevant versions."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    libraries = ", ".join(
        f"{name} {version(name)}" for name in ("duckdb", "pyarrow", "polars", "pyiceberg", "rapidgzip")
    )
    return f"{os.cpu_count()} cores ({cpu}), Python {platform.python_version()}, {libraries}"

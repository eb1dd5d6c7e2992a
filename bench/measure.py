"""Measuring a function in a process of its own: wall and CPU seconds, and peak memory."""

from __future__ import annotations

import multiprocessing
import os
import platform
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

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
    receiving, sending = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(sending, function, arguments))
    process.start()
    sending.close()  # else a child that fails would be waited for without end
    try:
        measurement: Measured = receiving.recv()
    except EOFError:
        raise RuntimeError(f"{function.__name__} failed, see above") from None
    finally:
        process.join()
    return measurement


def measured(function: Callable[..., Any], *arguments: object) -> Measured:
    """Run a function in this process; its finished children count, for memory the largest of them."""
    wall, cpu = time.perf_counter(), _cpu_s()
    result = function(*arguments)
    return Measured(time.perf_counter() - wall, _cpu_s() - cpu, _peak_mb(), result)


def _run(sending: Connection, function: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    sending.send(measured(function, *arguments))


def _cpu_s() -> float:
    used = (resource.getrusage(whose) for whose in _WHOSE)
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak_mb() -> float:
    return sum(resource.getrusage(whose).ru_maxrss for whose in _WHOSE) / 1024


def machine() -> str:
    """Return one line about the machine and the relevant versions."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    libraries = ", ".join(
        f"{name} {version(name)}" for name in ("duckdb", "pyarrow", "polars", "pyiceberg", "rapidgzip")
    )
    return f"{os.cpu_count()} cores ({cpu}), Python {platform.python_version()}, {libraries}"

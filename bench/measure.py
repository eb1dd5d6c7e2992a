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


@dataclass(frozen=True)
class Measured:
    """What a run took, with what it returned."""

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
        measured: Measured = receiving.recv()
    except EOFError:
        raise RuntimeError(f"{function.__name__} failed, see above") from None
    finally:
        process.join()
    return measured


def _run(sending: Connection, function: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    result = function(*arguments)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sending.send(Measured(wall, cpu, peak, result))


def machine() -> str:
    """One line on the machine and the versions that matter."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    libraries = ", ".join(
        f"{name} {version(name)}" for name in ("duckdb", "pyarrow", "polars", "pyiceberg", "rapidgzip")
    )
    return f"{os.cpu_count()} cores ({cpu}), Python {platform.python_version()}, {libraries}"

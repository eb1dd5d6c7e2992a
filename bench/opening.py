"""Opening the newest release of a lake, as a process that has just started does: `python -m bench.opening LAKE`."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench import measure
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView


@dataclass(frozen=True)
class Opening:
    """Milliseconds of opening a release.

    first_ms: for the first time in a process, with what Python imports only then. again_ms: once more.
    process_ms: of a process that starts, imports, opens once and ends.
    """

    first_ms: float
    again_ms: float
    process_ms: float


def opened(folder: Path) -> float:
    """Open the newest release for questions, building its serving files where there are none; returns milliseconds."""
    started = time.perf_counter()
    lake = Lake.open(folder)
    view = ReleaseView.open(lake, lake.release())
    ended = time.perf_counter()
    assert view.workloads
    return (ended - started) * 1000


def opened_by_new_process(folder: Path) -> Opening:
    """Open it in a process of its own."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "bench.opening", str(folder)]
    with tempfile.TemporaryFile() as output:
        status = measure.start(command, os.environ, output.fileno()).wait()
        took = (time.perf_counter() - started) * 1000
        if status:
            raise RuntimeError(f"{' '.join(command)} ended with status {status}, see above")
        output.seek(0)
        first, again = map(float, output.read().split())
    return Opening(first, again, took - again)


if __name__ == "__main__":
    print(opened(Path(sys.argv[1])), opened(Path(sys.argv[1])))

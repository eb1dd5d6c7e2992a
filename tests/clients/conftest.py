"""A running service over one workload, whose curve every client is to get."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.run import ingest
from schema.lake import Lake
from tests.archives import write_workload
from tests.oracle import Row

ROOT = Path(__file__).parents[2]
METRIC = "val/classification_error"
TRIAL = "clients/mnist/cnn/sgd/8/1"
NAN, INF = float("nan"), float("inf")
VALUES = (0.9, 0.30000000000000004, 0.1 + 0.2 - 0.1, 5e-324, NAN, INF, -INF, 1.7976931348623157e308, 0.05)
CURVE = [(10 * at, value) for at, value in enumerate(VALUES)]
SECONDS = 60


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a service in a process of its own."""
    folder = tmp_path_factory.mktemp("clients")
    rows = [Row(8, trial, "COMPLETE", step, value) for trial in (1, 2) for step, value in CURVE]
    lake = Lake.create(folder / "lake")
    ingest(lake, [write_workload(folder / "clients", "mnist/cnn/sgd", {METRIC: rows})])
    command = [sys.executable, "-m", "losslake", "serve", "--lake", str(lake.folder), "--port", "0"]
    environment = {**os.environ, "LOSSLAKE_LOG_FORMAT": "off"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield "http://127.0.0.1:" + process.stdout.readline().split("http://127.0.0.1:")[1].split()[0]
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)

"""A running service over one workload, whose curve every client reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.archives import write_workload
from tests.oracle import Row
from tests.service import running

ROOT = Path(__file__).parents[2]
METRIC = "val/loss"  # it can have any value
TRIAL = "clients/mnist/cnn/sgd/8/1"
NAN, INF = float("nan"), float("inf")
VALUES = (0.9, 0.30000000000000004, 0.1 + 0.2 - 0.1, 5e-324, NAN, INF, -INF, 1.7976931348623157e308, 0.05)
CURVE = [(10 * at, value) for at, value in enumerate(VALUES)]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a service in a separate process."""
    folder = tmp_path_factory.mktemp("clients")
    rows = [Row(8, trial, "COMPLETE", step, value) for trial in (1, 2) for step, value in CURVE]
    lake = Lake.create(folder / "lake")
    ingest(lake, [write_workload(folder / "clients", "mnist/cnn/sgd", {METRIC: rows})])
    with running.served(folder, lake=str(lake.folder), sql_enabled=True, sql_workers=1, log_format="off") as started:
        yield started.url

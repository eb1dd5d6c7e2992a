"""A lake of a few small workloads, ingested as users do it, and a client of the service over it.

The process that distributes the tests loads this too: what takes long to import is imported where it is used.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partialmethod
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.archives import write_workload
from tests.oracle import Row
from tests.without_history import history_is_written

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from losslake.lake.lake import Lake
    from tests.servers.s3 import S3

ERROR, PRECISION, ODD = "val/classification_error", "val/average_precision", "val/odd_thing"
METRICS = (ERROR, PRECISION, ODD)
VALUES = (0.1, 0.2, 0.3, 0.30000000000000004, 0.9, float("nan"), float("inf"), float("-inf"))
Curves = dict[str, dict[str, list[Row]]]


@pytest.fixture(scope="session", autouse=True)
def clients_name_localhost() -> Iterator[None]:
    """TestClient names testserver and comes from testclient: neither is known to the service."""
    from fastapi.testclient import TestClient

    with pytest.MonkeyPatch.context() as changes:
        local = {"base_url": "http://localhost", "client": ("127.0.0.1", 50000)}
        changes.setattr(TestClient, "__init__", partialmethod(TestClient.__init__, **local))
        yield


def made_up_curves() -> Curves:
    """Workload -> metric -> rows; in the collection `shelf/deep`, and with a trial that was never evaluated."""
    from losslake_schema.statuses import STORED_STATUSES

    rng = random.Random(20)
    found: Curves = {}
    for workload in ("shelf/mnist/cnn/sgd", "shelf/deep/mnist/cnn/sgd"):
        curves: dict[str, list[Row]] = {metric: [] for metric in METRICS}
        for batch_size in (1, 8, 64, 512):
            for trial_id in rng.sample(range(1, 40), 6):
                status = rng.choice((*STORED_STATUSES, "COMPLETE"))
                steps: list[int | None] = [*sorted(rng.sample(range(60), rng.randint(1, 30)))]
                for metric in METRICS:
                    curves[metric] += [Row(batch_size, trial_id, status, s, rng.choice(VALUES)) for s in steps]
        for metric in METRICS:
            curves[metric].append(Row(64, 40, "COMPLETE", None, None))
        found[workload] = curves
    return found


@pytest.fixture(scope="session")
def curves() -> Curves:
    return made_up_curves()


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory, curves: Curves) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    for path, its_curves in curves.items():
        *collection, dataset, model, optimizer = path.split("/")
        write_workload(folder.joinpath(*collection), f"{dataset}/{model}/{optimizer}", its_curves)
    return folder


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory, archive: Path) -> Lake:
    from losslake.lake.lake import Lake

    return _filled(Lake.create(tmp_path_factory.mktemp("service") / "lake"), archive)


@pytest.fixture(scope="session")
def remote_lake(tmp_path_factory: pytest.TempPathFactory, archive: Path, s3: S3) -> Iterator[Lake]:
    """The same with its files in a bucket."""
    from losslake.lake.lake import Lake

    folder = tmp_path_factory.mktemp("remote")
    with pytest.MonkeyPatch.context() as changes:
        s3.let_in(changes, folder / "cache")
        yield _filled(Lake.create(f"sqlite:///{folder}/catalog.db {s3.new_warehouse()}"), archive)


def _filled(lake: Lake, archive: Path) -> Lake:
    from losslake_ingest.run import ingest

    with history_is_written():
        summary = ingest(lake, [archive])
    assert not summary.quarantined, summary.quarantined
    return lake


@pytest.fixture(scope="session")
def client(lake: Lake) -> Iterator[TestClient]:
    from tests.applications import client_with_sql

    with client_with_sql(lake) as client:
        yield client


@pytest.fixture
def small_archive(tmp_path: Path) -> Path:
    return write_small_archive(tmp_path)


def write_small_archive(folder: Path) -> Path:
    """One workload, `small/mnist/cnn/sgd`, of one trial that reaches 0.3 at step 10."""
    rows = [Row(8, 1, "COMPLETE", 0, 0.9), Row(8, 1, "COMPLETE", 10, 0.2)]
    return write_workload(folder / "small", "mnist/cnn/sgd", {ERROR: rows})

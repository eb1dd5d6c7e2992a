"""A lake whose names are as odd as names may be, and a service of it in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.ingest.offers import TrialOffer, study_files, unpacked
from tests.service import running

TRIALS = {1: TrialOffer(rows=["0,0.9", "10,nan", "20,0.1"]), 2: TrialOffer()}
WORKLOADS = (
    "root/sub/mnist 100%/cnn/sgd",
    "<script>alert(1)/a&b/c\"d/e'f",
    "a%2Fb/d/m/o",
    "a/b/d/m/o",
    "ünï/dätä/mödel/x=y",
    "batch_science/mnist/simple_cnn_base/nesterov_momentum",
)
"""The third would be taken for the fourth by someone who decodes once too often; the last has goals."""


@pytest.fixture(scope="session")
def odd_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("bulk")
    files: dict[str, bytes] = {}
    for number, workload in enumerate(WORKLOADS):
        trials = TRIALS | {number + 3: TrialOffer(rows=["0,0.5", "7,0.3", "9,0.001"])}
        files |= study_files(trials, 8, workload) | study_files(TRIALS, 64, workload)
    lake = Lake.create(folder / "lake")
    summary = ingest(lake, [unpacked(folder / "logs", files)])
    assert not summary.quarantined, summary.quarantined
    return lake


@pytest.fixture(scope="session")
def odd_client(odd_lake: Lake) -> Iterator[TestClient]:
    with TestClient(without_sql(odd_lake), raise_server_exceptions=False, follow_redirects=False) as client:
        yield client


@pytest.fixture(scope="session")
def served(odd_lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service over the odd lake."""
    with running.served(tmp_path_factory.mktemp("served"), lake=str(odd_lake.folder)) as started:
        yield started.url

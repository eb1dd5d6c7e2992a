"""A lake of three releases, in which optimizers and models can be compared, and a client of the service over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.archives import write_workload
from tests.oracle import Row

ERROR = "val/classification_error"
STEPS: Mapping[str, Mapping[int, int]] = {
    "mnist/cnn/momentum": {16: 80, 64: 20, 256: 20},
    "mnist/cnn/sgd": {16: 160, 64: 80, 256: 70},
    "mnist/mlp/momentum": {16: 90, 64: 50},
}
"""The fewest steps to an error of 0.1, by workload and batch size."""


def write(root: Path, workload: str, steps: Mapping[int, int]) -> None:
    """Write two trials per batch size; the second takes twice as many steps."""
    rows = [
        Row(size, trial, "COMPLETE", step, value)
        for size, fewest in steps.items()
        for trial in (1, 2)
        for step, value in ((0, 0.9), (fewest * trial, 0.1))
    ]
    write_workload(root, workload, {ERROR: rows})


@pytest.fixture(scope="package")
def three_releases(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Create a lake of three releases: two workloads, a third one, a study of sgd with other steps."""
    folder = tmp_path_factory.mktemp("three releases")
    lake = Lake.create(folder / "lake")
    first, second, third = (folder / number / "shelf" for number in "123")
    for workload in ("mnist/cnn/momentum", "mnist/cnn/sgd"):
        write(first, workload, {**STEPS[workload], **({16: 150} if workload.endswith("sgd") else {})})
    write(second, "mnist/mlp/momentum", STEPS["mnist/mlp/momentum"])
    write(third, "mnist/cnn/sgd", {16: STEPS["mnist/cnn/sgd"][16]})
    for archive, notes in ((first, ""), (second, "Another model & <script>alert(1)</script>"), (third, "Corrected")):
        assert not ingest(lake, [archive], notes=notes).quarantined
    return lake


@pytest.fixture(scope="package")
def explorer(three_releases: Lake) -> Iterator[TestClient]:
    with TestClient(without_sql(three_releases)) as client:
        yield client

"""Stored curves of the nearest workload are behind those of the runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from tests.contributions.dashboard.recorded_runs import begin, loss_rows, write
from tests.contributions.dashboard.test_page import changes, dashboard, wait_for_runs
from tests.contributions.made_runs import ERROR, curve, lake_of, write_run


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("stored")
    for number, size in enumerate((8, 8, 32), start=1):
        write_run(folder / "spools", number, curve([0.9, 0.5, 0.1]), batch_size=size, parameters={"seed": number})
    return lake_of(folder / "lake", folder / "spools")


def test_stored_curves_are_of_the_same_workload_and_batch_size(tmp_path: Path, lake: Lake) -> None:
    facts = {"collection": "small", "dataset": "mnist", "model": "cnn", "optimizer": "sgd", "batch_size": 8}
    write(begin(tmp_path / "one", **facts), loss_rows(range(3), ERROR))
    write(begin(tmp_path / "two", **{**facts, "model": "another"}), loss_rows(range(3), "val/loss"))
    with dashboard(tmp_path, lake) as client:
        wait_for_runs(client, 2)
        stored = changes(client, metric=ERROR)["stored"]
        about = "Grey: 2 trials of small/mnist/cnn/sgd at batch size 8, the workload that most runs state."
        assert (stored["about"], stored["page"]) == (about, "/workloads/small/mnist/cnn/sgd")
        rows = client.get(stored["address"]).raise_for_status().json()["rows"]
        assert [row["value"] for row in rows] == [0.9, 0.5, 0.1] * 2
        assert client.get(stored["page"]).status_code == 200
        for query in (
            {"metric": "val/loss"},
            {"metric": ERROR, "axis": "seconds"},
            {"metric": ERROR, "stored": "none"},
        ):
            assert changes(client, **query)["stored"] is None

"""Workloads without a common metric or batch size get a page that says so, and offers what can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.archives import write_workload
from tests.oracle import Row
from tests.service.web.reading import Page

ERROR, LOSS = "val/classification_error", "val/loss"
MEASURED: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "mnist/cnn/sgd": (ERROR, (16,)),
    "mnist/cnn/adam": (ERROR, (64,)),
    "mnist/cnn/momentum": (ERROR, (16, 64)),
    "text/rnn/sgd": (LOSS, (16,)),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("incomparable")
    for workload, (metric, sizes) in MEASURED.items():
        rows = [Row(size, 1, "COMPLETE", step, 1 / (step + 1)) for size in sizes for step in (0, 10, 20)]
        write_workload(folder / "shelf", workload, {metric: rows})
    lake = Lake.create(folder / "lake")
    assert not ingest(lake, [folder / "shelf"]).quarantined
    with TestClient(without_sql(lake)) as client:
        yield client


def opened(client: TestClient, *workloads: str, **query: Any) -> tuple[str, Page]:
    response = client.get("/compare", params={"workload": [f"shelf/{each}" for each in workloads], **query})
    assert response.status_code == 200, response.text
    return " ".join(response.text.split()), Page(response.text)


def test_without_a_common_metric_the_page_lists_those_of_each_and_offers_others(client: TestClient) -> None:
    text, page = opened(client, "mnist/cnn/sgd", "text/rnn/sgd")
    assert "no metric with a known direction in common" in text
    assert f": {ERROR}." in text
    assert f": {LOSS}." in text
    offers = [link for link in page.links if link.startswith("/compare?")]
    assert offers
    assert all(client.get(link).status_code == 200 for link in offers)


def test_without_a_common_batch_size_the_page_lists_those_of_each_and_draws_curves(client: TestClient) -> None:
    text, page = opened(client, "mnist/cnn/sgd", "mnist/cnn/adam", metric=ERROR, target=0.1)
    assert "no batch size in common" in text
    assert ": 16." in text
    assert ": 64." in text
    assert "/v1/figures/curves.vl.json?" in text
    assert "/v1/figures/ratio" not in text
    assert "<table>" not in text
    offers = [link for link in page.links if link.startswith("/compare?") and "momentum" in link]
    assert offers


def test_one_or_two_batch_sizes_get_no_charts_by_batch_size(client: TestClient) -> None:
    text, _ = opened(client, "mnist/cnn/momentum", "mnist/cnn/adam", metric=ERROR, target=0.1)
    assert "/v1/figures/curves.vl.json?" in text
    for kind in ("ratio", "scaling", "profile"):
        assert f"/v1/figures/{kind}" not in text
    assert "<table>" in text

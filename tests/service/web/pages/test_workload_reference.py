"""Reference runs are drawn beside the known goal of a workload, and no page lists them as workloads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.ingest.offers import unpacked

MAPPING = """
collection.name = "{collection}"
run = {{ dataset = "d", model = "m", optimizer = "{{optimizer}}", batch_size = "{{batch_size}}" }}
path.patterns = ["{{optimizer}}/{{batch_size}}.csv"]
[metrics]
value = {{ metric = "{metric}", direction = "maximize" }}
[[goal]]
metric = "{metric}"
target = 0.9
source = "a rule"
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("references")
    lake = Lake.create(folder / "lake")
    for collection, metric, step in (("own", "val/hits", 5), ("reference", "val/converged", 6)):
        mapping = MAPPING.format(collection=collection, metric=metric).encode()
        logs = {f"sgd/{size}.csv": f"step,value\n{step},1\n".encode() for size in (8, 16, 32)}
        logs["losslake.toml"] = mapping
        assert not ingest(lake, [unpacked(folder / collection, logs)]).quarantined
    with TestClient(without_sql(lake)) as client:
        yield client


def test_reference_runs_stand_beside_the_known_goal_only(client: TestClient) -> None:
    goal, other, reference = (
        client.get(f"/workloads/{path}").text for path in ("own/d/m/sgd", "own/d/m/sgd?target=0.5", "reference/d/m/sgd")
    )
    assert "reference=reference/d/m/%2A" in goal
    assert "reference=" not in other
    assert "reference=" not in reference
    drawn = client.get(
        "/v1/figures/scaling.svg?workload=own/d/m/sgd&metric=val/hits&target=0.9&reference=reference/d/m/*"
    )
    assert "Grey squares: median steps of reference runs" in " ".join(drawn.text.split())


@pytest.mark.parametrize(
    "path", ["/", "/workloads", "/workloads?q=sgd", "/compare", "/compare?dataset=*", "/sitemap.xml"]
)
def test_pages_do_not_list_references(client: TestClient, path: str) -> None:
    page = client.get(path).text
    assert "own" in page
    assert "reference/d/m/sgd" not in page


def test_references_have_a_page_and_stay_in_rest(client: TestClient) -> None:
    assert client.get("/workloads/reference/d/m/sgd").status_code == 200
    names = {row["workload"] for row in client.get("/v1/workloads").json()["rows"]}
    assert names == {"own/d/m/sgd", "reference/d/m/sgd"}

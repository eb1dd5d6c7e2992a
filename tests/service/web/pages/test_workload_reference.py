"""The chart of a workload shows reference runs beside the known goal, and beside no other target."""

from __future__ import annotations

from pathlib import Path

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


def test_reference_runs_stand_beside_the_known_goal_only(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    for collection, metric, step in (("own", "val/hits", 5), ("reference", "val/converged", 6)):
        mapping = MAPPING.format(collection=collection, metric=metric).encode()
        logs = {f"sgd/{size}.csv": f"step,value\n{step},1\n".encode() for size in (8, 16, 32)}
        logs["losslake.toml"] = mapping
        assert not ingest(lake, [unpacked(tmp_path / collection, logs)]).quarantined
    with TestClient(without_sql(lake)) as client:
        goal, other, reference = (
            client.get(f"/workloads/{path}").text
            for path in ("own/d/m/sgd", "own/d/m/sgd?target=0.5", "reference/d/m/sgd")
        )
        assert "reference=reference/d/m/%2A" in goal
        assert "reference=" not in other
        assert "reference=" not in reference
        drawn = client.get(
            "/v1/figures/scaling.svg?workload=own/d/m/sgd&metric=val/hits&target=0.9&reference=reference/d/m/*"
        )
        assert "Grey squares: median steps of reference runs" in " ".join(drawn.text.split())

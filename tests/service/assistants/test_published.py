"""An assistant asks the published runs of MLPerf for ResNet-50's steps and seconds to 75.9%, over all its workloads."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.repository.checkout import ROOT
from tests.service.assistants.conftest import call
from tests.service.running import served

pytestmark = pytest.mark.slow

BUNDLE = ROOT / "published" / "mlperf-training" / "mlperf-training.tar"
PATTERN = "mlperf-training/imagenet/resnet/*"


def test_resnet50_of_mlperf_takes_the_steps_and_seconds_that_rest_says(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [BUNDLE])
    with (
        served(tmp_path, lake=str(lake.folder), sql_enabled=False) as running,
        httpx.Client(base_url=running.url, timeout=60) as rest,
    ):
        mcp = f"{running.url}/mcp"
        found = [row["workload"] for row in call(mcp, "search_workloads", q="resnet50")["rows"]]
        assert [workload for workload in found if workload.startswith(PATTERN.rstrip("*"))]
        for measure in ("steps", "seconds"):
            query: dict[str, str | float] = {"workload": PATTERN, "target": 0.759, "measure": measure}
            answer, whole = call(mcp, "scaling", **query), rest.get("/v1/scaling", params=query).json()
            told = [{**answer["in_each_row_shown"], **row} for row in answer["rows"]]
            assert told == [{name: row[name] for name in told[0]} for row in whole["rows"]]
            assert not [text for text in answer["not_shown"] if "rows" in text]
            assert (answer["warnings"], answer["left_out"]) == (whole["warnings"], whole["left_out"])
            known = [row["amount" if measure == "seconds" else "steps"] for row in answer["rows"]]
            assert [amount for amount in known if amount is not None]
            print(f"{len(found)} workloads, {len(known)} batch sizes, least {measure}: {min(filter(None, known)):g}")

"""Runs of one recipe of modded-nanogpt are one setting, and the SQL in docs/analysis.md asks for their mean curves."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import losslake
from losslake.lake.lake import Lake
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.conformance.corpora import ROOT, sample

TRACK_3 = "modded-nanogpt/fineweb_10b/gpt2_track_3_optimization/results"


def test_sql_of_the_documentation_gives_the_mean_crossings_of_the_library(tmp_path: Path) -> None:
    ingest(
        Lake.create(tmp_path / "lake"),
        [sample("modded_nanogpt") / "modded_steps"],
        Request(mapping=Path("modded_nanogpt_records")),
    )
    (statement,) = re.findall(r"```sql\n(WITH seeds.*?)```", (ROOT / "docs" / "analysis.md").read_text(), re.DOTALL)
    lake = losslake.open(str(tmp_path / "lake"))
    settings = pa.table(lake.sql(statement)).to_pylist()
    answer = lake.steps_to_target(
        workload=TRACK_3, metric="val/cross_entropy_error", target=3.28, crossing="mean", margin=0.004
    )
    rows = [row for row in pa.table(answer).to_pylist() if row["confirmed_steps"] is not None]
    counted = Counter((row["confirmed_n_seeds"], row["confirmed_steps"], row["confirmed_mean"]) for row in rows)
    assert len(settings) > 1
    assert max(each["n"] for each in settings) > 2
    for (n, step, mean), n_trials in counted.items():
        assert (n, step, pytest.approx(mean)) in [
            (each["n"], each["confirmed_steps"], each["confirmed_mean"]) for each in settings
        ]
        assert n_trials % n == 0
    assert len(rows) == sum(each["n"] for each in settings)

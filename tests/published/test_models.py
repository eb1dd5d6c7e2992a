"""Sizes of MLPerf's models and tokens of their sequences agree between collections, and with logs that state them."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.published.test_names import PUBLISHED, table, trained

FACTS = ("n_parameters", "n_active_parameters", "tokens_per_example")
COLLECTIONS = ("mlperf-training", "mlperf-rcp", "mlperf-reference")


def test_tables_of_the_collections_agree_and_name_their_sources() -> None:
    seen: dict[str, dict[str, str]] = {}
    for collection in COLLECTIONS:
        for row in table(PUBLISHED / collection / "models.csv"):
            facts = {name: value for name, value in row.items() if name not in ("submission_division", "benchmark")}
            name = facts.pop("submission_benchmark", row.get("benchmark", "")).replace("-", "_")
            assert seen.setdefault(name, facts) == facts
            assert bool(row["n_parameters"]) == bool(row["size_stated_in"])
            assert bool(row["tokens_per_example"]) == bool(row["length_stated_in"])
            for source in filter(None, (row["size_stated_in"], row["length_stated_in"])):
                assert re.match(r"[\w-]+/[\w-]+ at [0-9a-f]{7}, ", source), source
            if row["n_active_parameters"]:
                assert float(row["n_active_parameters"]) < float(row["n_parameters"])
    assert len(seen) == 7


@pytest.mark.parametrize(
    ("benchmark", "division", "facts"),
    [
        ("gpt3", "closed", {"n_parameters": 175e9, "tokens_per_example": 2048.0}),
        ("llama31_8b", "closed", {"n_parameters": 8e9, "tokens_per_example": 8192.0}),
        ("llama2_70b_lora", "closed", {"tokens_per_example": 8192.0}),
        ("bert", "closed", {"n_parameters": 340e6}),
        ("bert", "open", {}),
        ("resnet", "closed", {}),
    ],
)
def test_logs_of_the_closed_division_have_the_size_of_the_benchmark(
    tmp_path: Path, benchmark: str, division: str, facts: dict[str, float]
) -> None:
    run = trained(tmp_path, "4.0", benchmark=benchmark, submission_division=division, opt_name="adamw")
    assert {name: run.parameters[name] for name in FACTS if name in run.parameters} == facts


@pytest.mark.parametrize("collection", ["mlperf-training", "mlperf-reference"])
def test_logs_that_state_the_length_of_sequences_agree_with_the_table(tmp_path: Path, collection: str) -> None:
    with tarfile.open(PUBLISHED / collection / f"{collection}.tar") as bundle:
        bundle.extract("trials.parquet", tmp_path, filter="data")
    trials = pq.read_table(tmp_path / "trials.parquet", columns=["parameters"])["parameters"].to_pylist()
    stated = [dict(each) for each in trials if each]
    both = [each for each in stated if {"max_sequence_length", "tokens_per_example"} <= each.keys()]
    assert len(both) > 50
    assert [each for each in both if each["max_sequence_length"] != each["tokens_per_example"]] == []

"""Runs of MLPerf's reference convergence points: each once, at its position, with its hyperparameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.lake.lake import Lake
from losslake.questions import rcp
from losslake.questions.release.view import ReleaseView
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import GLIMPSE, Glimpse, formats
from losslake_ingest.formats.rcps import FORMAT
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.run import ingest
from losslake_ingest.sources.open import open_source
from tests.conformance.corpora import sample
from tests.ingest.offers import unpacked
from tests.repository.checkout import ROOT

MAPPING, MODELS = ((ROOT / "published/mlperf-rcp" / name).read_bytes() for name in ("losslake.toml", "models.csv"))


def record(size: int, runs: list[float], **more: Any) -> dict[str, Any]:
    return {"Benchmark": "resnet", "BS": size, "Hyperparams": {"optimizer": "lars"}, "Epochs to converge": runs} | more


def read(folder: Path, files: dict[str, object]) -> list[RunLog | Quarantined]:
    texts = {path: json.dumps(document).encode() for path, document in files.items()}
    return list(FORMAT.read(open_source(unpacked(folder, texts)), LogMapping()))


@given(st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=5))
def test_each_number_is_a_run_that_converged_there(tmp_path_factory: pytest.TempPathFactory, runs: list[float]) -> None:
    found = read(tmp_path_factory.mktemp("rcps"), {"rcps_resnet.json": {"resnet_ref_64": record(64, runs)}})
    logs = [item for item in found if isinstance(item, RunLog)]
    assert len(logs) == len(found) == len(runs)
    for number, (log, position) in enumerate(zip(logs, runs, strict=True), start=1):
        (rows,) = log.rows
        assert {name: column.tolist() for name, column in rows.columns.items()} == {
            "epochs": [position],
            "converged": [1.0],
        }
        assert log.run == f"rcps_resnet.json#resnet_ref_64/{number}"
        assert (log.fields["global_batch_size"], log.fields["optimizer"], log.status) == (64, "lars", "COMPLETE")
        assert log.parameters["record"] == "resnet_ref_64"


def test_a_record_of_a_later_round_counts_once(tmp_path: Path) -> None:
    first, later = record(64, [3, 4], When="1.0"), record(64, [3, 4], When="2.0", Precision="fp32")
    files: dict[str, object] = {
        "1/rcps_resnet.json": {"a": first},
        "2/rcps_resnet.json": {"a": later, "b": record(8, [5])},
    }
    found = read(tmp_path, files)
    assert [item.run for item in found if isinstance(item, RunLog)] == [
        "1/rcps_resnet.json#a/1", "1/rcps_resnet.json#a/2", "2/rcps_resnet.json#b/1",
    ]  # fmt: skip
    (repeated,) = (item for item in found if isinstance(item, Quarantined))
    assert repeated.rule == "duplicate_source"
    assert repeated.message == "'a' is also in 1/rcps_resnet.json, which is used"


@pytest.mark.parametrize(
    "document", [[], {"a": {"BS": 8}}, {"a": record(8, [0])}, {"a": record(8, [1]), "b": record(8, [2])}]
)
def test_a_file_with_any_fault_is_one_line(tmp_path: Path, document: object) -> None:
    (refused,) = read(tmp_path, {"rcps_resnet.json": document})
    assert isinstance(refused, Quarantined)
    assert (refused.rule, refused.path) == ("unreadable_log", "rcps_resnet.json")
    assert "\n" not in refused.message


def test_other_files_are_not_read(tmp_path: Path) -> None:
    assert read(tmp_path, {"other.json": {"a": record(8, [1])}}) == []


def test_files_are_recognized() -> None:
    path = min(sample("mlperf_rcp").rglob("rcps_*.json"))
    glimpse = Glimpse(str(path), path.read_bytes()[:GLIMPSE])
    assert max(formats(), key=lambda name: formats()[name].detect(glimpse)) == "rcps"


def test_reference_points_of_resnet_are_those_of_the_published_checker(tmp_path: Path) -> None:
    """The means of tests/conformance/test_mlperf_rcp.py, of trials in a lake."""
    path = "training_1.0.0/rcps_resnet.json"
    text = (sample("mlperf_rcp") / "mlperf_logging/rcp_checker" / path).read_bytes()
    lake = Lake.create(tmp_path / "lake")
    assert not ingest(
        lake, [unpacked(tmp_path / "logs", {path: text, "losslake.toml": MAPPING, "models.csv": MODELS})]
    ).quarantined
    asked = {
        "workload": ["mlperf-rcp/imagenet/resnet/lars"],
        "metric": "val/converged",
        "target": 1,
        "submission_runs": 5,
    }
    answer = rcp.QUESTION.answer(ReleaseView.open(lake, lake.release()), rcp.RcpParameters.model_validate(asked))
    points = {row["batch_size"]: row for row in answer.table().to_pylist()}
    assert points[4096]["mean"] / 1_281_167 == pytest.approx(39.875, rel=1e-3)
    assert points[4096]["max_speedup"] == pytest.approx(1.03212, rel=1e-3)

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.sacred import FORMAT
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from tests.ingest.formats.reading import cells, read, runs
from tests.ingest.offers import Files, unpacked

NUMPY = {"dtype": "float64", "py/object": "numpy.float64", "value": 0.5}
METRICS: dict[str, Any] = {
    "loss": {
        "steps": [0, 10],
        "timestamps": ["2026-11-23T03:28:00.999425", "2026-11-23T03:28:02"],
        "values": [1.5, math.nan],
    },
    "acc": {"steps": [10], "timestamps": ["2026-11-23T03:28:01"], "values": [NUMPY]},
}
STATE = {"experiment": {"name": "mnist"}, "start_time": "2026-11-23T03:27:59", "status": "FAILED", "heartbeat": None}


def files(**documents: Any) -> Files:
    given = {
        "metrics": METRICS,
        "run": STATE,
        "config": {"lr": 0.5, "opt": {"name": "adam"}, "betas": [0.9]},
        **documents,
    }
    return {f"runs/1/{name}.json": json.dumps(document, indent=2).encode() for name, document in given.items()}


def test_each_metric_has_its_own_steps_and_times(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, files())
    loss, acc = run.rows
    assert (cells(loss, "step"), cells(loss, "loss")[0], cells(acc, "acc")) == ([0, 10], 1.5, [0.5])
    assert math.isnan(cells(loss, "loss")[1] or 0)
    assert [time - (run.started_at or 0) for time in loss.columns["timestamp"]] == pytest.approx([1.999425, 3])


def test_the_configuration_is_parameters_and_fields_and_the_state_says_how_the_run_ended(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, files())
    assert run.parameters == {"lr": 0.5, "opt.name": "adam"}
    assert run.fields == {"experiment": "mnist", "lr": 0.5, "opt.name": "adam"}
    assert (run.status, sorted(run.files)) == ("FAILED", sorted(files()))


def test_a_run_without_a_readable_state_is_incomplete_and_the_file_is_named(tmp_path: Path) -> None:
    mapping = 'collection.name = "c"\nrun = { dataset = "d", model = "m", optimizer = "o", batch_size = 8 }\n'
    (tmp_path / "losslake.toml").write_text(mapping + 'metrics.loss = "train/loss"')
    unpacked(tmp_path, files() | {"runs/1/run.json": b'{"status": "COMPLETED'})
    plan = plan_ingest(None, [tmp_path], Request())
    assert [(item.rule, item.path) for item in plan.quarantined] == [("unreadable_side_file", "runs/1/run.json")]
    assert [dict(study.statuses) for study in plan.studies.values()] == [{"INCOMPLETE": 1}]


@pytest.mark.parametrize(
    "series",
    [5, [1], {}, {"steps": [1], "values": [1]}, {"steps": [1], "values": [1, 2], "timestamps": ["", ""]}],
)
def test_a_metric_without_lists_of_one_length_is_refused(tmp_path: Path, series: Any) -> None:
    (item,) = read(FORMAT, tmp_path, files(metrics=METRICS | {"bad": series}))
    assert isinstance(item, Quarantined)
    assert (item.rule, item.message[:29]) == ("unreadable_log", "'bad' doesn't have lists of s")


def test_detection_goes_by_the_first_metric() -> None:
    start = files()["runs/1/metrics.json"]
    assert FORMAT.detect(Glimpse("runs/1/metrics.json", start)) >= 0.85
    assert FORMAT.detect(Glimpse("runs/1/metrics.json", b'{"loss": [1, 2]}')) == 0
    assert FORMAT.detect(Glimpse("runs/1/info.json", start)) == 0


series = st.dictionaries(
    st.sampled_from(["steps", "values", "timestamps", "name"]),
    st.lists(st.floats() | st.integers() | st.text(max_size=3) | st.none() | st.just(NUMPY), max_size=3) | st.text(),
)
documents = st.dictionaries(st.text(max_size=3), series | st.integers()).map(json.dumps).map(str.encode)
QUICK = settings(suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=30_000)


def check(folder: Path, metrics: bytes, state: bytes) -> None:
    for item in read(FORMAT, folder / "sacred", {"1/metrics.json": metrics, "1/run.json": state}):
        assert isinstance(item, (RunLog, Quarantined))


@QUICK
@given(documents | st.binary(max_size=40), documents | st.binary(max_size=40))
def test_any_bytes_are_runs_or_quarantined(
    tmp_path_factory: pytest.TempPathFactory, metrics: bytes, state: bytes
) -> None:
    check(tmp_path_factory.getbasetemp(), metrics, state)


@pytest.mark.fuzz
@LONG
@given(documents | st.binary(max_size=40), documents | st.binary(max_size=40))
def test_many_bytes_are_runs_or_quarantined(
    tmp_path_factory: pytest.TempPathFactory, metrics: bytes, state: bytes
) -> None:
    check(tmp_path_factory.getbasetemp(), metrics, state)

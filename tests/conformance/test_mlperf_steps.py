"""Steps to the quality target over all submitters of a round, against logs that were read by eye."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from losslake.lake.lake import Lake
from losslake.questions import scaling
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.conformance.corpora import sample
from tests.ingest.stored_rows import stored_rows
from tests.losslake.questions.views import answer_to


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = Lake.create(tmp_path_factory.mktemp("mlperf") / "lake")
    ingest(made, [sample("mlperf") / "training_results_v0.7"], Request(mapping=Path("mlperf")))
    return made


@pytest.fixture(scope="module")
def view(lake: Lake) -> ReleaseView:
    return ReleaseView.open(lake, lake.release())


def answer(view: ReleaseView, workload: str, metric: str, target: float, **others: str) -> list[dict[str, Any]]:
    found = answer_to(scaling.QUESTION, view, Selection((parse_workload(workload),), metric), Goal(target), **others)
    rows: list[dict[str, Any]] = found.table().to_pylist()
    return rows


def source_of(lake: Lake, dataset: str, batch_size: int, trial_id: int) -> str:
    wanted = ("mlperf-v0.7", dataset, batch_size, trial_id)
    rows = stored_rows(lake, "trials")
    keys = ("collection", "dataset", "batch_size", "trial_id")
    (source,) = (row["source"] for row in rows if tuple(row[key] for key in keys) == wanted)
    return str(source)


# Read by eye in the logs: the first evaluation above the target of any submitter at that batch size.
#   resnet, 65,536: Google/tpu-v3-8192-TF/result_2: epoch 84: 0.7601, epoch 80: 0.75246; every other log needs 88 or 92.
#   resnet, 2,048: Google/tpu-v4-16-TF/result_0: epoch 38: 0.76048; the Intel logs of that size need 39.
#   ssd, 896: all ten logs of DellEMC/4xC4140 and NVIDIA/dgx2h evaluate at 40 and 50 and reach 0.23 at epoch 50.
BY_EYE = [
    (
        "imagenet/resnet",
        "val/accuracy",
        0.759,
        65_536,
        84 * 1_281_167 / 65_536,
        0.7601,
        "Google/results/tpu-v3-8192-TF/resnet/result_2.txt",
        10,
    ),
    (
        "imagenet/resnet",
        "val/accuracy",
        0.759,
        2_048,
        38 * 1_281_167 / 2_048,
        0.76048,
        "Google/results/tpu-v4-16-TF/resnet/result_0.txt",
        10,
    ),
    (
        "coco2017/ssd",
        "val/mean_average_precision",
        0.23,
        896,
        50 * 117_266 / 896,
        0.23354042692023746,
        "DellEMC/results/4xC4140/ssd/result_0.txt",
        10,
    ),
]


@pytest.mark.parametrize(("workload", "metric", "target", "batch_size", "steps", "value", "source", "reached"), BY_EYE)
def test_steps_to_the_quality_target_are_those_of_the_logs(
    lake: Lake,
    view: ReleaseView,
    workload: str,
    metric: str,
    target: float,
    batch_size: int,
    steps: float,
    value: float,
    source: str,
    reached: int,
) -> None:
    named = f"mlperf-v0.7/{workload}/as_submitted"
    (row,) = [
        row for row in answer(view, named, metric, target, result="best_trial") if row["batch_size"] == batch_size
    ]
    assert (row["steps"], row["value"], row["n_reached"]) == (round(steps), value, reached)
    assert row["trial_id"] is not None
    assert source_of(lake, workload.split("/")[0], batch_size, row["trial_id"]) == source


# The same logs by eye: the third of five seeds in order of steps, then of names.
#   65,536: epoch 84 (result_2), then 88 (result_0, result_1, …); 2,048: all at epoch 38; 896: all at epoch 50.
MEDIANS = [
    (
        "imagenet/resnet",
        "val/accuracy",
        0.759,
        65_536,
        88 * 1_281_167 / 65_536,
        0.75938,
        "tpu-v3-8192-TF/resnet/result_1",
    ),
    ("imagenet/resnet", "val/accuracy", 0.759, 2_048, 38 * 1_281_167 / 2_048, 0.7609, "tpu-v4-16-TF/resnet/result_2"),
    (
        "coco2017/ssd",
        "val/mean_average_precision",
        0.23,
        896,
        50 * 117_266 / 896,
        0.23325504494425367,
        "4xC4140/ssd/result_2",
    ),
]


@pytest.mark.parametrize(("workload", "metric", "target", "batch_size", "steps", "value", "source"), MEDIANS)
def test_the_best_setting_takes_the_median_of_its_logs(
    lake: Lake,
    view: ReleaseView,
    workload: str,
    metric: str,
    target: float,
    batch_size: int,
    steps: float,
    value: float,
    source: str,
) -> None:
    rows = answer(view, f"mlperf-v0.7/{workload}/as_submitted", metric, target)
    (row,) = [row for row in rows if row["batch_size"] == batch_size]
    assert (row["steps"], row["value"], row["n_seeds"]) == (round(steps), value, 5)
    assert f"/{source}.txt" in source_of(lake, workload.split("/")[0], batch_size, row["trial_id"])


def test_every_batch_size_of_both_benchmarks_reaches_its_target(view: ReleaseView) -> None:
    for workload, metric, target, sizes in (
        ("imagenet/resnet", "val/accuracy", 0.759, 10),
        ("coco2017/ssd", "val/mean_average_precision", 0.23, 8),
    ):
        rows = answer(view, f"mlperf-v0.7/{workload}/as_submitted", metric, target)
        assert len(rows) == sizes
        assert all(row["steps"] is not None for row in rows)


def test_the_open_division_is_a_collection_of_its_own(view: ReleaseView) -> None:
    rows = answer(view, "mlperf-v0.7-open/imagenet/resnet/as_submitted", "val/accuracy", 0.759)
    assert [row["batch_size"] for row in rows] == [4_096, 8_192, 16_384, 32_768]

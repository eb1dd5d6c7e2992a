"""The noise scales that trials logged on their way to a target stand beside the critical batch size."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from losslake.lake.lake import Lake
from losslake.questions import critical_batch_size
from losslake.questions.critical_batch_size import CriticalBatchSizeParameters
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest

TARGET = 0.5
MAPPING = """
[collection]
name = "mine"

[path]
patterns = ["{optimizer}/b{batch_size:int}/seed{seed:int}.csv"]

[run]
dataset = "c4"
model = "gpt2"

[metrics]
loss = "val/loss"
gns = "train/noise_scale"
"""
Run = list[tuple[int, float, float | str]]


def runs() -> dict[str, Run]:
    """Runs by path: step, loss and noise scale; those of adam measure none."""
    made: dict[str, Run] = {}
    for size in (8, 16, 32, 64, 128):
        needed = 100 * (1 + 40 // size)
        for seed in (1, 2):
            steps = range(10, needed + 60, 10)
            rows: Run = [(step, 0.4 if step >= needed else 0.9, 100.0 * seed + step) for step in steps]
            # An estimate of either sign, and none at all.
            rows[1] = (rows[1][0], rows[1][1], -5.0)
            rows[2] = (rows[2][0], rows[2][1], "nan")
            made[f"sgd/b{size}/seed{seed}.csv"] = rows
            made[f"adam/b{size}/seed{seed}.csv"] = [(step, loss, "") for step, loss, _ in rows]
    # This one never reaches the target.
    made["sgd/b8/seed3.csv"] = [(step, 0.9, 7.0) for step in range(10, 400, 10)]
    return made


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    folder = tmp_path_factory.mktemp("noise_scales")
    logs = folder / "logs"
    for path, rows in runs().items():
        place = logs / Path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("w", newline="") as file:
            has_scale = path.startswith("sgd")
            writer = csv.writer(file)
            writer.writerow(["step", "loss", *(["gns"] if has_scale else [])])
            writer.writerows(row if has_scale else row[:2] for row in rows)
    (logs / "losslake.toml").write_text(MAPPING)
    lake = Lake.create(folder / "lake")
    ingest(lake, [logs])
    return ReleaseView.open(lake, lake.release(None))


def answer(view: ReleaseView, *optimizers: str) -> list[dict[str, Any]]:
    workloads = [f"mine/c4/gpt2/{optimizer}" for optimizer in optimizers]
    parameters = CriticalBatchSizeParameters(workload=workloads, metric="val/loss", target=TARGET)
    scales: list[dict[str, Any]] = critical_batch_size.QUESTION.answer(view, parameters).facts["noise_scales"]
    return scales


def test_noise_scale_is_the_median_of_what_trials_logged_before_the_target(view: ReleaseView) -> None:
    expected = []
    for path, rows in runs().items():
        hits = [step for step, loss, _ in rows if loss < TARGET]
        if path.startswith("sgd") and hits:
            before = [scale for step, _, scale in rows if step <= hits[0] and isinstance(scale, float) and scale > 0]
            expected.append(median(before))
    (scale,) = answer(view, "sgd")
    assert scale["n_trials"] == len(expected) == 10
    assert scale["simple_noise_scale"] == pytest.approx(median(expected))
    assert (scale["lowest"], scale["highest"]) == (min(expected), max(expected))


def test_workload_that_measures_none_has_none(view: ReleaseView) -> None:
    first, second = answer(view, "adam", "sgd")
    assert first == {
        "workload": "mine/c4/gpt2/adam",
        "simple_noise_scale": None,
        "lowest": None,
        "highest": None,
        "n_trials": 0,
    }
    assert second["n_trials"] == 10


def test_pool_has_the_trials_of_the_workload_that_measures_them(view: ReleaseView) -> None:
    (pooled,) = answer(view, "*")
    assert pooled == answer(view, "sgd")[0] | {"workload": "mine/c4/gpt2/*"}

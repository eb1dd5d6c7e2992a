"""Real offline runs of W&B, recorded behind it: every value is that of the `.wandb` file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import losslake.record
from losslake.record.behind import Rows
from losslake_ingest.readers.wandb_files.offline import OfflineRun
from tests.losslake.record.runs import FACTS, curve, end, lines, place

PROGRAM = """
import sys, wandb, losslake.record
run = wandb.init(project="p", config={"lr": 0.1, "net": {"width": 8}, "layers": [1]}, name="first", group="g",
                 settings=wandb.Settings(x_disable_stats=True))
losslake.record.behind(run, workload="mine/mnist/cnn/sgd", batch_size=64, folder="runs")
"""
ROWS = """
import random, numpy as np
random.seed(7)
for at in range(300):
    values = [1.5, 3, np.float32(0.1), float("nan"), float("inf"), 1e300, {"in": at / 7}, {"in": 1, "of": {"x": at}}]
    row = {name: random.choice(values) for name in random.sample(["a", "b", "c/d", "e.f"], random.randrange(4))}
    kind = random.randrange(8)
    if kind == 0:
        wandb.log(row, commit=False)
    elif kind == 1:
        run.log(row, step=run.step + random.randrange(-2, 4))
    elif kind == 2:
        wandb.log(row, step=run.step + 1, commit=True)
    elif kind == 3:
        run.log(row | {"text": "x", "true": True, "media": wandb.Histogram([1.0, 2.0])})
    else:
        wandb.log(row)
"""


def trained(folder: Path, code: str) -> tuple[Path, OfflineRun, int, str]:
    """Run a training; return its recorded run, its `.wandb` file, its exit code and what it printed."""
    quiet = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_DIR": str(folder), "HOME": str(folder)}
    # A test before this one may have left the address of a process of W&B's, which would write on until that one's end.
    own = {name: value for name, value in os.environ.items() if "WANDB" not in name}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + code], env=own | quiet, cwd=folder, text=True, capture_output=True,
        timeout=120, check=False,
    )  # fmt: skip
    (recorded,) = (path.parent for path in folder.glob("runs/*/run.json"))
    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    return recorded, OfflineRun(file.read_bytes()), done.returncode, done.stderr


def status_of(run: OfflineRun) -> str | None:
    return run.run_log("run", "").status


def logged(run: OfflineRun, axis: str = "_step") -> dict[str, dict[int, float]]:
    """The numbers of a `.wandb` file by metric and step, as LossLake reads them."""
    values: dict[str, dict[int, float]] = {}
    for rows in run.run_log("run", "").rows:
        for name in rows.columns:
            if name.startswith("_") or name == axis:
                continue
            for at in np.flatnonzero(rows.known(name) & rows.known(axis)):
                values.setdefault(name, {})[int(rows.columns[axis][at])] = float(rows.columns[name][at])
    return values


def same(one: dict[str, dict[int, float]], other: dict[str, dict[int, float]]) -> bool:
    return repr({name: sorted(values.items()) for name, values in sorted(one.items())}) == repr(
        {name: sorted(values.items()) for name, values in sorted(other.items())}
    )


def test_every_value_and_step_is_that_of_the_wandb_file(tmp_path: Path) -> None:
    recorded, wandb, code, errors = trained(tmp_path, ROWS + "wandb.finish()")
    assert code == 0, errors
    stored = logged(wandb)
    assert sum(map(len, stored.values())) > 200
    assert same(curve(recorded), stored)
    assert "the recorded steps count its calls" in errors


def test_step_metrics_of_define_metric_are_the_steps_and_a_script_that_ends_is_complete(tmp_path: Path) -> None:
    code = """
wandb.define_metric("val/*", step_metric="update")
for at in range(5):
    run.log({"update": 10 * at})
    wandb.log({"val/loss": 1 / (at + 1)})
"""
    recorded, wandb, code_, errors = trained(tmp_path, code)
    assert code_ == 0, errors
    assert same(curve(recorded), {"val/loss": logged(wandb, "update")["val/loss"]})
    assert end(recorded)["status"] == "COMPLETE"


@pytest.mark.parametrize(
    "code",
    [
        "sys.exit(3)",
        pytest.param("raise RuntimeError", marks=pytest.mark.slow),
        pytest.param("with run: raise RuntimeError", marks=pytest.mark.slow),
    ],
)
def test_a_training_that_fails_is_incomplete_as_in_wandb(tmp_path: Path, code: str) -> None:
    recorded, wandb, _, errors = trained(tmp_path, f"run.log({{'val/loss': 1.0}}, step=4)\n{code}")
    assert curve(recorded) == {"val/loss": {4: 1.0}}, errors
    assert end(recorded)["status"] == "INCOMPLETE"
    assert status_of(wandb) == "failed"


def test_a_module_is_refused_with_what_to_give() -> None:
    with pytest.raises(ValueError, match=r"give what wandb\.init\(\) or trackio\.init\(\) returned"):
        losslake.record.behind(losslake, **FACTS)


@pytest.mark.parametrize(
    ("per_call", "steps", "counted"),
    [(None, [0, 1, 7, 8, 9], [True, True, False, True, False]), (5, [5, 10, 7, 45, 9], [False] * 5)],
)
def test_steps_that_the_tool_counted_are_counts_of_calls_unless_their_updates_are_known(
    tmp_path: Path, per_call: int | None, steps: list[int], counted: list[bool]
) -> None:
    with losslake.record.start(**FACTS, folder=tmp_path, metrics={"a": "val/loss"}) as run:
        rows = Rows(run, "wandb", None, per_call=per_call)
        for at, given in enumerate((None, None, 7, None, 9)):
            rows.add({"a": at}, step=given, commit=True)
    written = [line for _, _, line in lines(place(run))]
    assert [line["step"] for line in written] == steps
    assert ["_step" in line for line in written] == counted

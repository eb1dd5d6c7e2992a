"""A real run of Trackio, recorded behind it: every value is that of its database.

Trackio needs an earlier Pillow than the lock file has: to run these, install it in an environment of its own.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.losslake.record.runs import curve, end

pytest.importorskip("trackio")
pytestmark = pytest.mark.slow

PROGRAM = """
import random, sys, trackio, losslake.record
random.seed(3)
run = trackio.init(project="p", name="one", config={"lr": 0.1, "net": {"width": 8}, "layers": [1]}, embed=False)
losslake.record.behind(run, workload="mine/mnist/cnn/sgd", batch_size=64, folder="runs")
at = 0
for i in range(200):
    row = {name: random.choice([1.5, i / 7, 3]) for name in random.sample(["a", "b/c", "d"], random.randrange(1, 4))}
    if i % 3 == 0:
        at += random.randrange(3)
        trackio.log(row, step=at)
    else:
        run.log(row)
        at += 1
"""


def trained(folder: Path, code: str) -> Path:
    quiet = {"TRACKIO_DIR": str(folder / "trackio"), "HOME": str(folder)}
    command = [sys.executable, "-c", PROGRAM + code]
    subprocess.run(command, env=os.environ | quiet, cwd=folder, capture_output=True, timeout=120, check=False)
    (recorded,) = (path.parent for path in folder.glob("runs/*/run.json"))
    return recorded


def test_every_value_and_step_is_that_of_the_database(tmp_path: Path) -> None:
    recorded = trained(tmp_path, "trackio.finish()")
    stored: dict[str, dict[int, float]] = {}
    with sqlite3.connect(tmp_path / "trackio" / "p.db") as database:
        for step, metrics in database.execute("SELECT step, metrics FROM metrics ORDER BY id"):
            for name, value in json.loads(metrics).items():
                stored.setdefault(name, {})[step] = value
    assert sum(map(len, stored.values())) > 200
    assert curve(recorded) == stored
    assert end(recorded)["status"] == "COMPLETE"
    assert json.loads((recorded / "run.json").read_text())["parameters"] == {"lr": 0.1, "net.width": 8}


def test_a_training_that_fails_is_incomplete(tmp_path: Path) -> None:
    recorded = trained(tmp_path, "raise RuntimeError")
    assert end(recorded)["status"] == "INCOMPLETE"

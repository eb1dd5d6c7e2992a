"""A lake of one workload with four batch sizes and trials that change theirs, from made-up logs; and its oracle."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from losslake.lake.lake import Lake

METRIC, WORKLOAD = "val/cross_entropy_error", "demo/d/m/sgd"
N_STEPS, SECONDS, EPOCH = 60, 2.0, 1000
Pieces = Sequence[tuple[int, int]]
THREE, TWO = ((0, 8), (20, 16), (40, 32)), ((0, 8), (30, 64))
# By name of the run: its batch sizes by step.
SCHEDULED: dict[str, Pieces] = {"s0": THREE, "s1": THREE, "s2": THREE, "s3": TWO}
FIXED: dict[str, Pieces] = {f"b{size}_{seed}": ((0, size),) for size in (8, 16, 32, 64) for seed in range(3)}
MAPPING = f"""
collection.name = "demo"
collection.licence = "MIT"
parameters.examples_per_epoch = {EPOCH}
[fields]
dataset = "d"
model = "m"
optimizer = "sgd"
[metrics]
loss = "{METRIC}"
[[axis]]
column = "step"
counts = "updates"
[time]
elapsed_s = "elapsed"
[[goal]]
metric = "{METRIC}"
target = 1.0
source = "made up"
"""


def size_at(pieces: Pieces, step: int) -> int:
    """Return the batch size of the update that ended at a step."""
    return [size for start, size in pieces if start < step][-1]


def examples(pieces: Pieces, steps: int) -> int:
    """Return the examples of the first updates, added one by one."""
    return sum(size_at(pieces, step) for step in range(1, steps + 1))


def losses(name: str) -> list[float]:
    """Return the losses of a run after steps 1 to N_STEPS."""
    rng = random.Random(name)
    return [5 / step**0.5 + rng.random() / 10 for step in range(1, N_STEPS + 1)]


def steps_to(name: str, target: float) -> int | None:
    """Return the first step of a run with a loss below a target."""
    return next((step for step, loss in enumerate(losses(name), start=1) if loss < target), None)


def write_runs(folder: Path, runs: Mapping[str, Pieces], mapping: str = MAPPING) -> Path:
    """Write the logs of runs, with a column of batch sizes, and a mapping."""
    for name, pieces in runs.items():
        rows = [
            f"{step},{size_at(pieces, step)},{loss!r},{step * SECONDS}\n"
            for step, loss in enumerate(losses(name), start=1)
        ]
        (folder / name).mkdir(parents=True)
        (folder / name / "log.csv").write_text("step,batch_size,loss,elapsed\n" + "".join(rows), "utf-8")
    (folder / "losslake.toml").write_text(mapping, "utf-8")
    return folder


def scheduled_lake(folder: Path, runs: Mapping[str, Pieces] | None = None, mapping: str = MAPPING) -> Lake:
    """Return a lake with runs; None: SCHEDULED and FIXED."""
    from losslake.lake.lake import Lake
    from losslake_ingest.run import ingest

    lake = Lake.create(folder / "lake")
    logs = write_runs(folder / "logs", {**SCHEDULED, **FIXED} if runs is None else runs, mapping)
    summary = ingest(lake, [logs])
    assert not summary.quarantined, summary.quarantined
    return lake

"""A small archive of the paper's shape: 35 workloads, 454 studies, few trials with known curves.

The best complete trial of a study is strictly better than its workload's goal after S(B) = a (1 + b / B) steps and not
before: at that very step it equals the goal. Trials that must not count are faster.
"""

from __future__ import annotations

import io
import json
import math
import random
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from losslake_schema.registry import metric_named

ERROR, LOSS, PRECISION = "val/classification_error", "val/cross_entropy_error", "val/average_precision"
SPLIT_WORKLOAD = "imagenet/resnet_50/nesterov_momentum"
SEARCHED_WORKLOAD = "lm1b/transformer_base/nesterov_momentum"
NEVER_AT = {("imagenet/vgg_11/nesterov_momentum", 65536), ("lm1b/lstm/nesterov_momentum", 32768)}


@dataclass(frozen=True)
class Shape:
    """The behaviour of a workload: metric, goal, a and b of S(B), and exponent of the metric over steps."""

    metric: str
    goal: float
    least_steps: int
    critical: int
    exponent: float


@dataclass(frozen=True)
class Trial:
    """A trial to write. curve: steps and values of the workload's metric."""

    batch_size: int
    trial_id: int
    status: str
    parameters: dict[str, float]
    curve: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Workload:
    """A workload to write: its path in the archive, shape, train_steps of its studies, and trials."""

    path: str
    shape: Shape
    train_steps: dict[int, int]
    trials: tuple[Trial, ...]


def steps_to_goal(shape: Shape, batch_size: int) -> int:
    """Return S(B), the steps to the goal."""
    return math.ceil(shape.least_steps * (1 + shape.critical / batch_size))


@cache
def workloads() -> dict[str, Workload]:
    """Return every workload by its path; deterministic."""
    by_path = {}
    document = tomllib.loads(Path(__file__).with_name("workloads.toml").read_text("utf-8"))
    for path, facts in document.items():
        shape = Shape(**facts["shape"])
        rng = random.Random(path)
        trials = [t for size in facts["batch_sizes"] for t in _trials(rng, path, shape, size)]
        train_steps = {size: 4 * steps_to_goal(shape, size) for size in facts["batch_sizes"]}
        by_path[path] = Workload(path, shape, train_steps, tuple(trials))
    return by_path


def write(path: Path, only: frozenset[str] | None = None) -> Path:
    """Write the archive, all of it or only these workloads."""
    with tarfile.open(path, "w") as archive:
        for workload in workloads().values():
            if only is None or workload.path in only:
                for name, content in _files(workload):
                    entry = tarfile.TarInfo(f"batch_science/{workload.path}/{name}")
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
    return path


def _trials(rng: random.Random, path: str, shape: Shape, batch_size: int) -> Iterator[Trial]:
    """Yield two complete trials, or many where figures need them, and two excluded ones, mostly faster."""
    complete = 103 if path == SPLIT_WORKLOAD else 8 if path == SEARCHED_WORKLOAD else 2
    statuses = ["INFEASIBLE", "INCOMPLETE", *["COMPLETE"] * complete]
    if path == SEARCHED_WORKLOAD:
        statuses += ["INFEASIBLE"] * 4
    best = 8 + rng.randrange(complete)
    for trial_id, status in enumerate(statuses, start=6):
        is_hasty = status != "COMPLETE" and (path != SEARCHED_WORKLOAD or rng.random() < 0.1)
        slowness = 1.0 if trial_id == best else rng.uniform(0.4, 0.9) if is_hasty else rng.uniform(1.1, 9.0)
        slowness *= 1e9 if (path, batch_size) in NEVER_AT else 1.0
        curve = tuple(_curve(rng, shape, batch_size, slowness, status == "INFEASIBLE"))
        yield Trial(batch_size, trial_id, status, _parameters(rng, path), curve)


def _parameters(rng: random.Random, path: str) -> dict[str, float]:
    parameters = {"learning_rate": 10 ** rng.uniform(-4, -1), "momentum": 1 - 10 ** rng.uniform(-3.5, -0.5)}
    smoothing = rng.choice((None, 0.0, 0.01, 0.1))
    if path == SPLIT_WORKLOAD and smoothing is not None:
        parameters["label_smoothing"] = smoothing
    return parameters


def _curve(
    rng: random.Random, shape: Shape, batch_size: int, slowness: float, diverges: bool
) -> Iterator[tuple[int, float]]:
    """Yield steps and values of a power law that equals the goal at S(B) times the slowness."""
    steps = steps_to_goal(shape, batch_size)
    reached_at = max(1, round(steps * slowness))
    sign = 1 if shape.metric != PRECISION else -1
    grid = {round(steps * 2 ** (power / 1.5 + rng.random() / 4)) for power in range(-12, 6)}
    grid |= {reached_at, reached_at + 1} if reached_at < 100 * steps else set()
    yield 0, 0.9 if shape.metric == ERROR else 9.0 if shape.metric == LOSS else 0.0
    for step in sorted(grid - {0}):
        value = shape.goal * (reached_at / step) ** (sign * shape.exponent)
        yield step, float(f"{min(value, metric_named(shape.metric).largest):.9g}")
    if diverges:
        yield max(grid) + 1, math.nan


def _files(workload: Workload) -> Iterator[tuple[str, bytes]]:
    dataset, model, optimizer = workload.path.split("/")[-3:]
    for batch_size, train_steps in workload.train_steps.items():
        study = {"batch_size": batch_size, "dataset": dataset, "model": model, "optimizer": optimizer}
        study |= {"train_steps": train_steps, "early_stopping": False, "parameter_configs": {}}
        yield f"{batch_size}/study.json", json.dumps(study).encode()
        for trial in workload.trials:
            if trial.batch_size == batch_size:
                folder = f"{batch_size}/{trial.trial_id}"
                facts = {"trial_id": trial.trial_id, "status": trial.status, "steps": trial.curve[-1][0]}
                yield f"{folder}/metadata.json", json.dumps(facts | {"parameters": trial.parameters}).encode()
                lines = [f"step,{workload.shape.metric}", *(f"{step},{value!r}" for step, value in trial.curve)]
                yield f"{folder}/measurements.csv", "\n".join([*lines, ""]).encode()

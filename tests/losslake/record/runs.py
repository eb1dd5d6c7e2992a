"""Recorded runs as plain Python sees them: the slow and obvious reader that others are compared with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from losslake.record.run import Run

WORKLOAD = "mine/mnist/cnn/sgd"
FACTS: dict[str, Any] = {"workload": WORKLOAD, "batch_size": 64}


Line = tuple[int, int | None, Mapping[str, Any]]
"""An attempt, the first step that it replaces (None for the first attempt), and what it logged."""


def lines(run: Path) -> list[Line]:
    """Every whole line of a run in the order written."""
    found: list[Line] = []
    folders = [path for path in run.iterdir() if path.is_dir()]
    for folder in sorted(folders, key=lambda path: int(path.name.partition("-")[0])):
        attempt, _, step = folder.name.partition("-from-")
        for path in sorted(folder.glob("*.jsonl")):
            whole = path.read_bytes().split(b"\n")[:-1]
            found += [(int(attempt), int(step) if step else None, json.loads(line)) for line in whole]
    return found


def curve(run: Path) -> dict[str, dict[int, float]]:
    """The measurements of a run that count, by metric and step."""
    return remaining(lines(run))


def remaining(lines: Iterable[Line]) -> dict[str, dict[int, float]]:
    """Return the measurements that no later attempt replaces, by metric and step."""
    measured: dict[str, dict[int, float]] = {}
    attempts: set[int] = set()
    for attempt, from_step, line in lines:
        if attempt not in attempts and from_step is not None:
            for values in measured.values():
                for step in [step for step in values if step >= from_step]:
                    del values[step]
        attempts.add(attempt)
        for name, value in line.items():
            if name not in ("step", "elapsed_s", "_step"):
                measured.setdefault(name, {})[line["step"]] = float(value)
    return {name: values for name, values in measured.items() if values}


def end(run: Path) -> dict[str, Any]:
    """How a run ended."""
    known: dict[str, Any] = json.loads((run / "end.json").read_text())
    return known


def place(run: Run) -> Path:
    assert run.folder is not None
    return run.folder

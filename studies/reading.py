"""A reader of the archive that uses only the standard library: an independent check of its contents."""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class StoredTrial:
    """The metadata.json and measurements.csv of one trial; `rows` are the lines of the CSV, split at commas."""

    metadata: dict[str, Any]
    header: list[str]
    rows: list[list[str]]

    def curve(self, metric: str) -> Iterator[tuple[int, float]]:
        """Return (step, value) of one metric, in the order of the file."""
        column = self.header.index(metric)
        return ((int(row[0]), float(row[column])) for row in self.rows)

    def crossing(self, metric: str, target: float) -> tuple[int | None, int] | None:
        """Return the first step where `metric` is strictly below `target`, after the step before; None if never."""
        before = None
        for step, value in self.curve(metric):
            if value < target:
                return before, step
            before = step
        return None


@dataclass
class StoredStudy:
    """study.json and the trials of one directory dataset/model/optimizer/batch_size."""

    description: dict[str, Any] = field(default_factory=dict)
    trials: dict[int, StoredTrial] = field(default_factory=dict)

    def best(self, metric: str, target: float) -> tuple[StoredTrial, int | None, int] | None:
        """Trial, step before and step of the earliest crossing of the complete trials; ties to the lower trial id."""
        hits = []
        for trial_id, trial in self.trials.items():
            crossing = trial.crossing(metric, target) if trial.metadata["status"] == "COMPLETE" else None
            if crossing:
                hits.append((crossing[1], trial_id, crossing[0]))
        if not hits:
            return None
        step, trial_id, before = min(hits, key=lambda row: row[:2])
        return self.trials[trial_id], before, step


def read_archive(file: Path) -> dict[str, dict[int, StoredStudy]]:
    """Studies by workload path (dataset/model/optimizer) and batch size."""
    studies: dict[str, dict[int, StoredStudy]] = {}
    with tarfile.open(file, "r:bz2") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is None:
                continue
            _, dataset, model, optimizer, batch_size, *rest = member.name.split("/")
            workload = studies.setdefault(f"{dataset}/{model}/{optimizer}", {})
            store(workload.setdefault(int(batch_size), StoredStudy()), rest, content.read().decode())
    return studies


def store(study: StoredStudy, path: list[str], text: str) -> None:
    """Store one file of a study; `path` is relative to the study's directory."""
    if path == ["study.json"]:
        study.description = json.loads(text)
        return
    trial = study.trials.setdefault(int(path[0]), StoredTrial({}, [], []))
    if path[1] == "metadata.json":
        trial.metadata = json.loads(text)
    else:
        trial.header, *trial.rows = [line.split(",") for line in text.splitlines()]

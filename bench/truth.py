"""Truth of a synthetic archive: the best trial of each study, as lines of JSON beside the archive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from losslake_schema.names import Study, Workload


@dataclass(frozen=True)
class StudyTruth:
    """The first complete trial of a study to the goal of its workload, and what the study holds.

    steps: S(B) = least_steps * (1 + critical_batch_size / batch_size), rounded up; previous_step: of the evaluation
    before; value: of the metric at these steps, strictly better than the goal. No other complete trial is as soon.
    """

    workload: str
    batch_size: int
    metric: str
    goal: float
    steps: int
    trial_id: int
    value: float
    previous_step: int
    least_steps: int
    critical_batch_size: int
    complete: int
    incomplete: int
    infeasible: int
    evaluations: int

    @property
    def key(self) -> Workload:
        return Workload.parse(self.workload)

    @property
    def study(self) -> Study:
        return Study(self.key, self.batch_size)

    @property
    def trials(self) -> int:
        return self.complete + self.incomplete + self.infeasible


def truth_path(archive: Path) -> Path:
    """Return the path of the truth of an archive."""
    return archive.with_name(f"{archive.name.removesuffix('.tar.bz2')}.truth.jsonl")


def to_line(truth: StudyTruth) -> str:
    return json.dumps(asdict(truth)) + "\n"


def read_truth(path: Path) -> Iterator[StudyTruth]:
    """Every study of an archive, in its order."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield StudyTruth(**json.loads(line))

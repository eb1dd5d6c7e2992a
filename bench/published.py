"""The shape of the published database: its workloads, and of each study how many trials have which status."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("published.toml")
STATUSES = ("COMPLETE", "INCOMPLETE", "INFEASIBLE")
COMPLETE, INCOMPLETE, INFEASIBLE = range(3)
EARLY_STOPPING_FROM = 0.1


@dataclass(frozen=True)
class Metrics:
    """The metrics of each split; the first quantity, on the validation split, is that of the goal.

    examples: how many each split has; 0 where error rates aren't multiples of anything.
    """

    quantities: tuple[str, ...]
    splits: tuple[str, ...]
    examples: tuple[int, ...]

    @property
    def goal_metric(self) -> str:
        return f"val/{self.quantities[0]}"


@dataclass(frozen=True)
class PublishedStudy:
    """A study and its trials by status, in the order of STATUSES."""

    batch_size: int
    trials: tuple[int, int, int]


@dataclass(frozen=True)
class PublishedWorkload:
    """A workload: where it lies in the archive, how fast its best trials learn, and its studies by batch size.

    start, limit: the metric of the goal before training, and where the best trials tend to. start_loss: the
    cross-entropy before training. shared_steps: whether the trials of a study are evaluated at the same steps.
    """

    path: str
    metrics: Metrics
    goal: float
    start: float
    limit: float
    start_loss: float
    shared_steps: bool
    least_steps: int
    critical_batch_size: int
    tuned: tuple[str, ...]
    studies: tuple[PublishedStudy, ...]

    @property
    def names(self) -> tuple[str, str, str]:
        """Dataset, model and optimizer."""
        dataset, model, optimizer = self.path.split("/")[-3:]
        return dataset, model, optimizer

    @property
    def is_maximized(self) -> bool:
        return self.limit > self.start

    @property
    def has_early_stopping(self) -> bool:
        """True if bad trials were stopped early, so that many are incomplete."""
        trials = [sum(column) for column in zip(*(study.trials for study in self.studies), strict=True)]
        return bool(trials[INCOMPLETE] > EARLY_STOPPING_FROM * sum(trials))

    @property
    def has_time_budget(self) -> bool:
        """True if trials ran for a given time instead of a number of steps, so that none is incomplete."""
        return not any(study.trials[INCOMPLETE] for study in self.studies)

    def steps_to_goal(self, batch_size: int) -> int:
        """S(B) = S_min (1 + B_c / B), rounded up: the steps of the best trial of a study."""
        return self.least_steps + -(-self.least_steps * self.critical_batch_size // batch_size)


@cache
def published() -> tuple[PublishedWorkload, ...]:
    """Return every workload by path."""
    document = tomllib.loads(FILE.read_text("utf-8"))
    return tuple(_workloads(document))


@cache
def published_evaluations() -> int:
    """Return the number of evaluations of all trials."""
    return int(tomllib.loads(FILE.read_text("utf-8"))["evaluations"])


def _workloads(document: dict[str, Any]) -> Iterator[PublishedWorkload]:
    for path, facts in document["workload"].items():
        kind = document["metrics"][facts.pop("metrics")]
        examples = document["examples"].get(path.split("/")[-3], {})
        splits = tuple(kind["splits"])
        metrics = Metrics(tuple(kind["quantities"]), splits, tuple(examples.get(split, 0) for split in splits))
        sizes = facts.pop("batch_size")
        counts = zip(*(facts.pop(status.lower()) for status in STATUSES), strict=True)
        studies = tuple(PublishedStudy(size, trials) for size, trials in zip(sizes, counts, strict=True))
        yield PublishedWorkload(path, metrics, tuned=tuple(facts.pop("tuned")), studies=studies, **facts)

"""Steps to a goal: of the reported trials, and of the stored ones at the same batch sizes.

Each number is an answer of the library, or a count, minimum or median over rows of /v1/steps-to-target.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from losslake.library.lake import Lake
from losslake.library.result import Result
from losslake.questions.release.nearness import Nearness, nearness
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload, size_name
from losslake_schema.reached import goal_text
from losslake_schema.statuses import STATUSES

MOST_STORED, MOST_GOALS = 5, 10
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Goal:
    """A goal of a workload. source: who set it."""

    metric: str
    target: float
    comparator: str
    source: str = ""

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of a question about it."""
        return {"metric": self.metric, "target": self.target, "comparator": self.comparator}


@dataclass(frozen=True)
class StoredWorkload:
    """A stored workload beside which trials are reported."""

    name: str
    nearness: Nearness
    n_trials: int
    batch_sizes: Sequence[int]
    metrics: Sequence[str]


@dataclass(frozen=True)
class StepsAt:
    """Trials of a workload at a batch size, and their steps to a goal.

    fewest: of any trial; None if none reaches it. median: None if half of them don't reach it.
    """

    batch_size: int | None
    n: int
    n_reached: int
    fewest: int | None
    median: float | None
    n_stopped_earlier: int


@dataclass(frozen=True)
class Comparison:
    """The answer of compare about the reported trials and a stored workload; None, with the reason, without one."""

    stored: str
    answer: Result | None
    reason: str = ""


@dataclass(frozen=True)
class GoalReport:
    """A workload and a goal.

    trials: rows of /v1/steps-to-target of the reported trials, of every status. counted: of those that questions count
    by default. stored: by workload, at the batch sizes of the reported trials. warnings, left_out: of these answers.
    """

    goal: Goal
    text: str
    direction: str
    trials: Sequence[Row]
    counted: Sequence[StepsAt]
    stored: Mapping[str, Sequence[StepsAt]]
    comparisons: Sequence[Comparison]
    warnings: Sequence[str]
    left_out: Sequence[str]


@dataclass(frozen=True)
class Reported:
    """The reported trials of one workload, in a lake that has the stored ones, too.

    library: answers about both. trials: their paths. goal: to report instead of those of the workload.
    """

    library: Lake
    workload: str
    trials: frozenset[str]
    goal: Goal | None = None

    @cached_property
    def rows(self) -> list[Row]:
        """The trials as /v1/trials lists them."""
        rows = self.library.trials(workload=self.workload).to_dicts()
        return [row for row in rows if row["trial"] in self.trials]

    @cached_property
    def facts(self) -> Row:
        """The workload as /v1/workloads lists it."""
        (row,) = self.library.workloads(workload=self.workload).to_dicts()
        return row

    @property
    def batch_sizes(self) -> list[int]:
        """The batch sizes of the trials, ascending."""
        return sorted({row["batch_size"] for row in self.rows if row["batch_size"] is not None})

    @property
    def is_whole(self) -> bool:
        """True if the workload has no other trials."""
        return bool(self.facts["n_trials"] == len(self.rows))

    @cached_property
    def stored(self) -> list[StoredWorkload]:
        """The stored workloads of the same data set and model, the nearest first."""
        near: list[StoredWorkload] = []
        for row in self.library.workloads(dataset=self.facts["dataset"], model=self.facts["model"]).to_dicts():
            is_own = row["workload"] == self.workload
            if (is_own and self.is_whole) or row["batch_unit"] != self.facts["batch_unit"]:
                continue
            how = nearness(Workload.parse(self.workload), Workload.parse(row["workload"]))
            assert how is not None
            n_trials = row["n_trials"] - (len(self.rows) if is_own else 0)
            near.append(StoredWorkload(row["workload"], how, n_trials, row["batch_sizes"], row["metrics"]))
        return sorted(near, key=lambda each: each.nearness.rank)

    @property
    def compared(self) -> list[StoredWorkload]:
        """The stored workloads that are compared: those of the same optimizer, else the nearest ones."""
        same = [each for each in self.stored if each.nearness is not Nearness.MODEL]
        return (same or self.stored)[:MOST_STORED]

    @cached_property
    def goals(self) -> list[Goal]:
        """The goals of the trials' workload; without any, those of the compared ones. At most MOST_GOALS."""
        if self.goal is not None:
            return [self.goal]
        for names in ([self.workload], [each.name for each in self.compared]):
            rows = self.library.goals(workload=names).to_dicts() if names else []
            goals = {
                (row["metric"], row["target"], row["comparator"]): Goal(
                    row["metric"], row["target"], row["comparator"], row["source"]
                )
                for row in rows
                if row["metric"] in self.facts["metrics"]
            }
            if goals:
                return [goals[key] for key in sorted(goals)][:MOST_GOALS]
        return []

    def report(self, goal: Goal) -> GoalReport:
        """Return what there is to say about a goal. Raises LossLakeError."""
        every = self._steps(self.workload, goal, status=list(STATUSES), flagged="include")
        counted = self._steps(self.workload, goal)
        stored: dict[str, Sequence[StepsAt]] = {}
        answers = [counted]
        comparisons = []
        for each in self.compared:
            if goal.metric not in each.metrics:
                comparisons.append(Comparison(each.name, None, f"its trials don't measure {goal.metric}"))
                continue
            answer = self._steps(each.name, goal)
            answers.append(answer)
            stored[each.name] = list(self._of_sizes(row for row in answer.to_dicts() if not self._is_reported(row)))
            comparisons.append(self._compared(each.name, goal))
        facts = every.facts
        text = goal_text(facts["metric"], facts["direction"], facts["target"], facts["comparator"])
        return GoalReport(
            goal=goal,
            text=text,
            direction=facts["direction"],
            trials=[row for row in every.to_dicts() if self._is_reported(row)],
            counted=list(self._of_sizes(row for row in counted.to_dicts() if self._is_reported(row))),
            stored=stored,
            comparisons=comparisons,
            warnings=_of_all(answers, "warnings"),
            left_out=_of_all(answers, "left_out"),
        )

    def _steps(self, workload: str, goal: Goal, **more: Any) -> Result:
        return self.library.steps_to_target(workload, **goal.parameters, **more)

    def _is_reported(self, row: Row) -> bool:
        return trial_path(row) in self.trials

    def _of_sizes(self, rows: Iterable[Row]) -> Iterator[StepsAt]:
        """Yield the steps at each batch size of the reported trials."""
        by_size: dict[int | None, list[Row]] = {}
        for row in rows:
            by_size.setdefault(row["batch_size"], []).append(row)
        for size in self.batch_sizes:
            if size in by_size:
                yield steps_at(size, by_size[size])

    def _compared(self, stored: str, goal: Goal) -> Comparison:
        if not self.is_whole:
            return Comparison(stored, None, f"{self.workload} has other trials, too, and workloads are compared whole")
        try:
            answer = self.library.compare([stored, self.workload], **goal.parameters, baseline=stored)
        except LossLakeError as error:
            return Comparison(stored, None, str(error))
        return Comparison(stored, answer)


def _of_all(answers: Iterable[Result], fact: str) -> list[str]:
    """Return the texts of a fact of answers, each once."""
    return list(dict.fromkeys(text for answer in answers for text in answer.facts[fact]))


def steps_at(batch_size: int | None, rows: Sequence[Row]) -> StepsAt:
    """Return the steps of trials at a batch size. A trial that never reaches the goal takes infinitely many."""
    reached = [row["steps"] for row in rows if row["steps"] is not None]
    median = statistics.median([*reached, *[math.inf] * (len(rows) - len(reached))])
    return StepsAt(
        batch_size=batch_size,
        n=len(rows),
        n_reached=len(reached),
        fewest=min(reached, default=None),
        median=median if math.isfinite(median) else None,
        n_stopped_earlier=sum(row["stopped_earlier"] for row in rows),
    )


def trial_path(row: Row) -> str:
    """Return the path of the trial of a row of /v1/steps-to-target."""
    return f"{row['workload']}/{size_name(row['batch_size'])}/{row['trial_id']}"

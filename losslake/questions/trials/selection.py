"""The subject of an answer: the trials and evaluations that count, the goal, and the hit of it that counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from losslake.analysis.best_setting import Seeds
from losslake.index.frontiers import COUNTED
from losslake.questions.release.errors import BadParameter
from losslake_schema.names import Workload
from losslake_schema.reached import Comparator, goal_text
from losslake_schema.statuses import STATUSES

ResultName = Literal["best_trial", "best_setting"]


@dataclass(frozen=True)
class Selection:
    """The evaluations of one metric in some workloads.

    direction: minimize or maximize; None: the metric's own.
    step_budget, example_budget: evaluations with step, or step times batch size, up to and including this count.
    trials: of each study, the first of this number by trial_id among those with an admitted status; None: all of them.
    flagged: exclude or include flagged trials. where: NAME=VALUE of metaparameters or facts of trials; of each name,
    one of its values holds. only_finished: only trials that were evaluated at the end of their schedule, or later.
    with_schedules: include trials whose batch size changes; questions about batch sizes leave them out.
    result, seeds: what the result of a study is, as ResultParameters has it; None: as its trials have it.
    """

    workloads: tuple[Workload, ...]
    metric: str
    direction: str | None = None
    step_budget: int | None = None
    example_budget: int | None = None
    trials: int | None = None
    statuses: tuple[str, ...] = COUNTED
    flagged: str = "exclude"
    where: tuple[str, ...] = ()
    only_finished: bool = False
    result: ResultName | None = None
    seeds: Seeds = "median"
    with_schedules: bool = False

    def __post_init__(self) -> None:
        if not self.statuses:
            raise BadParameter("status", f"give at least one status of {', '.join(STATUSES)}")
        for condition in self.where:
            name, sign, value = condition.partition("=")
            if not (name and sign and value):
                raise BadParameter("where", f"where={condition}: give NAME=VALUE, as in where=org=NVIDIA")

    @property
    def is_plain(self) -> bool:
        """True for what questions select unless parameters say otherwise; metric, result and seeds may be any."""
        return (
            self.statuses == COUNTED
            and self.flagged == "exclude"
            and not self.where
            and not self.only_finished
            and (self.direction, self.step_budget, self.example_budget, self.trials) == (None, None, None, None)
        )


@dataclass(frozen=True)
class Goal:
    """A target of a metric. comparator: strict for better than the target; inclusive for at least as good."""

    target: float
    comparator: Comparator = "strict"

    def in_words(self, metric: str, direction: str) -> str:
        """Return the goal as a formula: val/classification_error < 0.05."""
        return goal_text(metric, direction, self.target, self.comparator)

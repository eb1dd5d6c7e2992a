"""The cost of an answer, estimated before it is computed, and a budget that refuses a higher cost.

The cost comes from the counts of the release and the parameters. Its constants are measured: `python -m bench.costs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from losslake.questions.release.counts import Counts, together
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.parsed_names import parse_study, parse_trial, parse_workload
from losslake.questions.release.pool import is_pattern
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload

if TYPE_CHECKING:
    from losslake.questions.release.view import ReleaseView

# Comparisons of a pattern with the name of a workload, each of about 2 microseconds; more aren't made for a cost.
_MOST_MATCHED = 50_000


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of a processor that an answer takes for each thing that it is about."""

    workload: float = 300.0
    study: float = 100.0
    trial: float = 4.0
    evaluation: float = 0.0

    def seconds(self, counts: Counts) -> float:
        """Return the seconds for one workload or pool; 0 for none."""
        if not counts.workloads:
            return 0.0
        microseconds = (
            self.workload
            + self.study * counts.studies
            + self.trial * counts.trials
            + self.evaluation * counts.evaluations
        )
        return microseconds * 1e-6

    def times(self, count: float) -> Cost:
        """Return the cost of the same so many times."""
        return Cost(*(each * count for each in astuple(self)))


class Expensive(Exception):
    """An answer costs more than the budget. seconds: of a processor, about, that it takes."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the answer would take about {seconds:.1f} s")
        self.seconds = seconds


@dataclass
class Budget:
    """The seconds that answers may take together, and those of the first answer and of all so far, as estimated.

    expected_ratio: the seconds of all answers, in those of the first, as expected before they are known.
    """

    seconds: float
    expected_ratio: float
    first: float = 0.0
    spent: float = 0.0

    @property
    def ratio(self) -> float:
        """The seconds of all answers so far, in those of the first; 1 for none."""
        return self.spent / self.first if self.first else 1.0

    def spend(self, seconds: float) -> None:
        """Count an answer; raise Expensive if all of them are too much, or are expected to be."""
        self.first = self.first or seconds
        self.spent += seconds
        if max(self.spent, self.first * self.expected_ratio) > self.seconds:
            raise Expensive(self.spent)


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(seconds: float, expected_ratio: float = 1.0) -> Iterator[Budget]:
    """Have answers that together take more seconds than this refused, before they are computed, by Expensive.

    Already the first is refused if all of them are expected to take more. expected_ratio: as in Budget.
    """
    made = Budget(seconds, expected_ratio)
    token = _budget.set(made)
    try:
        yield made
    finally:
        _budget.reset(token)


def spend(view: ReleaseView, cost: Cost, parameters: Any) -> None:
    """Count an answer in the budget, if there is one; raise Expensive if it is too much."""
    current = _budget.get()
    if current is not None:
        current.spend(seconds_of(view, cost, parameters))


def seconds_of(view: ReleaseView, cost: Cost, parameters: Any) -> float:
    """Return about how many seconds an answer takes; names that don't exist cost nothing."""
    try:
        workloads = _workloads(parameters)
    except BadParameter:
        return 0.0
    patterns = [each for each in workloads if is_pattern(each)]
    # The release may have too many workloads to compare them all: then a pattern stands for as many as it may match.
    matches_any = len(patterns) * len(view.workloads) > _MOST_MATCHED
    return sum(
        cost.seconds(view.largest_counts if matches_any and is_pattern(each) else _counts(view, each))
        for each in workloads
    )


def _counts(view: ReleaseView, workload: Workload) -> Counts:
    """Return what a workload or a pattern stands for."""
    try:
        matching = view.matching(workload) if is_pattern(workload) else [view.workloads[workload]]
    except (KeyError, LossLakeError):
        return Counts()
    return together(view.counts[facts.workload] for facts in matching)


def _workloads(parameters: Any) -> list[Workload]:
    """Return the workloads that parameters name, by themselves or in studies and trials."""
    workloads = dict.fromkeys(map(parse_workload, _texts(parameters, "workload")))
    workloads |= dict.fromkeys(parse_study(text).workload for text in _texts(parameters, "study"))
    workloads |= dict.fromkeys(parse_trial(text).study.workload for text in _texts(parameters, "trial"))
    return [*workloads]


def _texts(parameters: Any, name: str) -> list[str]:
    value = getattr(parameters, name, None)
    return [value] if isinstance(value, str) else list(value or ())

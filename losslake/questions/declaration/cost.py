"""The cost of an answer, estimated before it is computed, and a budget that refuses a higher cost.

The cost comes from the counts of the release and the parameters. Its constants are measured: `python -m bench.costs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from losslake.questions.release.counts import Counts
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
    """Microseconds of a processor that an answer takes for each thing that it is about.

    trial_squared: of each workload, for each pair of its trials, of at most 4,000 of them.
    """

    workload: float = 300.0
    study: float = 100.0
    trial: float = 4.0
    evaluation: float = 0.0
    trial_squared: float = 0.0

    def seconds(self, counts: Counts) -> float:
        """Return the seconds for one workload or pool; 0 for none."""
        if not counts.workloads:
            return 0.0
        pairs = counts.trials * min(counts.trials, 4000)
        microseconds = (
            self.workload
            + self.study * counts.studies
            + self.trial * counts.trials
            + self.evaluation * counts.evaluations
            + self.trial_squared * pairs
        )
        return microseconds * 1e-6

    def times(self, count: float) -> Cost:
        """Return the cost of the same so many times."""
        return Cost(
            self.workload * count,
            self.study * count,
            self.trial * count,
            self.evaluation * count,
            self.trial_squared * count,
        )


class Expensive(Exception):
    """An answer costs more than the budget. seconds: of a processor, about, that it takes."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the answer would take about {seconds:.1f} s")
        self.seconds = seconds


@dataclass
class _Budget:
    seconds: float
    spent: float = field(default=0.0)


_budget: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(seconds: float) -> Iterator[None]:
    """Have answers that together take more seconds than this refused, before they are computed, by Expensive."""
    token = _budget.set(_Budget(seconds))
    try:
        yield
    finally:
        _budget.reset(token)


def spend(view: ReleaseView, cost: Cost, parameters: Any) -> None:
    """Count an answer in the budget, if there is one; raise Expensive if it is too much."""
    current = _budget.get()
    if current is not None:
        current.spent += seconds_of(view, cost, parameters)
        if current.spent > current.seconds:
            raise Expensive(current.spent)


def seconds_of(view: ReleaseView, cost: Cost, parameters: Any) -> float:
    """Return about how many seconds an answer takes, in microseconds; names that don't exist cost nothing."""
    try:
        workloads = _workloads(parameters)
    except BadParameter:
        return 0.0
    patterns = [each for each in workloads if is_pattern(each)]
    # The release may have too many workloads to compare them all: then a pattern stands for as many as it may match.
    matches_any = len(patterns) * len(view.workloads) > _MOST_MATCHED
    return sum(cost.seconds(_counts(view, each, matches_any=matches_any)) for each in workloads)


def _counts(view: ReleaseView, workload: Workload, *, matches_any: bool) -> Counts:
    if not is_pattern(workload):
        return view.counts.get(workload, Counts())
    if matches_any:
        return view.largest_counts
    try:
        return sum((view.counts[facts.workload] for facts in view.matching(workload)), Counts())
    except LossLakeError:
        return Counts()


def _workloads(parameters: Any) -> list[Workload]:
    """Return the workloads that parameters name, by themselves or in studies and trials."""
    found = dict.fromkeys(map(parse_workload, _texts(parameters, "workload")))
    found |= dict.fromkeys(parse_study(text).workload for text in _texts(parameters, "study"))
    found |= dict.fromkeys(parse_trial(text).study.workload for text in _texts(parameters, "trial"))
    return [*found]


def _texts(parameters: Any, name: str) -> list[str]:
    value = getattr(parameters, name, None)
    return [value] if isinstance(value, str) else list(value or ())

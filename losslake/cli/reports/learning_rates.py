"""How the best effective learning rate grows with the batch size, and whether a rule of thumb would have found it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from losslake.cli.reports.markdown import interval, number, share, table
from losslake.cli.reports.subject import Question
from losslake.questions.analysis.metaparameters import metaparameter_optima
from losslake.questions.release_view import ReleaseView
from losslake_schema.names import Workload

LINEAR, SQUARE_ROOT = 1.0, 0.5


@dataclass(frozen=True)
class Growth:
    """Of one workload: exponent of the best effective learning rate against batch size, with its 90% interval."""

    workload: Workload
    exponent: float | None
    lower: float | None
    upper: float | None
    n_at_the_edge: int
    n_optima: int

    def holds(self, exponent: float) -> bool:
        """Whether the interval has that exponent in it."""
        return self.lower is not None and self.upper is not None and self.lower <= exponent <= self.upper


def growths(view: ReleaseView, workloads: Sequence[Workload], question: Question) -> list[Growth]:
    """One for each workload."""
    answer = metaparameter_optima(view, question.selection(*workloads), question.goal)
    exponents = {row["workload"]: row for row in answer.facts["exponents"]}
    optima = [row for row in answer.table().to_pylist() if row["trial_id"] is not None]
    found = []
    for workload in workloads:
        own = exponents[str(workload)]
        at_edge = [bool(row["at_boundary"]) for row in optima if row["workload"] == str(workload)]
        found.append(Growth(workload, own["exponent"], own["lower"], own["upper"], sum(at_edge), len(at_edge)))
    return found


def growth_table(found: Sequence[Growth]) -> str:
    """The exponents as Markdown."""
    headings = ["workload", "exponent", "90% interval", "square root", "linear", "optima at the edge of the search"]
    return table(headings, (_row(each) for each in found))


def _row(found: Growth) -> list[str]:
    return [
        f"{found.workload.model} {found.workload.optimizer}",
        number(found.exponent, 2),
        interval(found.lower, found.upper),
        "possible" if found.holds(SQUARE_ROOT) else "no",
        "possible" if found.holds(LINEAR) else "no",
        share(found.n_at_the_edge, found.n_optima),
    ]

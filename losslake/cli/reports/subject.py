"""What a report is about: goals, and pairs of workloads that differ in one thing.

Numbers and tables as Markdown.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

from losslake.questions.release_view import ReleaseView
from losslake.questions.selection import Goal, Selection
from losslake_schema.names import Workload


@dataclass(frozen=True)
class Question:
    """A goal, asked of every workload of the collection."""

    metric: str
    target: float

    @property
    def goal(self) -> Goal:
        return Goal(self.target)

    def selection(self, *workloads: Workload) -> Selection:
        """The trials that count: all COMPLETE ones."""
        return Selection(workloads, self.metric)

    def __str__(self) -> str:
        return f"{self.metric} < {self.target:g}"


@dataclass(frozen=True)
class Pair:
    """Two workloads that differ in what the question is about; of: the pair in words."""

    question: str
    of: str
    first: Workload
    second: Workload


@dataclass(frozen=True)
class Subject:
    """collection: whose workloads the report is about."""

    collection: str
    questions: tuple[Question, ...]
    pairs: tuple[Pair, ...]

    def workloads(self, view: ReleaseView) -> tuple[Workload, ...]:
        """Those of the collection that the release has, by name."""
        return tuple(sorted(workload for workload in view.workloads if workload.collection == self.collection))

    def pairs_about(self, question: str) -> tuple[Pair, ...]:
        """The pairs for a question."""
        return tuple(pair for pair in self.pairs if pair.question == question)


def subject(name: str) -> Subject:
    """What the data file of that name says."""
    document = tomllib.loads(resources.files("losslake.cli.reports").joinpath(f"{name}.toml").read_text("utf-8"))
    collection = document["collection"]
    return Subject(
        collection=collection,
        questions=tuple(Question(goal["metric"], goal["target"]) for goal in document["goal"]),
        pairs=tuple(
            Pair(
                pair["question"],
                pair["of"],
                Workload.parse(f"{collection}/{pair['from']}"),
                Workload.parse(f"{collection}/{pair['to']}"),
            )
            for pair in document["pair"]
        ),
    )


NOTHING = "\u2013"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the first column to the left, the others to the right."""
    marks = ["---", *["--:"] * (len(headings) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (headings, marks, *rows))


def number(value: float | None, digits: int = 3) -> str:
    """A number to so many significant digits, whole ones from 1,000 on with all of theirs; a dash for none."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def interval(lower: float | None, upper: float | None) -> str:
    """From … to …; what is open at one end says so."""
    if lower is None and upper is None:
        return NOTHING
    if lower is None:
        return f"≤ {number(upper)}"
    if upper is None:
        return f"≥ {number(lower)}"
    return f"{number(lower)} to {number(upper)}"


def share(count: int, total: int) -> str:
    """So many of so many."""
    return f"{count} of {total}"

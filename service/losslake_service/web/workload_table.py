"""Every workload of a release, to be searched, filtered and sorted; made once a release, and kept as long as that.

Ways out of a search that found nothing: other searches that do find something.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from losslake.questions.lists.listing import WORKLOAD_KEYS
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling import scaling
from losslake.questions.selection import Goal, Selection
from losslake_schema.names import Workload
from losslake_service.web.goals import GoalShown, goals_of


@dataclass(frozen=True)
class WorkloadListed:
    """A workload in a list. goals: those that are measured; text: in which words are looked for."""

    workload: Workload
    batch_sizes: Sequence[int]
    n_studies: int
    n_trials: int
    goals: Sequence[GoalShown]
    text: str


@dataclass(frozen=True)
class FewestSteps:
    """The fewest steps of any trial to a goal, at the smallest batch size that reached it and where they are fewest."""

    goal: GoalShown
    smallest: int
    steps_at_smallest: int
    best: int
    steps_at_best: int


class WorkloadTable:
    """The workloads of a release, in the order of their names."""

    def __init__(self, view: ReleaseView) -> None:
        columns = view.table("list_workloads", {}).to_pylist()
        self.rows = [_listed(view, row) for row in columns]
        self.rows.sort(key=lambda row: row.workload)
        self._fewest: dict[Workload, FewestSteps | None] = {}

    @cached_property
    def values(self) -> Mapping[str, Sequence[str]]:
        """The collections, datasets, models and optimizers there are."""
        return {key: sorted({getattr(row.workload, key) for row in self.rows}) for key in WORKLOAD_KEYS}

    @cached_property
    def words(self) -> Sequence[str]:
        """What can be searched for: names, and their parts."""
        return sorted({word for row in self.rows for word in _split(row.text)})

    def found(self, words: Sequence[str], of: Mapping[str, str | None]) -> list[WorkloadListed]:
        """Those in which every word occurs and whose names are these, as far as given."""
        names = {key: value for key, value in of.items() if value is not None}
        return [
            row
            for row in self.rows
            if all(word in row.text for word in words)
            and all(getattr(row.workload, key) == value for key, value in names.items())
        ]

    def fewest_steps(self, view: ReleaseView, row: WorkloadListed) -> FewestSteps | None:
        """To its first goal; None without a goal, or where nobody reached it. view: the release of the table."""
        if row.workload not in self._fewest:
            self._fewest[row.workload] = _fewest_steps(view, row)
        return self._fewest[row.workload]


_TABLES: WeakKeyDictionary[ReleaseView, WorkloadTable] = WeakKeyDictionary()


def workload_table(view: ReleaseView) -> WorkloadTable:
    """The table of a release."""
    found = _TABLES.get(view)
    if found is None:
        found = _TABLES[view] = WorkloadTable(view)
    return found


def words_of(text: str) -> list[str]:
    """What to look for, each word once."""
    return list(dict.fromkeys(text.casefold().split()))


ORDERS: Mapping[str, Callable[[WorkloadListed], Any]] = {
    "trials": lambda row: -row.n_trials,
    "studies": lambda row: -row.n_studies,
    "batch_size": lambda row: -max(row.batch_sizes, default=0),
}
"""By what else than names the list can be sorted; the largest come first."""


def _listed(view: ReleaseView, row: Mapping[str, Any]) -> WorkloadListed:
    workload = Workload(*(row[key] for key in WORKLOAD_KEYS))
    return WorkloadListed(
        workload=workload,
        batch_sizes=sorted(row["batch_sizes"]),
        n_studies=row["n_studies"],
        n_trials=row["n_trials"],
        goals=tuple(goals_of(view, view.workloads[workload])),
        text=" ".join([str(workload), *row["metrics"]]).casefold(),
    )


def _split(text: str) -> Iterable[str]:
    for name in text.replace("/", " ").split():
        yield name
        yield from (part for part in name.split("_") if len(part) > 1)


def _fewest_steps(view: ReleaseView, row: WorkloadListed) -> FewestSteps | None:
    if not row.goals:
        return None
    goal = row.goals[0]
    answer = scaling(view, Selection((row.workload,), goal.metric), Goal(goal.target)).table()
    pairs = zip(answer["batch_size"].to_pylist(), answer["steps"].to_pylist(), strict=True)
    reached = [(size, steps) for size, steps in pairs if steps is not None]
    if not reached:
        return None
    best, fewest = min(reached, key=lambda pair: (pair[1], pair[0]))
    return FewestSteps(goal, *reached[0], best, fewest)


_MOST = 5
_MOST_WORDS = 6
_LIKENESS = 0.6


def near_searches(table: WorkloadTable, words: Sequence[str], of: Mapping[str, str | None]) -> Iterator[Sequence[str]]:
    """The words of each other search that finds something among workloads of these names, likeliest first.

    First with every unknown word replaced by one that is much like it, then with each of the words alone.
    """
    given: set[Sequence[str]] = {tuple(words)}
    for search in _other_words(table, words):
        if len(given) <= _MOST and search not in given and table.found(search, of):
            given.add(search)
            yield search


def _other_words(table: WorkloadTable, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    words = words[:_MOST_WORDS]
    is_known = [bool(table.found([word], {})) for word in words]
    choices = [
        [word] if known else difflib.get_close_matches(word, table.words, _MOST, _LIKENESS)
        for word, known in zip(words, is_known, strict=True)
    ]
    if not all(is_known) and all(choices):
        for rank in range(max(map(len, choices))):
            yield tuple(near[min(rank, len(near) - 1)] for near in choices)
    for near in choices:
        yield from ((word,) for word in near)

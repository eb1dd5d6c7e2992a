"""The table of a study's trials: filtered, sorted by any column, cut into pages.

The table of trials as the page shows it: headings that sort, and cells in words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from losslake.questions.errors import BadParameter, near_names
from losslake_schema.names import Study, Trial
from losslake_schema.reached import NEVER
from losslake_schema.tables import STATUSES
from losslake_service.web.page import PageAsked
from losslake_service.web.studies.answers import BY_INDEX, StatusWords
from losslake_service.web.studies.metaparameters import Metaparameter, shown
from losslake_service.web.studies.state import StudyParameters
from losslake_service.web.studies.trials import LookedAt, StudyTrials
from losslake_service.web.templates import significant

ROWS_ON_A_PAGE = 50
MOST_METAPARAMETERS = 8
"""Columns for metaparameters, unless all others never differ; what is sorted by always has one."""
PARAMETER = "parameter."
Place = tuple[int, float, str]
"""Of a value among others."""
_FACTS = ("trial_id", "status", "steps", "best_value", "last_step")


@dataclass(frozen=True)
class TableAsked:
    """Which trials, in which order. status, reached: only such ones; None for all. sort: a column, descending with a
    minus before it. page: from 1 on; one beyond the last stands for the last."""

    status: str | None = None
    reached: str | None = None
    sort: str = "steps"
    page: int = 1


@dataclass(frozen=True)
class TrialTable:
    """A page of the table. rows: of the trials. n_trials: those that pass the filters, on all pages.

    columns: the metaparameters that have one. n_hidden: those that differ and have none.
    """

    rows: Sequence[int]
    n_trials: int
    page: int
    n_pages: int
    columns: Sequence[Metaparameter]
    n_hidden: int


def trial_table(trials: StudyTrials, metaparameters: Sequence[Metaparameter], asked: TableAsked) -> TrialTable:
    """The page that is asked for; raises BadParameter for a column that isn't there."""
    wanted = np.ones(len(trials.trial_id), np.bool_)
    if asked.status is not None:
        wanted &= trials.status == STATUSES.index(asked.status)
    if asked.reached is not None:
        wanted &= trials.reached == (asked.reached == "yes")
    rows = _sorted([int(row) for row in np.flatnonzero(wanted)], trials, metaparameters, asked.sort)
    n_pages = max(1, math.ceil(len(rows) / ROWS_ON_A_PAGE))
    page = min(asked.page, n_pages)
    columns, n_hidden = _columns(metaparameters, asked.sort)
    return TrialTable(
        rows[(page - 1) * ROWS_ON_A_PAGE : page * ROWS_ON_A_PAGE], len(rows), page, n_pages, columns, n_hidden
    )


def _sorted(rows: list[int], trials: StudyTrials, metaparameters: Sequence[Metaparameter], sort: str) -> list[int]:
    """By the column, then by the best value, then by number; what has no value there comes last either way."""
    is_descending, name = sort.startswith("-"), sort.removeprefix("-")
    has, key = _key(name, trials, metaparameters)
    losses = trials.best_value * (1 if trials.is_minimized else -1)
    rows.sort(key=lambda row: (math.isnan(losses[row]), losses[row]))
    there, missing = [row for row in rows if has(row)], [row for row in rows if not has(row)]
    there.sort(key=key, reverse=is_descending)
    return there + missing


def _key(
    name: str, trials: StudyTrials, metaparameters: Sequence[Metaparameter]
) -> tuple[Callable[[int], bool], Callable[[int], Place]]:
    """Whether a trial has something in that column, and what it is sorted by there."""
    if name.startswith(PARAMETER):
        found = next((each for each in metaparameters if each.name == name.removeprefix(PARAMETER)), None)
        if found is not None:
            return lambda row: found.values[row] is not None, found.order
    numbers = {
        "trial_id": trials.trial_id,
        "status": trials.status,
        "steps": trials.steps,
        "best_value": trials.best_value,
        "last_step": trials.last_step,
    }
    if name not in numbers:
        known = [*_FACTS, *(f"{PARAMETER}{each.name}" for each in metaparameters)]
        near = ", ".join(near_names(name, known))
        raise BadParameter("sort", f"sort={name}: there is no such column here; did you mean one of {near}?")
    values = numbers[name]
    if name == "best_value":
        return lambda row: not math.isnan(values[row]), lambda row: (0, float(values[row]), "")
    return lambda row: name == "status" or values[row] != NEVER, lambda row: (int(values[row]), 0.0, "")


def _columns(metaparameters: Sequence[Metaparameter], sort: str) -> tuple[list[Metaparameter], int]:
    differing = [each for each in metaparameters if not each.is_constant] or list(metaparameters)
    by_name = {each.name: each for each in metaparameters}
    shown = {each.name: each for each in differing[:MOST_METAPARAMETERS]}
    sorted_by = by_name.get(sort.removeprefix("-").removeprefix(PARAMETER)) if PARAMETER in sort else None
    if sorted_by is not None:
        shown[sorted_by.name] = sorted_by
    return list(shown.values()), sum(each.name not in shown for each in differing)


_BEFORE = {"ascending": "\u25b2", "descending": "\u25bc"}


@dataclass(frozen=True)
class Column:
    """A heading. url: of the table sorted by it. sorted: ascending or descending if it is; else empty."""

    label: str
    url: str
    is_number: bool
    sorted: str

    @property
    def arrow(self) -> str:
        """Which way it is sorted."""
        return _BEFORE.get(self.sorted, "")


@dataclass(frozen=True)
class Cell:
    """A value. is_number: to be aligned as one."""

    text: str
    is_number: bool


@dataclass(frozen=True)
class TrialRow:
    """A trial. steps: to the goal, in words where it has none."""

    trial_id: int
    url: str
    status: StatusWords
    steps: str
    is_reached: bool
    best_value: str
    last_step: str
    metaparameters: Sequence[Cell]


@dataclass(frozen=True)
class TableShown:
    """A page of the table. previous, next: those beside it, None at an end. everything: the table without filters."""

    table: TrialTable
    columns: Sequence[Column]
    rows: Sequence[TrialRow]
    previous: str | None
    next: str | None
    everything: str


def table_shown(
    asked: PageAsked, study: Study, state: StudyParameters, trials: StudyTrials, looked: LookedAt, table: TrialTable
) -> TableShown:
    """The table as the page shows it."""
    named = [("trial_id", "Trial", True), ("status", "Status", False)]
    if looked.goal:
        named += [("steps", "Steps to target", True), ("best_value", f"Best {looked.goal.metric}", True)]
    named.append(("last_step", "Last step", True))
    named += [(f"{PARAMETER}{each.name}", each.name, each.is_numeric) for each in table.columns]

    def at(page: int) -> str | None:
        return state.url(asked, study, page=page) + "#trials" if 1 <= page <= table.n_pages else None

    return TableShown(
        table=table,
        columns=[_column(asked, study, state, *each) for each in named],
        rows=[_row(asked, study, state, trials, table, row) for row in table.rows],
        previous=at(table.page - 1),
        next=at(table.page + 1),
        everything=state.url(asked, study, status=None, reached=None, page=1) + "#trials",
    )


def _column(asked: PageAsked, study: Study, state: StudyParameters, name: str, label: str, is_number: bool) -> Column:
    order = {name: "ascending", f"-{name}": "descending"}.get(state.sort, "")
    sort = f"-{name}" if order == "ascending" else name
    return Column(label, state.url(asked, study, sort=sort, page=1) + "#trials", is_number, order)


def _row(
    asked: PageAsked, study: Study, state: StudyParameters, trials: StudyTrials, table: TrialTable, row: int
) -> TrialRow:
    number, last_step = int(trials.trial_id[row]), int(trials.last_step[row])
    best, is_reached = float(trials.best_value[row]), bool(trials.reached[row])
    return TrialRow(
        trial_id=number,
        url=asked.page_of(Trial(study, number), metric=state.metric, target=state.target),
        status=BY_INDEX[trials.status[row]],
        steps=f"{int(trials.steps[row]):,}" if is_reached else "never" if trials.counts[row] else "not reached",
        is_reached=is_reached,
        best_value="\u2013" if best != best else significant(best),
        last_step="\u2013" if last_step == NEVER else f"{last_step:,}",
        metaparameters=[Cell(shown(each.values[row]), each.is_numeric) for each in table.columns],
    )

"""The table of trials as the page shows it: headings that sort, and cells in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from losslake_schema.names import Study, Trial
from losslake_schema.reached import NEVER
from losslake_service.web.page import PageAsked
from losslake_service.web.studies.goal import LookedAt
from losslake_service.web.studies.metaparameters import shown
from losslake_service.web.studies.statuses import BY_INDEX, StatusWords
from losslake_service.web.studies.study_state import StudyParameters
from losslake_service.web.studies.trial_table import PARAMETER, TrialTable
from losslake_service.web.studies.trials import StudyTrials
from losslake_service.web.templates import significant

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

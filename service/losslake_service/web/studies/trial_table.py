"""The table of a study's trials: filtered, sorted by any column, cut into pages, with cells in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from losslake.questions.errors import BadParameter, near_names
from losslake.questions.parameters import Natural, Status
from losslake_schema.names import Study, Trial
from losslake_schema.reached import NEVER
from losslake_schema.tables import STATUSES
from losslake_service.web.goals import GoalShown
from losslake_service.web.page import GoalParameters, PageNumbers, PageRequest, page_numbers
from losslake_service.web.studies.answers import STATUS_WORDS
from losslake_service.web.studies.charts import StepAxis
from losslake_service.web.studies.metaparameters import Metaparameter, shown
from losslake_service.web.studies.trials import StudyTrials
from losslake_service.web.templates import significant

ROWS_ON_A_PAGE = 50
MOST_METAPARAMETERS = 8
"""Columns for metaparameters, unless all others never differ; what is sorted by always has one."""
PARAMETER = "parameter."
_FACTS = ("trial_id", "status", "steps", "best_value", "last_step")
_DASH = "\u2013"
Place = tuple[int, float, str]
"""Of a value among others."""


class StudyParameters(GoalParameters):
    """The query of the page of a study; metric and target are also those of its curves."""

    axis: StepAxis = "linear"
    """Whether the curves have linear or logarithmic steps."""
    status: Status | None = None
    """Of the table only trials of this status; default: all."""
    reached: Literal["yes", "no"] | None = None
    """Of the table only trials that reached the target, or that didn't; default: all."""
    sort: str = "steps"
    """The column that the table is sorted by, descending with a minus before it."""
    page: Annotated[Natural, Field(ge=1)] = 1
    """Of the table."""

    def url(self, request: PageRequest, study: Study, **changes: object) -> str:
        """Return the address of the page in this state, but for the changes; what is as by default is left out."""
        state = self.model_copy(update=changes)
        names = (name for name in type(self).model_fields if name != "release")
        return request.page_of(study, **dict(state.kept(*names)))

    def kept(self, *names: str) -> list[tuple[str, object]]:
        """Return what of these isn't as by default, for links and forms."""
        fields = type(self).model_fields
        return [(name, getattr(self, name)) for name in names if getattr(self, name) != fields[name].default]


@dataclass(frozen=True)
class TrialTable:
    """A page of the table. rows: of the trials. columns: the metaparameters that have one. n_hidden: those that differ
    and have none."""

    rows: Sequence[int]
    pages: PageNumbers
    columns: Sequence[Metaparameter]
    n_hidden: int


def trial_table(
    trials: StudyTrials, metaparameters: Sequence[Metaparameter], wanted: StudyParameters, url: Callable[[int], str]
) -> TrialTable:
    """Return the wanted page; raises BadParameter for a column that isn't there. url: of a page."""
    passes = np.ones(len(trials.trial_id), np.bool_)
    if wanted.status is not None:
        passes &= trials.status == STATUSES.index(wanted.status)
    if wanted.reached is not None:
        passes &= trials.reached == (wanted.reached == "yes")
    rows = _sorted(np.flatnonzero(passes).tolist(), trials, metaparameters, wanted.sort)
    pages = page_numbers(len(rows), ROWS_ON_A_PAGE, wanted.page, url)
    return TrialTable(rows[pages.rows], pages, *_columns(metaparameters, wanted.sort))


def table_shown(
    request: PageRequest,
    study: Study,
    state: StudyParameters,
    trials: StudyTrials,
    goal: GoalShown | None,
    metaparameters: Sequence[Metaparameter],
) -> dict[str, Any]:
    """Return the table as the page shows it. everything: the address of the table without filters."""

    def url(**changes: object) -> str:
        return state.url(request, study, **changes) + "#trials"

    table = trial_table(trials, metaparameters, state, lambda page: url(page=page))
    named = [("trial_id", "Trial", True), ("status", "Status", False)]
    if goal:
        named += [("steps", "Steps to target", True), ("best_value", f"Best {goal.metric}", True)]
    named.append(("last_step", "Last step", True))
    named += [(f"{PARAMETER}{each.name}", each.name, each.is_numeric) for each in table.columns]
    columns = []
    for name, label, is_number in named:
        order = {name: "ascending", f"-{name}": "descending"}.get(state.sort, "")
        columns.append((label, url(sort=f"-{name}" if order == "ascending" else name, page=1), is_number, order))
    return {
        "pages": table.pages,
        "n_hidden": table.n_hidden,
        "columns": columns,
        "rows": [_row(request, study, state, trials, table, row) for row in table.rows],
        "everything": url(status=None, reached=None, page=1),
    }


def _row(
    request: PageRequest, study: Study, state: StudyParameters, trials: StudyTrials, table: TrialTable, row: int
) -> dict[str, object]:
    number, last_step = int(trials.trial_id[row]), int(trials.last_step[row])
    best, is_reached = float(trials.best_value[row]), bool(trials.reached[row])
    return {
        "trial_id": number,
        "url": request.page_of(Trial(study, number), **state.goal),
        "status": STATUS_WORDS[trials.status[row]],
        "steps": f"{int(trials.steps[row]):,}" if is_reached else "never" if trials.counts[row] else "not reached",
        "is_reached": is_reached,
        "best_value": _DASH if math.isnan(best) else significant(best),
        "last_step": _DASH if last_step == NEVER else f"{last_step:,}",
        "metaparameters": [(shown(each.values[row]), each.is_numeric) for each in table.columns],
    }


def _sorted(rows: list[int], trials: StudyTrials, metaparameters: Sequence[Metaparameter], sort: str) -> list[int]:
    """Sort by the column, then by the best value, then by number; what has no value there comes last either way."""
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
    """Return whether a trial has something in that column, and what it is sorted by there."""
    if name.startswith(PARAMETER):
        match = next((each for each in metaparameters if each.name == name.removeprefix(PARAMETER)), None)
        if match is not None:
            return lambda row: match.values[row] is not None, match.order
    if name not in _FACTS:
        known = [*_FACTS, *(f"{PARAMETER}{each.name}" for each in metaparameters)]
        near = ", ".join(near_names(name, known))
        raise BadParameter("sort", f"sort={name}: there is no such column here; did you mean one of {near}?")
    values = getattr(trials, name)
    if name == "best_value":
        return lambda row: not math.isnan(values[row]), lambda row: (0, float(values[row]), "")
    return lambda row: name == "status" or values[row] != NEVER, lambda row: (int(values[row]), 0.0, "")


def _columns(metaparameters: Sequence[Metaparameter], sort: str) -> tuple[list[Metaparameter], int]:
    differing = [each for each in metaparameters if not each.is_constant] or list(metaparameters)
    by_name = {each.name: each for each in metaparameters}
    columns = {each.name: each for each in differing[:MOST_METAPARAMETERS]}
    sorted_by = by_name.get(sort.removeprefix("-").removeprefix(PARAMETER)) if PARAMETER in sort else None
    if sorted_by is not None:
        columns[sorted_by.name] = sorted_by
    return list(columns.values()), sum(each.name not in columns for each in differing)

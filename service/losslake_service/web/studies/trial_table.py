"""The table of a study's trials, with filters, sorting and pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from losslake.questions.declaration.parameters import Natural
from losslake.questions.release.errors import BadParameter, near_names
from losslake_schema.names import Study, Trial
from losslake_schema.quantities import amount, capitalized
from losslake_schema.reached import NEVER, Flags
from losslake_schema.statuses import STATUSES, Status
from losslake_service.web.goals import PageGoal
from losslake_service.web.page import PageRequest, Pagination, paginate
from losslake_service.web.studies.answers import STATUS_WORDS
from losslake_service.web.studies.charts import CurveParameters
from losslake_service.web.studies.metaparameters import Metaparameter, shown
from losslake_service.web.studies.trials import StudyTrials
from losslake_service.web.templates import significant

ROWS_ON_A_PAGE = 50
# The most columns for metaparameters; the one that is sorted by always has a column.
MOST_METAPARAMETERS = 8
# The most values of what trials are filtered and coloured by.
MOST_VALUES = 40
PARAMETER = "parameter."
_FACTS = ("trial_id", "status", "amount", "steps", "best_value", "last_step")
_DASH = "\u2013"
# A sort key.
SortKey = tuple[int, float, str]


class StudyParameters(CurveParameters):
    """The query of the page of a study. Metric and target apply to the curves as well."""

    status: Status | None = None
    """The status of trials in the table; default: all."""
    reached: Literal["yes", "no"] | None = None
    """Show only trials that reached the target, or that didn't, in the table; default: all."""
    where: str = ""
    """Show only trials with this value of a metaparameter or fact in the table: NAME=VALUE; default: all."""
    colour: str = ""
    """The fact or metaparameter that the colours of curves show; default: the outcome."""
    mean: Literal["settings"] | None = None
    """settings: draw the mean of each setting over the curves of its trials."""
    sort: str = "amount"
    """The column to sort the table by; a leading minus sorts in descending order. Default: what is counted."""
    page: Annotated[Natural, Field(ge=1)] = 1
    """The page of the table."""

    def url(self, request: PageRequest, study: Study, **changes: object) -> str:
        """Return the address of the page in this state with changes, without default values."""
        state = self.model_copy(update=changes)
        page = {} if state.page == 1 else {"page": state.page}
        return request.page_url(study, **dict(state.kept()), **page)


@dataclass(frozen=True)
class TrialTable:
    """A page of the table. rows: of the trials. columns: of metaparameters. n_hidden: varying ones without a column."""

    rows: Sequence[int]
    pages: Pagination
    columns: Sequence[Metaparameter]
    n_hidden: int


def trial_table(
    trials: StudyTrials, metaparameters: Sequence[Metaparameter], requested: StudyParameters, url: Callable[[int], str]
) -> TrialTable:
    """Return the requested page; raises BadParameter for an unknown column. url: returns that of a page."""
    passes = np.ones(len(trials.trial_id), np.bool_)
    if requested.status is not None:
        passes &= trials.status == STATUSES.index(requested.status)
    if requested.reached is not None:
        passes &= trials.reached == (requested.reached == "yes")
    if requested.where:
        passes &= _has_value(metaparameters, requested.where)
    rows = _sorted(np.flatnonzero(passes).tolist(), trials, metaparameters, requested.sort)
    pages = paginate(len(rows), ROWS_ON_A_PAGE, requested.page, url)
    return TrialTable(rows[pages.rows], pages, *_columns(metaparameters, requested.sort))


def table_section(
    request: PageRequest,
    study: Study,
    state: StudyParameters,
    trials: StudyTrials,
    goal: PageGoal | None,
    metaparameters: Sequence[Metaparameter],
) -> dict[str, Any]:
    """Return the table for the template. everything: the address of the table without filters."""

    def url(**changes: object) -> str:
        return state.url(request, study, **changes) + "#trials"

    table = trial_table(trials, metaparameters, state, lambda page: url(page=page))
    runs, others = _by_identity(table)
    named = [("trial_id", "Trial", True), *map(_heading, runs), ("status", "Status", False)]
    if goal:
        if trials.noun != "steps":
            named.append(("amount", f"{capitalized(trials.noun)} to target", True))
        named += [("steps", "Steps to target", True), ("best_value", f"Best {goal.metric}", True)]
    named.append(("last_step", "Last step", True))
    named += map(_heading, others)
    columns = []
    sorted_by = _sorted_by(trials, state.sort)
    for name, label, is_number in named:
        order = {name: "ascending", f"-{name}": "descending"}.get(sorted_by, "")
        columns.append((label, url(sort=f"-{name}" if order == "ascending" else name, page=1), is_number, order))
    return {
        "pages": table.pages,
        "n_hidden": table.n_hidden,
        "columns": columns,
        "rows": [_row(request, study, state, trials, table, row) for row in table.rows],
        "everything": url(status=None, reached=None, where="", page=1),
    }


def _sorted_by(trials: StudyTrials, sort: str) -> str:
    """Return the column that a table is sorted by: what is counted has none of its own if that is steps."""
    return sort.replace("amount", "steps") if trials.noun == "steps" and sort in ("amount", "-amount") else sort


def _by_identity(table: TrialTable) -> tuple[list[Metaparameter], list[Metaparameter]]:
    """Return the columns that say who ran a trial on what, and the others."""
    return [each for each in table.columns if each.is_identity], [
        each for each in table.columns if not each.is_identity
    ]


def _heading(each: Metaparameter) -> tuple[str, str, bool]:
    return f"{PARAMETER}{each.name}", each.name, each.is_numeric


def _row(
    request: PageRequest, study: Study, state: StudyParameters, trials: StudyTrials, table: TrialTable, row: int
) -> dict[str, object]:
    number, last_step = int(trials.trial_id[row]), int(trials.last_step[row])
    best, is_reached = float(trials.best_value[row]), bool(trials.reached[row])
    runs, others = _by_identity(table)
    return {
        "trial_id": number,
        "url": request.page_url(Trial(study, number), **state.goal),
        "status": STATUS_WORDS[trials.status[row]],
        "amount": _DASH if math.isnan(trials.amounts[row]) else amount(trials.amounts[row]),
        "steps": f"{int(trials.steps[row]):,}" if is_reached else "never" if trials.counts[row] else "not reached",
        "is_reached": is_reached,
        "best_value": _DASH if math.isnan(best) else significant(best),
        "last_step": _DASH if last_step == NEVER else f"{last_step:,}",
        "runs": [_run(request, study, state, each, row) for each in runs],
        "metaparameters": [(shown(each.values[row]), each.is_numeric) for each in others],
    }


def _run(
    request: PageRequest, study: Study, state: StudyParameters, each: Metaparameter, row: int
) -> tuple[str, bool, str]:
    """Return a fact of who ran a trial on what, whether it is a number, and the address of all trials with it."""
    text = shown(each.values[row])
    url = state.url(request, study, where=f"{each.name}={text}", page=1) + "#trials"
    return text, each.is_numeric, url if each.values[row] is not None else ""


def choices(metaparameters: Sequence[Metaparameter]) -> list[tuple[str, list[str]]]:
    """Return the facts and metaparameters of few values, those of texts first, each with its values in words."""
    few = []
    for each in metaparameters:
        values = sorted({shown(value) for value in each.values if value is not None})
        if 2 <= len(values) <= MOST_VALUES:
            few.append((each.name, values, each.is_numeric))
    return [(name, values) for name, values, _ in sorted(few, key=lambda each: (each[2], each[0]))]


def _has_value(metaparameters: Sequence[Metaparameter], where: str) -> Flags:
    """Return by trial whether it has the value of NAME=VALUE; raises BadParameter for an unknown name."""
    name, _, value = where.partition("=")
    match = next((each for each in metaparameters if each.name == name), None)
    if match is None:
        near = ", ".join(near_names(name, [each.name for each in metaparameters])) or "none"
        raise BadParameter("where", f"where={where}: the trials have no {name!r}; similar names are: {near}")
    return np.array([each is not None and shown(each) == value for each in match.values], np.bool_)


def _sorted(rows: list[int], trials: StudyTrials, metaparameters: Sequence[Metaparameter], sort: str) -> list[int]:
    """Sort by a column, then by best value, then by number. Rows without a value come last in both directions."""
    is_descending, name = sort.startswith("-"), sort.removeprefix("-")
    has_value, key = _key(name, trials, metaparameters)
    losses = trials.best_value * (1 if trials.is_minimized else -1)
    rows.sort(key=lambda row: (math.isnan(losses[row]), losses[row]))
    present, missing = [row for row in rows if has_value(row)], [row for row in rows if not has_value(row)]
    present.sort(key=key, reverse=is_descending)
    return present + missing


def _key(
    name: str, trials: StudyTrials, metaparameters: Sequence[Metaparameter]
) -> tuple[Callable[[int], bool], Callable[[int], SortKey]]:
    """Return two functions of a trial: one tests for a value in the column, one returns its sort key."""
    if name.startswith(PARAMETER):
        match = next((each for each in metaparameters if each.name == name.removeprefix(PARAMETER)), None)
        if match is not None:
            return lambda row: match.values[row] is not None, match.order
    if name not in _FACTS:
        columns = [*_FACTS, *(f"{PARAMETER}{each.name}" for each in metaparameters)]
        near = ", ".join(near_names(name, columns))
        raise BadParameter("sort", f"sort={name}: there is no such column; did you mean one of {near}?")
    values = trials.amounts if name == "amount" else getattr(trials, name)
    if name in ("best_value", "amount"):
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

"""The filters of a list: one per column, with _min and _max for numbers, and any metaparameter.

What a list is filtered by, as expressions of DuckDB: names are quoted and values are bound by it, never by us.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import and_, or_
from typing import Any

from duckdb import ColumnExpression, ConstantExpression, Expression, FunctionExpression

from losslake.output.columns import Column
from losslake.output.texts import json_text
from losslake.questions.declaration.listing import Listing
from losslake.questions.lists.listings import WORKLOAD_KEYS
from losslake.questions.release.errors import BadParameter, UnknownName, near_names
from losslake_schema.names import Study, Workload, natural_number, real_number


@dataclass(frozen=True)
class Equal:
    """A column equals one of these values, none if there are none; a list contains one of them."""

    column: str
    values: Sequence[Any]
    is_list: bool = False

    @property
    def expression(self) -> Expression:
        """The condition for DuckDB."""
        column, values = ColumnExpression(self.column), [*map(ConstantExpression, self.values)]
        if self.is_list:
            return any_of([FunctionExpression("list_contains", column, value) for value in values])
        return column.isin(*values) if values else ConstantExpression(False)


@dataclass(frozen=True)
class Between:
    """A column is a number from lowest to highest, inclusive; None for no bound. NaN never is."""

    column: str
    lowest: Any
    highest: Any

    @property
    def expression(self) -> Expression:
        """The condition for DuckDB."""
        return _between(ColumnExpression(self.column), self.lowest, self.highest)


@dataclass(frozen=True)
class Parameter:
    """A metaparameter equals one of these values, or lies between the bounds.

    values: numbers; JSON texts for a metaparameter that is not a number, which has no bounds.
    """

    name: str
    values: Sequence[float | str] = ()
    lowest: float | None = None
    highest: float | None = None
    is_number: bool = True

    @property
    def expression(self) -> Expression:
        """The condition for DuckDB, on the value of that name, which is null if there is none."""
        column = ColumnExpression("parameters" if self.is_number else "attributes")
        value = FunctionExpression("map_extract_value", column, ConstantExpression(self.name))
        if self.values:
            return value.isin(*map(ConstantExpression, self.values))
        return _between(value, self.lowest, self.highest)


@dataclass(frozen=True)
class Of:
    """A row belongs to one of these workloads or studies."""

    names: Sequence[Workload | Study]

    @property
    def expression(self) -> Expression:
        """The condition for DuckDB."""
        return any_of([_of(name) for name in self.names])


@dataclass(frozen=True)
class OfOneLog:
    """All of these hold for one log of a trial: for its own, or for another, as they do of the trials named here."""

    conditions: Sequence[Parameter]
    trials: Sequence[str]

    @property
    def expression(self) -> Expression:
        """The condition for DuckDB."""
        of_own = all_of([each.expression for each in self.conditions])
        return of_own | Equal("trial", self.trials).expression if self.trials else of_own


Condition = Equal | Between | Parameter | Of | OfOneLog


def any_of(conditions: Sequence[Expression]) -> Expression:
    """Return the disjunction of one or more conditions."""
    return reduce(or_, conditions)


def all_of(conditions: Sequence[Expression]) -> Expression:
    """Return the conjunction of one or more conditions."""
    return reduce(and_, conditions)


def _between(value: Expression, lowest: Any, highest: Any) -> Expression:
    bounds = [value >= ConstantExpression(lowest)] if lowest is not None else []
    if highest is not None:
        bounds.append(value <= ConstantExpression(highest))
    # DuckDB orders NaN above every number.
    if any(isinstance(bound, float) for bound in (lowest, highest)):
        bounds.append(FunctionExpression("isfinite", value))
    return all_of(bounds)


def _of(name: Workload | Study) -> Expression:
    workload = name.workload if isinstance(name, Study) else name
    keys: dict[str, Any] = {key: getattr(workload, key) for key in WORKLOAD_KEYS}
    if isinstance(name, Study):
        keys["batch_size"] = name.batch_size or None
    parts = [ColumnExpression(key) == ConstantExpression(value) for key, value in keys.items() if value is not None]
    return all_of([*parts, *(ColumnExpression(key).isnull() for key, value in keys.items() if value is None)])


LOWEST, HIGHEST = "_min", "_max"
METAPARAMETER = "parameter."
_EQUAL_KINDS = ("string", "integer", "number", "boolean", "timestamp", "strings", "integers")
_RANGE_KINDS = ("integer", "number", "timestamp")
_MOST_VALUES = 1000


@dataclass(frozen=True)
class Filter:
    """A parameter that filters by a column. bound: _min, _max or empty."""

    name: str
    column: Column
    bound: str = ""


def filters_of(listing: Listing) -> dict[str, Filter]:
    """Return the filters by column of a list, by name of the parameter."""
    filters = [Filter(c.name, c) for c in listing.shape.columns if c.kind in _EQUAL_KINDS]
    for column in listing.shape.columns:
        if column.kind in _RANGE_KINDS:
            filters += [Filter(column.name + bound, column, bound) for bound in (LOWEST, HIGHEST)]
    return {each.name: each for each in filters}


def has_metaparameters(listing: Listing) -> bool:
    """Return True if `parameter.NAME` filters this list."""
    return "parameters" in listing.columns


def conditions(
    listing: Listing, filters: Mapping[str, Sequence[str]], metaparameters: Mapping[str, bool]
) -> tuple[Condition, ...]:
    """Return the conditions that the parameters set; raises BadParameter and UnknownName.

    filters: the texts given for each parameter. metaparameters: those of the release, and whether each is a number.
    """
    of_columns = filters_of(listing)
    result: list[Condition] = []
    for name, texts in filters.items():
        if len(texts) > _MOST_VALUES:
            raise BadParameter(name, f"{name} is given {len(texts):,} times: give it at most {_MOST_VALUES:,} times")
        if name.startswith(METAPARAMETER):
            result.append(_of_metaparameter(name, texts, metaparameters))
        else:
            result.append(_of_column(of_columns[name], texts))
    return tuple(result)


def _of_column(filter: Filter, texts: Sequence[str]) -> Condition:  # noqa: A002
    column = filter.column
    values = [_value(filter.name, column.kind, text) for text in texts]
    if not filter.bound:
        return Equal(column.name, values, is_list=column.kind in ("strings", "integers"))
    _once(filter.name, texts)
    return Between(column.name, *_bounds(filter.bound, values[0]))


def _of_metaparameter(name: str, texts: Sequence[str], known: Mapping[str, bool]) -> Condition:
    wanted, bound = name.removeprefix(METAPARAMETER), ""
    if wanted not in known:
        bound = next((b for b in (LOWEST, HIGHEST) if wanted.endswith(b)), "")
        wanted = wanted.removesuffix(bound)
    if wanted not in known:
        raise UnknownName("metaparameter", wanted, near_names(wanted, known), "the release")
    if not known[wanted]:
        if bound:
            raise BadParameter(name, f"{wanted} is not a number: filter by {METAPARAMETER}{wanted}=…")
        # Sorted, since cursors hold a digest of the conditions.
        json_texts = {text for given in texts for text in (given, json_text(given))}
        return Parameter(wanted, tuple(sorted(json_texts)), is_number=False)
    values = [_number(name, text) for text in texts]
    if not bound:
        return Parameter(wanted, tuple(values))
    _once(name, texts)
    lowest, highest = _bounds(bound, values[0])
    return Parameter(wanted, lowest=lowest, highest=highest)


def _bounds(bound: str, value: Any) -> tuple[Any, Any]:
    return (value, None) if bound == LOWEST else (None, value)


def _once(name: str, texts: Sequence[str]) -> None:
    if len(texts) > 1:
        raise BadParameter(name, f"the parameter '{name}' is given twice: give it once")


def _value(name: str, kind: str, text: str) -> Any:
    if kind in ("integer", "integers"):
        value = natural_number(text)
        if value is None:
            raise BadParameter(name, f"{name}={text}: give a whole number from 0 to 2^63 - 1, in digits")
        return value
    if kind == "number":
        return _number(name, text)
    if kind == "boolean":
        if text not in ("true", "false"):
            raise BadParameter(name, f"{name}={text}: give true or false")
        return text == "true"
    return _moment(name, text) if kind == "timestamp" else text


def _number(name: str, text: str) -> float:
    value = real_number(text)
    if value is None or not math.isfinite(value):
        raise BadParameter(name, f"{name}={text}: give a finite number, for example 0.01 or 1e-3")
    return value


def _moment(name: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise BadParameter(name, f"{name}={text}: give a time such as 2026-11-21T09:42:50Z") from None

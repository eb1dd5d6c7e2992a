"""What a list is filtered by, as expressions of DuckDB: names are quoted and values are bound by it, never by us."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

from duckdb import ColumnExpression, ConstantExpression, Expression, FunctionExpression

from losslake.questions.lists.listing import WORKLOAD_KEYS
from losslake_schema.names import Study, Workload


@dataclass(frozen=True)
class Equal:
    """The column has one of these values; a list holds one of them."""

    column: str
    values: Sequence[Any]
    is_list: bool = False


@dataclass(frozen=True)
class Between:
    """The column is a number from lowest to highest, both included; None: no bound there. NaN is never between."""

    column: str
    lowest: Any
    highest: Any


@dataclass(frozen=True)
class Parameter:
    """The numeric metaparameter of that name has one of these values, or is between the bounds."""

    name: str
    values: Sequence[float] = ()
    lowest: float | None = None
    highest: float | None = None


@dataclass(frozen=True)
class Attribute:
    """The metaparameter of that name, which is no number, is one of these JSON texts."""

    name: str
    values: Sequence[str]


@dataclass(frozen=True)
class Of:
    """Rows of one of these workloads or studies."""

    names: Sequence[Workload | Study]


Condition = Equal | Between | Parameter | Attribute | Of


def expression(condition: Condition) -> Expression:
    """The condition as DuckDB has it."""
    if isinstance(condition, Equal):
        return _equal(condition)
    if isinstance(condition, Between):
        return _between(ColumnExpression(condition.column), condition.lowest, condition.highest)
    if isinstance(condition, Of):
        return any_of([_of(name) for name in condition.names])
    if isinstance(condition, Attribute):
        value = _in_map("attributes", condition.name)
        return value.isin(*map(ConstantExpression, condition.values))
    value = _in_map("parameters", condition.name)
    if condition.values:
        return value.isin(*map(ConstantExpression, condition.values))
    return _between(value, condition.lowest, condition.highest)


def any_of(conditions: Sequence[Expression]) -> Expression:
    """At least one holds; there has to be one."""
    return reduce(or_, conditions)


def all_of(conditions: Sequence[Expression]) -> Expression:
    """Every one holds; there has to be one."""
    return reduce(and_, conditions)


def _equal(condition: Equal) -> Expression:
    column = ColumnExpression(condition.column)
    if condition.is_list:
        held = [FunctionExpression("list_contains", column, ConstantExpression(value)) for value in condition.values]
        return any_of(held)
    return column.isin(*map(ConstantExpression, condition.values))


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
        keys["batch_size"] = name.batch_size
    return all_of([ColumnExpression(key) == ConstantExpression(value) for key, value in keys.items()])


def _in_map(column: str, name: str) -> Expression:
    """The value of that name, null if there is none."""
    return FunctionExpression("map_extract_value", ColumnExpression(column), ConstantExpression(name))

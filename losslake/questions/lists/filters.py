"""The parameters that filter a list: one for each column, with _min and _max for numbers, and any metaparameter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from losslake.output.column import Column
from losslake.output.json_values import json_text
from losslake.questions.errors import BadParameter, UnknownName, near_names
from losslake.questions.lists.conditions import Attribute, Between, Condition, Equal, Parameter
from losslake.questions.lists.listing import Listing
from losslake_schema.names import natural_number

LOWEST, HIGHEST = "_min", "_max"
METAPARAMETER = "parameter."
_EQUAL_KINDS = ("string", "integer", "number", "boolean", "timestamp", "strings", "integers")
_RANGE_KINDS = ("integer", "number", "timestamp")
_MOST_VALUES = 1000


@dataclass(frozen=True)
class Filter:
    """A parameter that filters by a column; bound: _min, _max or nothing."""

    name: str
    column: Column
    bound: str = ""


def filters_of(listing: Listing) -> dict[str, Filter]:
    """Every parameter that filters this list by a column, by name."""
    found = [Filter(c.name, c) for c in listing.shape.columns if c.kind in _EQUAL_KINDS]
    for column in listing.shape.columns:
        if column.kind in _RANGE_KINDS:
            found += [Filter(column.name + bound, column, bound) for bound in (LOWEST, HIGHEST)]
    return {each.name: each for each in found}


def has_metaparameters(listing: Listing) -> bool:
    """Whether `parameter.NAME` filters this list."""
    return "parameters" in listing.columns


def conditions(
    listing: Listing, asked: Mapping[str, Sequence[str]], metaparameters: Mapping[str, bool]
) -> tuple[Condition, ...]:
    """What the parameters ask, by name; raises BadParameter and UnknownName.

    asked: the texts given for each parameter. metaparameters: those of the release, and whether each is a number.
    """
    known = filters_of(listing)
    found: list[Condition] = []
    for name, texts in asked.items():
        if len(texts) > _MOST_VALUES:
            raise BadParameter(name, f"{name} is given {len(texts):,} times: give it at most {_MOST_VALUES:,} times")
        if name.startswith(METAPARAMETER):
            found.append(_of_metaparameter(name, texts, metaparameters))
        else:
            found.append(_of_column(known[name], texts))
    return tuple(found)


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
        return Attribute(wanted, tuple({text for given in texts for text in (given, json_text(given))}))
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
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise BadParameter(name, f"{name}={text}: give a finite number, for example 0.01 or 1e-3")
    return value


def _moment(name: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise BadParameter(name, f"{name}={text}: give a moment such as 2026-11-21T09:42:50Z") from None

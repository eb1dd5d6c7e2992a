"""The metrics that logged names mean, settled when a run starts and when a name is first logged, and their scale."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from losslake.record.layout import CALLS, ELAPSED, STEP, SYSTEM
from losslake.record.values import shown, shown_name
from losslake.record.words import bounds_of, proposed_metric, settled_metric, words

_MOST_WARNINGS = 20


class Renamed(NamedTuple):
    """An entry of `metrics=`. metric: None if it isn't recorded. scale: values are multiplied by it."""

    metric: str | None
    scale: float = 1.0

    def formula(self, name: str) -> str | None:
        """Return the calculation of the values in words, None if they stay as they are, as mappings state it."""
        return None if self.scale == 1 else f"{name} x {self.scale!r}"


class Column(NamedTuple):
    """The form in which a name is written. key: its metric as JSON with a colon, empty if it isn't recorded.

    largest: the largest value that is possible, infinity if none is known.
    """

    metric: str
    key: str
    scale: float
    largest: float

    def scaled(self, value: float) -> float:
        """Return a value times the scale, calculated with the decimal fractions that they are written as."""
        from decimal import Context, Decimal

        if not math.isfinite(value):
            return value * self.scale
        return float(Context(prec=100).multiply(Decimal(repr(value)), Decimal(repr(self.scale))))


def renamed(metrics: Mapping[str, Any] | None) -> dict[str, Renamed]:
    """Return what `metrics=` of `start` says. Raises ValueError with one line."""
    if not isinstance(metrics, Mapping | None):
        raise ValueError(f'metrics {shown(metrics)}: give {{"acc": "val/accuracy"}}, names with their metrics')
    stated = {name: _renamed(name, given) for name, given in (metrics or {}).items()}
    names: dict[str, str] = {}
    for name, each in stated.items():
        if each.metric is not None and names.setdefault(each.metric, name) != name:
            raise ValueError(f"metrics: {names[each.metric]!r} and {name!r} are both {each.metric}: rename one of them")
    return stated


def _renamed(name: Any, given: Any) -> Renamed:
    """Return what is said of a name. Raises ValueError."""
    metric, scale = given if isinstance(given, tuple | list) and len(given) == 2 else (given, 1.0)
    if not isinstance(name, str):
        raise ValueError(f"metrics: the name {shown(name)} isn't a text")
    if metric is None:
        return Renamed(None)
    split, _, quantity = metric.partition("/") if isinstance(metric, str) else ("", "", "")
    is_metric = split in words()["splits"] and quantity.strip() == quantity != "" and "/" not in quantity
    if not is_metric or not metric.isprintable() or len(metric) > 200:
        known = ", ".join(words()["splits"])
        raise ValueError(
            f'metrics: {name!r} is {shown(given)}: give split/quantity, such as "{proposed_metric(name)}" (splits are '
            f'{known}), or ("{proposed_metric(name)}", 0.01) for percent, or None to leave it out'
        )
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not math.isfinite(scale) or not scale:
        raise ValueError(f"metrics: the scale {shown(scale)} of {name!r} isn't a finite number other than 0")
    return Renamed(metric, float(scale))


class Columns:
    """The columns of a run by logged name. Warns of each name whose metric isn't settled, and of values in percent."""

    def __init__(self, stated: Mapping[str, Renamed], warn: Callable[[str], None]) -> None:
        self._stated = stated
        self._warn = warn
        self._names: dict[str, str] = {each.metric: name for name, each in stated.items() if each.metric is not None}
        self._n_warnings = 0

    def column(self, name: str) -> Column:
        """Return the column of a name that is logged for the first time."""
        stated = self._stated.get(name)
        if stated is not None and stated.metric is None:
            return Column("", "", 1.0, math.inf)
        metric = stated.metric if stated is not None else settled_metric(name)
        if metric is None or self._names.setdefault(metric, name) != name:
            self._note_unsettled(name, metric)
            # One that is already there never shares its curve, nor its key in a line.
            candidates = itertools.chain([name], _numbered(name))
            metric = next(each for each in candidates if self._names.setdefault(each, name) == name)
        bounds = bounds_of(metric)
        largest = math.inf if bounds is None or bounds.get("is_largest_best") else float(bounds["largest"])
        return Column(metric, f"{json.dumps(metric)}:", 1.0 if stated is None else stated.scale, largest * (1 + 1e-6))

    def note_too_large(self, name: str, column: Column, value: float, step: int) -> None:
        """Warn of a value that its metric can't have."""
        bounds = bounds_of(column.metric)
        assert bounds is not None
        limits = f"{column.metric} lies between {bounds['smallest']} and {bounds['largest']}"
        message = f"{shown_name(name)} gives {value:.6g} at step {step:,}, and {limits}"
        if bounds["unit"] == "fraction" and column.scale == 1:
            message += f': if it is in percent, start the run with metrics={{{name!r}: ("{column.metric}", 0.01)}}'
        self._note(f"{message}; it is recorded as it is, and the ingest will refuse the run")

    def _note_unsettled(self, name: str, metric: str | None) -> None:
        """Warn of a name that isn't that of a metric, or of one whose metric another name has."""
        if metric is not None:
            self._note(
                f"{shown_name(name)} and {self._names[metric]} would both be {metric}, so the former has a curve of "
                f"its own: start the run with metrics={{{name!r}: …}}, which says what it is, or None to leave it out"
            )
        elif name not in words()["others"]["names"] and not name.startswith(SYSTEM):
            self._note(
                f"{shown_name(name)} isn't the name of a metric: start the run with metrics={{{shown_name(name)!r}: "
                f'"{proposed_metric(name)}"}} if it is that, or None to leave it out; until then it keeps its name, '
                "and the ingest asks what it is"
            )

    def _note(self, message: str) -> None:
        self._n_warnings += 1
        if self._n_warnings == _MOST_WARNINGS:
            message += "; further names aren't warned of"
        if self._n_warnings <= _MOST_WARNINGS:
            self._warn(message)


def _numbered(name: str) -> Iterator[str]:
    """Yield a name with a number, from 2."""
    return (f"{name} ({number})" for number in itertools.count(2))


def is_usable(name: str) -> bool:
    """Return True if a measurement can have a name: it isn't empty, and not a word of the layout."""
    return name not in ("", STEP, ELAPSED, CALLS)

"""The schedule of the learning rate, from a logged column of learning rates.

Its facts are attributes of the trial, since runs of one setting may end at different points of their schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.contracts.run_log import Fields, RunLog
from losslake_ingest.mapping.evaluations import curve_of
from losslake_ingest.mapping.mapping import LogMapping, MetricLine
from losslake_ingest.mapping.template import Template
from losslake_ingest.mapping.toml import names_of
from losslake_schema.reached import Floats, Integers

PREFIX = "logged_"
_RATES = frozenset(names_of("learning_rates")["columns"])
_METRIC = "train/learning_rate"
_FEWEST = 4
# Rates that differ by less, as a share of the largest, are equal: some logs round them.
_EQUAL = 1e-6


class LoggedSchedule(NamedTuple):
    """The steps of a schedule; None for unknown. distance: between the logged rates around the start of decay."""

    warmup_end: int | None
    decay_start: int | None
    schedule_end: int | None
    distance: int


def logged_facts(
    log: RunLog, mapping: LogMapping, batch_size: int, fields: Fields, stated: Mapping[str, float]
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return attributes of the schedule that a run's learning rates follow, and remarks where `stated` differs."""
    schedule = _schedule_of_log(log, mapping, batch_size, fields)
    if schedule is None:
        return {}, {}
    known = schedule._asdict()
    facts = {f"{PREFIX}{name}": step for name, step in known.items() if name != "distance" and step is not None}
    return facts, dict.fromkeys(_contradictions(schedule, stated), 1)


def _schedule_of_log(log: RunLog, mapping: LogMapping, batch_size: int, fields: Fields) -> LoggedSchedule | None:
    """Return the schedule; None without one column of learning rates with known steps."""
    columns = {column for rows in log.rows for column in rows.columns if _is_rate(column)}
    if len(columns) != 1:
        return None
    metrics = {"*": MetricLine(Template("")), columns.pop(): MetricLine(Template(_METRIC), repeated="last")}
    try:
        curve = curve_of(log, replace(mapping, metrics=metrics), batch_size, fields).curve
    except Refusal:
        return None
    return schedule_of(curve.steps, curve.values[_METRIC])


def schedule_of(steps: Integers, rates: Floats) -> LoggedSchedule | None:
    """Return the schedule of learning rates at ascending steps; None if they don't rise, stay and fall once.

    Decay starts at the last step of the largest rate. The schedule ends at the first of the smallest, if the rate is 0
    or stays there; otherwise the log may end before it.
    """
    if len(steps) < _FEWEST or not (np.isfinite(rates).all() and (rates >= 0).all() and rates.max() > 0):
        return None
    tolerance = _EQUAL * rates.max()
    largest = np.flatnonzero(rates >= rates.max() - tolerance)
    first, last = int(largest[0]), int(largest[-1])
    changes = np.diff(rates)
    if (changes[:last] < -tolerance).any() or (changes[last:] > tolerance).any() or last == len(steps) - 1:
        return None
    lowest = np.flatnonzero(rates[last:] <= rates[-1] + tolerance) + last
    is_over = len(lowest) > 1 or rates[-1] == 0
    return LoggedSchedule(
        warmup_end=int(steps[first]) if first else None,
        decay_start=int(steps[last]),
        schedule_end=int(steps[lowest[0]]) if is_over else None,
        distance=int(steps[last + 1] - steps[last]),
    )


def _contradictions(schedule: LoggedSchedule, parameters: Mapping[str, float]) -> Iterator[str]:
    """Yield in words the steps that a mapping or log states, and that differ from those of the logged rates."""
    for name in ("decay_start", "schedule_end"):
        logged, stated = getattr(schedule, name), parameters.get(name)
        if logged is not None and stated is not None and abs(stated - logged) > schedule.distance:
            yield f"{name} is stated as {stated:.10g}, but logged learning rates say {logged}: the stated one counts"


def _is_rate(column: str) -> bool:
    name = column.lower().replace("-", "_").replace(" ", "_")
    return name in _RATES or name.rpartition("/")[2] in _RATES or name.rpartition(".")[2] in _RATES

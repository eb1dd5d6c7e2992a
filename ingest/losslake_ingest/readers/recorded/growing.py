"""The measurements of a run that is still being recorded, in memory, to which new lines are added."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from losslake.record.layout import CALLS, ELAPSED, STEP, SegmentName
from losslake.record.numbers import number
from losslake_ingest.contracts.study import LARGEST_EXACT_INTEGER
from losslake_ingest.readers.recorded.attempts import last_written, replaced_from
from losslake_schema.reached import Floats, Integers

_AXES = (STEP, ELAPSED, CALLS)


@dataclass
class _Series:
    """The values of a metric in a segment, in the order written. first_step, last_step: the lowest and highest one."""

    steps: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    first_step: float = math.inf
    last_step: int = -1

    def add(self, step: int, value: float) -> None:
        """Add a measurement."""
        self.steps.append(step)
        self.values.append(value)
        self.first_step = min(step, self.first_step)
        self.last_step = max(step, self.last_step)

    def last_before(self, step: float) -> int:
        """Return the highest step below one; there must be any."""
        if self.last_step < step:
            return self.last_step
        steps = np.frombuffer(self.steps, np.int64)
        return int(steps[steps < step].max())


class GrowingCurves:
    """The curves of a run, by metric.

    n_measurements: in memory. n_unread: lines that aren't as the recorder writes them.
    """

    def __init__(self) -> None:
        self._begins: dict[int, int | None] = {}
        self._series: dict[tuple[int, int], dict[str, _Series]] = {}
        self.n_measurements = 0
        self.n_unread = 0

    @property
    def n_series(self) -> int:
        """The number of pairs of a segment and a metric."""
        return sum(map(len, self._series.values()))

    def add(self, segment: SegmentName, lines: bytes) -> None:
        """Add lines of a segment. A last one without a newline is cut short."""
        self._begins[segment.attempt] = segment.from_step
        series = self._series.setdefault(segment[:2], {})
        for step, values in self._measurements(lines):
            for name, value in values:
                of_metric = series.get(name)
                if of_metric is None:
                    of_metric = series[name] = _Series()
                of_metric.add(step, value)
            self.n_measurements += len(values)

    def forget(self, segment: tuple[int, int]) -> None:
        """Remove the measurements of a segment. segment: its attempt and its number."""
        series = self._series.pop(segment, {})
        self.n_measurements -= sum(len(each.steps) for each in series.values())

    def last_steps(self) -> dict[str, int]:
        """Return the last step that counts of each metric that has any, in the order of their names."""
        last: dict[str, int] = {}
        for (attempt, _), series in self._series.items():
            until = replaced_from(self._begins, attempt)
            for name, each in series.items():
                if each.first_step < until:
                    last[name] = max(each.last_before(until), last.get(name, 0))
        return dict(sorted(last.items()))

    def curve(self, metric: str) -> tuple[Integers, Floats]:
        """Return the steps and values of a metric that count, by step: without what later attempts replaced.

        Of several values for a step, the last one written counts.
        """
        steps: list[Integers] = [np.zeros(0, np.int64)]
        values: list[Floats] = [np.zeros(0, np.float64)]
        for place in sorted(self._series):
            series = self._series[place].get(metric)
            if series is None:
                continue
            at, measured = np.array(series.steps, np.int64), np.array(series.values, np.float64)
            counts = at < replaced_from(self._begins, place[0])
            steps.append(at[counts])
            values.append(measured[counts])
        all_steps, all_values = np.concatenate(steps), np.concatenate(values)
        last = last_written(all_steps)
        return all_steps[last], all_values[last]

    def _measurements(self, lines: bytes) -> Iterator[tuple[int, list[tuple[str, float]]]]:
        """Yield the step and the values of each line."""
        for line in lines.split(b"\n")[:-1]:
            try:
                row = orjson.loads(line)
                step = _step(row[STEP])
                yield step, [(name, _value(cell)) for name, cell in row.items() if name not in _AXES]
            except (ValueError, KeyError, TypeError, AttributeError):
                self.n_unread += 1


def _step(value: Any) -> int:
    """Return a step; raise ValueError for anything else."""
    if type(value) is not int or not 0 <= value <= LARGEST_EXACT_INTEGER:
        raise ValueError(value)
    return value


def _value(cell: Any) -> float:
    """Return the value of a metric; raise ValueError for a cell that holds none."""
    value = number(cell)
    if value is None:
        raise ValueError(cell)
    return value

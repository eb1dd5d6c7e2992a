"""A run as far as the service holds it, read again and again while it grows."""

from __future__ import annotations

import math
import zlib
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np
import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from losslake.record.spool import ELAPSED, STEP
from losslake_contributions.client.spool import number
from losslake_contributions.intake.segment_files import read_segment
from losslake_contributions.intake.segments import lines_of
from losslake_contributions.protocol.contributions import Finish, RunFacts, RunStatus
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.limits import LARGEST_STEP
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contribution, HeldSegment, OpenSegment
from losslake_schema.errors import LakeBroken
from losslake_schema.reached import Floats, Integers

MOST_BYTES = 500_000_000
"""Bytes of the JSON lines of a run that is shown live."""
MOST_MEASUREMENTS = 8_000_000
"""Measurements of a run that is shown live: they take 128 MB of memory."""
MOST_SERIES = 50_000
"""Pairs of a segment and a metric of a run that is shown live: each takes up to a kilobyte besides."""
_Place = tuple[int, int]


@dataclass(frozen=True)
class RunState:
    """The state of a run. seen_at: its last sign of life; None if it wasn't sent live.

    status: None while it goes on. is_silent: it is INCOMPLETE because there was no sign of life any more.
    """

    facts: RunFacts
    status: RunStatus | None
    seen_at: datetime | None
    is_silent: bool

    @property
    def kind(self) -> Literal["open", "silent", "finished"]:
        """Return the state in a word."""
        return "open" if self.status is None else "silent" if self.is_silent else "finished"


@dataclass(frozen=True)
class _Held:
    """A segment as it is held: its bytes, and if it is whole its file."""

    n_bytes: int
    from_step: int | None
    file: tuple[str, str] | None


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


class RunReader:
    """The measurements of a run that are held, in memory. `refresh` reads what is new; not for several threads at once.

    n_measurements: in memory. n_unread: lines that aren't as the recorder writes them. version: another one after each
    change of measurements.
    """

    def __init__(self, database: Database, run: str) -> None:
        self._database = database
        self._run = run
        self._read: dict[_Place, int] = {}
        self._checksums: dict[_Place, int] = {}
        self._begins: dict[int, int | None] = {}
        self._series: dict[_Place, dict[str, _Series]] = {}
        self.n_measurements = 0
        self.n_unread = 0
        self.version = 0

    def refresh(self) -> RunState:
        """Read what came since the last call, and return the state.

        Raises ContributionError if the run is gone or too large to be shown, and LakeBroken.
        """
        state, held = self._database.read(self._held)
        self._check("bytes", sum(each.n_bytes for each in held.values()), MOST_BYTES)
        if any(place not in held or held[place].n_bytes < n_bytes for place, n_bytes in self._read.items()):
            # A crash of the training's machine took lines back that had been sent.
            self._forget()
        for place in sorted(held):
            if held[place].n_bytes > self._read.get(place, 0):
                self._begins[place[0]] = held[place].from_step
                self._add(place, self._lines(place, held[place]))
                self._check("measurements", self.n_measurements, MOST_MEASUREMENTS)
                n_series = sum(map(len, self._series.values()))
                self._check("metrics, times segments", n_series, MOST_SERIES)
        return state

    def _check(self, of: str, count: int, most: int) -> None:
        if count > most:
            raise ContributionError("too-large", f"{self._run} has more than {most:,} {of}: it isn't shown live")

    def last_steps(self) -> dict[str, int]:
        """Return the last step that counts of each metric that has any, in the order of their names."""
        found: dict[str, int] = {}
        for place, series in self._series.items():
            until = self._until(place)
            for name, each in series.items():
                if each.first_step < until:
                    found[name] = max(each.last_before(until), found.get(name, 0))
        return dict(sorted(found.items()))

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
            counts = at < self._until(place)
            steps.append(at[counts])
            values.append(measured[counts])
        all_steps, all_values = np.concatenate(steps), np.concatenate(values)
        # Of equal steps, the first one of the reversed rows is the last one written.
        known, first = np.unique(all_steps[::-1], return_index=True)
        return known, all_values[::-1][first]

    def _until(self, place: _Place) -> float:
        """Return the step from which on later attempts replace the measurements of a segment."""
        return min((step for at, step in self._begins.items() if at > place[0] and step is not None), default=math.inf)

    def _held(self, session: Session) -> tuple[RunState, Mapping[_Place, _Held]]:
        """Return the state of the run and what is held of its segments; of a whole and an open one, the longer."""
        row = session.get(Contribution, self._run)
        if row is None or row.is_erased:
            raise ContributionError("unknown-contribution", f"the run {self._run} is no longer here")
        end = Finish.model_validate_json(row.end) if row.end is not None else None
        facts = RunFacts.model_validate_json(row.facts)
        state = RunState(facts, end.status if end else None, row.seen_at, row.is_silent)
        held: dict[_Place, _Held] = {}
        for each in session.scalars(select(HeldSegment).where(HeldSegment.contribution == self._run)):
            held[each.attempt, each.n] = _Held(each.bytes, each.from_step, (each.path, each.sha256))
        for part in session.scalars(select(OpenSegment).where(OpenSegment.contribution == self._run)):
            place = part.attempt, part.n
            if place not in held or held[place].n_bytes < part.bytes:
                held[place] = _Held(part.bytes, part.from_step, None)
        return state, held

    def _lines(self, place: _Place, held: _Held) -> bytes:
        """Return the lines of a segment that weren't read yet; fewer if its pieces have just become a whole one."""
        start = self._read.get(place, 0)
        if held.file is None:
            return self._database.read(lambda session: lines_of(session, self._run, *place, start))
        try:
            data = read_segment(self._database.lake, *held.file)
        except LakeBroken:
            if self._database.read(self._held)[1].get(place) == held:
                raise
            return b""  # Another file has just taken its place.
        if start and zlib.crc32(data[:start]) != self._checksums[place]:
            # It isn't what was sent of it before, as names of metrics were private: it is read anew.
            self._forget_segment(place)
            return data
        return data[start:]

    def _add(self, place: _Place, lines: bytes) -> None:
        """Add lines of a segment. A last one without a newline is cut short."""
        self._read[place] = self._read.get(place, 0) + len(lines)
        self._checksums[place] = zlib.crc32(lines, self._checksums.get(place, 0))
        series = self._series.setdefault(place, {})
        for step, values in self._measurements(lines):
            for name, value in values:
                of_metric = series.get(name)
                if of_metric is None:
                    of_metric = series[name] = _Series()
                of_metric.add(step, value)
            self.n_measurements += len(values)
        self.version += 1

    def _measurements(self, lines: bytes) -> Iterator[tuple[int, list[tuple[str, float]]]]:
        """Yield the step and the values of each line."""
        for line in lines.split(b"\n")[:-1]:
            try:
                row = orjson.loads(line)
                step = _step(row[STEP])
                yield step, [(name, _value(value)) for name, value in row.items() if name not in (STEP, ELAPSED)]
            except (ValueError, KeyError, TypeError, AttributeError):
                self.n_unread += 1

    def _forget(self) -> None:
        self._begins, self.n_unread = {}, 0
        for place in [*self._read]:
            self._forget_segment(place)

    def _forget_segment(self, place: _Place) -> None:
        self.n_measurements -= sum(len(each.steps) for each in self._series.get(place, {}).values())
        for known in (self._read, self._checksums, self._series):
            known.pop(place, None)
        self.version += 1


def _step(value: Any) -> int:
    """Return a step; raise ValueError for anything else."""
    if type(value) is not int or not 0 <= value <= LARGEST_STEP:
        raise ValueError(value)
    return value


def _value(cell: Any) -> float:
    """Return the value of a metric; raise ValueError for a cell that holds none."""
    value = number(cell)
    if value is None:
        raise ValueError(cell)
    return value

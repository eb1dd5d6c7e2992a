"""A run as far as the service holds it, read again and again while it grows."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from losslake.record.layout import SegmentName
from losslake_contributions.intake.segment_files import read_segment
from losslake_contributions.intake.segments import lines_of
from losslake_contributions.protocol.contributions import Finish, RunFacts, RunStatus
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contribution, HeldSegment, OpenSegment
from losslake_ingest.readers.recorded.growing import GrowingCurves
from losslake_schema.errors import LakeBroken

MOST_BYTES = 500_000_000
"""Bytes of the JSON lines of a run that is shown live."""
MOST_MEASUREMENTS = 8_000_000
"""Measurements of a run that is shown live: they take 128 MB of memory."""
MOST_SERIES = 50_000
"""Pairs of a segment and a metric of a run that is shown live: each takes up to a kilobyte besides."""
_Place = tuple[int, int]  # attempt and number of a segment


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
class StoredSegment:
    """A segment as it is stored: its bytes, and if it is whole its file."""

    name: SegmentName
    n_bytes: int
    file: tuple[str, str] | None


class RunReader:
    """The curves of a run as far as it is stored. `refresh` reads what is new; not for several threads at once.

    version: another one after each change of measurements.
    """

    def __init__(self, database: Database, run: str) -> None:
        self._database = database
        self._run = run
        self._read: dict[_Place, int] = {}
        self._checksums: dict[_Place, int] = {}
        self.curves = GrowingCurves()
        self.version = 0

    def refresh(self) -> RunState:
        """Read what came since the last call, and return the state.

        Raises ContributionError if the run is gone or too large to be shown, and LakeBroken.
        """
        state, stored = self._database.read(self._stored)
        self._check("bytes", sum(each.n_bytes for each in stored.values()), MOST_BYTES)
        if any(place not in stored or stored[place].n_bytes < n_bytes for place, n_bytes in self._read.items()):
            # A crash of the training's machine took lines back that had been sent.
            self._forget()
        for place in sorted(stored):
            if stored[place].n_bytes > self._read.get(place, 0):
                self._add(place, stored[place].name, self._lines(place, stored[place]))
                self._check("measurements", self.curves.n_measurements, MOST_MEASUREMENTS)
                self._check("metrics, times segments", self.curves.n_series, MOST_SERIES)
        return state

    def _check(self, of: str, count: int, most: int) -> None:
        if count > most:
            raise ContributionError("too-large", f"{self._run} has more than {most:,} {of}: it isn't shown live")

    def _stored(self, session: Session) -> tuple[RunState, Mapping[_Place, StoredSegment]]:
        """Return the state of the run and its stored segments; of a whole and an open one, the longer."""
        row = session.get(Contribution, self._run)
        if row is None or row.is_erased:
            raise ContributionError("unknown-contribution", f"the run {self._run} is no longer here")
        end = Finish.model_validate_json(row.end) if row.end is not None else None
        facts = RunFacts.model_validate_json(row.facts)
        state = RunState(facts, end.status if end else None, row.seen_at, row.is_silent)
        stored: dict[_Place, StoredSegment] = {}
        for each in session.scalars(select(HeldSegment).where(HeldSegment.contribution == self._run)):
            name = SegmentName(each.attempt, each.n, each.from_step)
            stored[name[:2]] = StoredSegment(name, each.bytes, (each.path, each.sha256))
        for part in session.scalars(select(OpenSegment).where(OpenSegment.contribution == self._run)):
            name = SegmentName(part.attempt, part.n, part.from_step)
            if name[:2] not in stored or stored[name[:2]].n_bytes < part.bytes:
                stored[name[:2]] = StoredSegment(name, part.bytes, None)
        return state, stored

    def _lines(self, place: _Place, segment: StoredSegment) -> bytes:
        """Return the lines of a segment that weren't read yet; fewer if its pieces have just become a whole one."""
        start = self._read.get(place, 0)
        if segment.file is None:
            return self._database.read(lambda session: lines_of(session, self._run, *place, start))
        try:
            data = read_segment(self._database.lake, *segment.file)
        except LakeBroken:
            if self._database.read(self._stored)[1].get(place) == segment:
                raise
            return b""  # Another file has just taken its place.
        if start and zlib.crc32(data[:start]) != self._checksums[place]:
            # It isn't what was sent of it before, as names of metrics were private: it is read anew.
            self._forget_segment(place)
            return data
        return data[start:]

    def _add(self, place: _Place, name: SegmentName, lines: bytes) -> None:
        """Add lines of a segment."""
        self._read[place] = self._read.get(place, 0) + len(lines)
        self._checksums[place] = zlib.crc32(lines, self._checksums.get(place, 0))
        self.curves.add(name, lines)
        self.version += 1

    def _forget(self) -> None:
        self._read, self._checksums = {}, {}
        self.curves = GrowingCurves()
        self.version += 1

    def _forget_segment(self, place: _Place) -> None:
        del self._read[place], self._checksums[place]
        self.curves.forget(place)
        self.version += 1

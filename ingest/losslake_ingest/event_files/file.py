"""One event file of TensorBoard: its scalars, its HParams session, and what had to be left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from losslake_ingest.event_files.crc import Offsets, checksums, masked_all
from losslake_ingest.event_files.events import Event, Value, parse_event
from losslake_ingest.event_files.hparams import PLUGIN, Session
from losslake_ingest.event_files.layouts import take_alike
from losslake_ingest.event_files.records import HEADER, Break, Data, Records, records
from losslake_ingest.event_files.wire import NotAMessage
from losslake_schema.reached import Floats

SCALARS = b"scalars"
LARGEST_TAGS = 20_000
CUT_SHORT = "the last record of a file is cut short: it was left out"
DAMAGED = "records behind damage were not read"
NO_EVENT = "a record is no event: it was left out"
NO_SCALAR = "a value is no scalar (a text, an image, a histogram): it was left out"
NOT_A_PARAMETER = "a hyperparameter is neither a number, a text nor a flag: it was left out"


@dataclass(frozen=True)
class Points:
    """Values of a tag. places: where in the file each lies."""

    places: Offsets
    wall_times: Floats
    steps: Offsets
    values: Floats

    def only(self, order: Offsets | slice) -> Points:
        """Some of the points, in this order."""
        return Points(self.places[order], self.wall_times[order], self.steps[order], self.values[order])


@dataclass
class EventFile:
    """What an event file holds.

    scalars: by tag, in the order written. bare: tensors of one number that don't say themselves what plugin they are
    for; plugins: what the first of a tag that does says. damage_at: the first byte that can't be read.
    """

    scalars: dict[bytes, list[Points]] = field(default_factory=dict)
    bare: dict[bytes, list[Points]] = field(default_factory=dict)
    plugins: dict[bytes, bytes] = field(default_factory=dict)
    session: Session = field(default_factory=Session)
    first_wall_time: float | None = None
    damage_at: int | None = None
    has_too_many_tags: bool = False
    remarks: Counter[str] = field(default_factory=Counter)


def read_event_file(data: bytes) -> EventFile:
    """Read an event file as far as its checksums hold."""
    file = EventFile()
    views = Data(data)
    reader = _Reader(views, file)
    for portion in records(views):
        if isinstance(portion, Break):
            file.remarks[CUT_SHORT if portion.is_cut else DAMAGED] += 1
            file.damage_at = portion.at
        elif not reader.take(portion):
            break
    return file


@dataclass
class _Slow:
    """Values that were parsed one by one."""

    places: list[int] = field(default_factory=list)
    wall_times: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def points(self) -> Points:
        return Points(
            np.array(self.places, np.int64),
            np.array(self.wall_times, np.float64),
            np.array(self.steps, np.int64),
            np.array(self.values, np.float64),
        )


class _Reader:
    def __init__(self, data: Data, file: EventFile) -> None:
        self._data = data
        self._file = file
        self._plugin_at: dict[bytes, int] = {}

    def take(self, portion: Records) -> bool:
        """Take in some records; False when the file can't be read on behind them."""
        starts, ends = portion.starts, portion.ends
        found, left, wrong = take_alike(self._data, starts, ends)
        left_checksums = masked_all(checksums(self._data.bytes, starts[left], ends[left]))
        stored = self._data.numbers("<u4")[ends[left]]
        bad = np.concatenate([wrong, left[left_checksums != stored]])
        good_rows = int(bad.min()) if len(bad) else len(starts)
        if self._file.first_wall_time is None and good_rows:
            self._file.first_wall_time = self._wall_time(int(starts[0]), int(ends[0]))
        for numbers in found:
            count = int(np.searchsorted(numbers.rows, good_rows))
            if count:
                points = Points(numbers.places, numbers.wall_times, numbers.steps, numbers.values)
                self._add(numbers.value, int(numbers.places[0]), points.only(slice(count)))
        self._parse(starts, ends, left[: int(np.searchsorted(left, good_rows))])
        file = self._file
        file.has_too_many_tags = len(file.scalars) + len(file.bare) > LARGEST_TAGS
        if good_rows < len(starts):
            file.remarks[DAMAGED] += 1
            file.damage_at = int(starts[good_rows]) - HEADER
        return good_rows == len(starts) and not file.has_too_many_tags

    def _wall_time(self, start: int, end: int) -> float | None:
        try:
            return parse_event(self._data.raw, start, end).wall_time
        except NotAMessage:
            return None

    def _parse(self, starts: Offsets, ends: Offsets, rows: Offsets) -> None:
        """Read records one by one."""
        slow: dict[tuple[bytes, bytes | None, bool], _Slow] = {}
        for start, end in zip(starts[rows].tolist(), ends[rows].tolist(), strict=True):
            try:
                event = parse_event(self._data.raw, start, end)
            except NotAMessage:
                self._file.remarks[NO_EVENT] += 1
                continue
            for place, value in enumerate(event.values, start):
                self._sort_in(value, event, place, slow)
        for (tag, plugin, is_tensor), points in slow.items():
            self._add(Value(tag, is_tensor=is_tensor, plugin=plugin), points.places[0], points.points())

    def _sort_in(
        self, value: Value, event: Event, place: int, slow: dict[tuple[bytes, bytes | None, bool], _Slow]
    ) -> None:
        if value.plugin == PLUGIN:
            self._add_session(value)
        elif value.number is None:
            self._note_plugin(value, place)
            self._file.remarks[NO_SCALAR] += 1
        else:
            points = slow.setdefault((value.tag, value.plugin, value.is_tensor), _Slow())
            points.places.append(place)
            points.wall_times.append(event.wall_time)
            points.steps.append(event.step)
            points.values.append(value.number)

    def _add_session(self, value: Value) -> None:
        try:
            self._file.session.read(value.content)
        except NotAMessage:
            self._file.remarks[NO_EVENT] += 1

    def _note_plugin(self, value: Value, place: int) -> None:
        if value.plugin is not None and place < self._plugin_at.get(value.tag, place + 1):
            self._plugin_at[value.tag] = place
            self._file.plugins[value.tag] = value.plugin

    def _add(self, value: Value, place: int, points: Points) -> None:
        """Take in points of a tag, or count them where they are no scalars."""
        self._note_plugin(value, place)
        if not value.is_tensor or value.plugin == SCALARS:
            self._file.scalars.setdefault(value.tag, []).append(points)
        elif value.plugin is None:
            self._file.bare.setdefault(value.tag, []).append(points)
        else:
            self._file.remarks[NO_SCALAR] += len(points.places)


def in_order(parts: Sequence[Points]) -> Points:
    """Points of one file together, in the order written."""
    whole = joined(parts)
    if np.all(whole.places[1:] >= whole.places[:-1]):
        return whole
    return whole.only(np.argsort(whole.places, kind="stable"))


def joined(parts: Sequence[Points]) -> Points:
    """Points together, in the order given."""
    if len(parts) == 1:
        return parts[0]
    return Points(
        np.concatenate([part.places for part in parts]),
        np.concatenate([part.wall_times for part in parts]),
        np.concatenate([part.steps for part in parts]),
        np.concatenate([part.values for part in parts]),
    )

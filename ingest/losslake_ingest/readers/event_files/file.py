"""Reader of one event file: its scalars, its HParams session, and remarks on what was dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from losslake_ingest.contracts.run_log import Damage
from losslake_ingest.readers.event_files.events import HPARAMS, Session, Value, parse_event
from losslake_ingest.readers.event_files.layouts import POINT, Points, read_alike
from losslake_ingest.readers.event_files.records import HEADER, Break, Data, Offsets, Records, checksums, records
from losslake_ingest.readers.protobuf import NotAMessage

SCALARS = b"scalars"
LARGEST_TAGS = 20_000
_LONGEST_TAG = 1000
LONG_TAG = f"a value with a tag of more than {_LONGEST_TAG:,} bytes: left out"
CUT_SHORT = Damage("the last record of a file is cut short: left out")
DAMAGED = Damage("records after damage were not read")
NO_EVENT = Damage("a record isn't an event: left out")
NO_SCALAR = "a value isn't a scalar (a text, an image, a histogram): left out"
NO_PARAMETER = "a hyperparameter is neither a number, a text nor a flag: left out"


@dataclass
class EventFile:
    """The content of an event file.

    scalars: by tag, in the order written. bare: tensors of one number without a plugin. plugins: the plugin of each
    tag, from its first value with one. damage_at: the offset of the first unreadable byte.
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
    """Read an event file up to the first wrong checksum."""
    file = EventFile()
    views = Data(data)
    reader = _Reader(views, file)
    for portion in records(views):
        if isinstance(portion, Break):
            file.remarks[CUT_SHORT if portion.is_cut else DAMAGED] += 1
            file.damage_at = portion.at
        elif not reader.read(portion):
            break
    return file


class _Reader:
    """Adds the records of a file to an EventFile."""

    def __init__(self, data: Data, file: EventFile) -> None:
        self._data = data
        self._file = file
        self._plugin_at: dict[bytes, int] = {}

    def read(self, portion: Records) -> bool:
        """Read some records; return False if the rest of the file can't be read."""
        file, starts, ends = self._file, portion.starts, portion.ends
        alike, other_rows, wrong = read_alike(self._data, starts, ends)
        stored = self._data.numbers("<u4")[ends[other_rows]]
        is_wrong = checksums(self._data.raw, starts[other_rows], ends[other_rows]) != stored
        bad = np.concatenate([wrong, other_rows[is_wrong]])
        good_rows = int(bad.min()) if len(bad) else len(starts)
        if file.first_wall_time is None and good_rows:
            file.first_wall_time = self._wall_time(int(starts[0]), int(ends[0]))
        for value, rows, points in alike:
            self._add(value, points[: int(np.searchsorted(rows, good_rows))])
        self._parse(starts, ends, other_rows[: int(np.searchsorted(other_rows, good_rows))])
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
        """Parse records one by one."""
        scalars: dict[tuple[bytes, bytes | None, bool], list[tuple[int, float, int, float]]] = {}
        for start, end in zip(starts[rows].tolist(), ends[rows].tolist(), strict=True):
            try:
                event = parse_event(self._data.raw, start, end)
            except NotAMessage:
                self._file.remarks[NO_EVENT] += 1
                continue
            for place, value in enumerate(event.values, start):
                if len(value.tag) > _LONGEST_TAG:
                    self._file.remarks[LONG_TAG] += 1
                elif value.number is not None and value.plugin != HPARAMS:
                    points = scalars.setdefault((value.tag, value.plugin, value.is_tensor), [])
                    points.append((place, event.wall_time, event.step, value.number))
                else:
                    self._add_other(value, place)
        for (tag, plugin, is_tensor), points in scalars.items():
            self._add(Value(tag, is_tensor=is_tensor, plugin=plugin), np.array(points, POINT))

    def _add_other(self, value: Value, place: int) -> None:
        """Add a session of the HParams plugin; count values that aren't scalars."""
        if value.plugin != HPARAMS:
            self._note_plugin(value, place)
            self._file.remarks[NO_SCALAR] += 1
            return
        try:
            self._file.session.read(value.content)
        except NotAMessage:
            self._file.remarks[NO_EVENT] += 1

    def _note_plugin(self, value: Value, place: int) -> None:
        if value.plugin is not None and place < self._plugin_at.get(value.tag, place + 1):
            self._plugin_at[value.tag] = place
            self._file.plugins[value.tag] = value.plugin

    def _add(self, value: Value, points: Points) -> None:
        """Add points of a tag, or count them if they aren't scalars."""
        if not len(points):
            return
        self._note_plugin(value, int(points["place"][0]))
        if not value.is_tensor or value.plugin == SCALARS:
            self._file.scalars.setdefault(value.tag, []).append(points)
        elif value.plugin is None:
            self._file.bare.setdefault(value.tag, []).append(points)
        else:
            self._file.remarks[NO_SCALAR] += len(points)


def in_order(parts: Sequence[Points]) -> Points:
    """Concatenate points of one file in the order written."""
    points = parts[0] if len(parts) == 1 else np.concatenate(parts)
    places = points["place"]
    return points if np.all(places[1:] >= places[:-1]) else points[np.argsort(places, kind="stable")]

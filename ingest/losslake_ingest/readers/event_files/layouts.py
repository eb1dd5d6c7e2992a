"""Vectorized reading of scalar events: events that differ only in wall time, step and values.

A writer gives every event of a tag the same bytes, except for wall time, step and value. One of them is parsed field by
field; the others are compared with it, eight bytes at a time, and their numbers are read from the same positions. All
other events are left to the careful parser, so that a wrong guess costs only time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple, TypeGuard

import google_crc32c
import numpy as np
import numpy.typing as npt

from losslake_ingest.readers.event_files.events import Event, Value, parse_event
from losslake_ingest.readers.event_files.records import Data, Offsets, Words, Words32, masked
from losslake_ingest.readers.protobuf import NotAMessage
from losslake_schema.reached import Flags

# A value of a tag. place: its offset in the file.
POINT = np.dtype([("place", "<i8"), ("wall_time", "<f8"), ("step", "<i8"), ("value", "<f8")])
Points = npt.NDArray[np.void]

_WALL_TIME_KEY, _STEP_KEY, _SUMMARY_KEY, _VALUE_KEY, _TAG_KEY = 0x09, 0x10, 0x2A, 0x0A, 0x0A
_SHORTEST, _LONGEST = 20, 4096
_LARGEST_TEMPLATES = 1 << 22
_ROUNDS = 3
_TOP_BITS = np.uint64(0x8080_8080_8080_8080)
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)


class Alike(NamedTuple):
    """Values of one tag in the order written, and their rows in the portion. value: the first of them."""

    value: Value
    rows: Offsets
    points: Points


class _Rows(NamedTuple):
    """Events that may be alike: row in the portion, start, end, and step.

    rest: the offset of the summary, after wall time and step. head: the offset one byte after its first tag. step_bits:
    the bytes of the step's varint.
    """

    row: Offsets
    start: Offsets
    end: Offsets
    rest: Offsets
    head: Offsets
    step: Offsets
    step_bits: Words
    has_step: Flags

    def only(self, which: npt.NDArray[np.generic]) -> _Rows:
        """Return some of the rows."""
        return _Rows(*(column[which] for column in self))


class _Layouts:
    """The expected summaries of groups of events: templates and masks by group, word by word from the end."""

    def __init__(self, data: Data, firsts: _Rows, width: int) -> None:
        """Take the first rows of groups; an event without a layout matches nothing."""
        self.events: list[Event | None] = []
        templates, masks = [], []
        for start, rest, end in zip(firsts.start.tolist(), firsts.rest.tolist(), firsts.end.tolist(), strict=True):
            event = _parse_with_layout(data.raw, start, end)
            self.events.append(event)
            mask = bytearray(b"\xff" * (end - rest))
            for value in event.values if event is not None else ():
                size = np.dtype(value.code).itemsize
                mask[value.at - rest : value.at - rest + size] = bytes(size)
            templates.append(data.raw[rest:end].rjust(width, b"\0"))
            masks.append(mask.rjust(width, b"\0"))
        mask_bytes = np.frombuffer(b"".join(masks), np.uint8)
        fixed = np.frombuffer(b"".join(templates), np.uint8) & mask_bytes
        zeros = google_crc32c.value(bytes(width))
        crcs = [google_crc32c.value(line.tobytes()) ^ zeros for line in fixed.reshape(-1, width)]
        self.checksums: Words32 = np.array(crcs, np.uint32)
        self.templates: Words = fixed.view("<u8").reshape(-1, width // 8)[:, ::-1]
        self.masks: Words = mask_bytes.view("<u8").reshape(-1, width // 8)[:, ::-1]
        self.n_words: Offsets = -(-(firsts.end - firsts.rest) // 8)


def read_alike(data: Data, starts: Offsets, ends: Offsets) -> tuple[list[Alike], Offsets, Offsets]:
    """Return the values of events that are alike, the rows left to the careful parser, and rows with a wrong checksum.

    Only values before the first wrong checksum are certain.
    """
    rows = _candidates(data, starts, ends)
    is_unread = np.ones(len(starts), np.bool_)
    alike: list[Alike] = []
    wrong = [np.empty(0, np.int64)]
    for attempt in range(_ROUNDS):
        if not len(rows.row):
            break
        is_read = _round(data, rows, np.uint64(16 * attempt), alike, wrong)
        is_unread[rows.row[is_read]] = False
        rows = rows.only(~is_read)
    return alike, np.flatnonzero(is_unread), np.concatenate(wrong)


def _candidates(data: Data, starts: Offsets, ends: Offsets) -> _Rows:
    """Return the events that seem to begin with wall time, step and a summary."""
    lengths = ends - starts
    row = np.flatnonzero((lengths >= _SHORTEST) & (lengths <= _LONGEST))
    row = row[data.bytes[starts[row]] == _WALL_TIME_KEY]
    start, end = starts[row], ends[row]
    has_step = data.bytes[start + 9] == _STEP_KEY
    raw = data.words[start + 10]
    stops = ~raw & _TOP_BITS
    last = stops & (~stops + np.uint64(1))
    size = (np.bitwise_count(last - np.uint64(1)).astype(np.int64) + 1) >> 3
    bits = np.where(has_step, raw & ((last << np.uint64(1)) - np.uint64(1)), np.uint64(0))
    rest = start + np.where(has_step, 10 + size, 9)
    step = _decode_varints(bits).astype(np.int64)
    possible = ~has_step | (stops != 0)
    possible &= rest + 10 <= end
    head = np.zeros_like(rest)
    near = np.flatnonzero(possible)
    head[near], fits = _end_of_first_tag(data, rest[near])
    possible[near] = fits & (head[near] <= end[near])
    return _Rows(row, start, end, rest, head, step, bits, has_step).only(possible)


def _decode_varints(varint: Words) -> Words:
    """Decode varints of up to eight bytes: join the lower seven bits of each byte."""
    mask, shift = np.uint64, np.uint64
    bits = varint & ~_TOP_BITS
    bits = (bits & mask(0x007F_007F_007F_007F)) | ((bits & mask(0x7F00_7F00_7F00_7F00)) >> shift(1))
    bits = (bits & mask(0x0000_3FFF_0000_3FFF)) | ((bits & mask(0x3FFF_0000_3FFF_0000)) >> shift(2))
    return (bits & mask(0x0FFF_FFFF)) | ((bits & mask(0x0FFF_FFFF_0000_0000)) >> shift(4))


def _end_of_first_tag(data: Data, rest: Offsets) -> tuple[Offsets, Flags]:
    """Return the offsets one byte after the first value's tag, and flags of rows that begin with such a tag."""
    at = rest
    fits = np.ones(len(rest), np.bool_)
    for key in (_SUMMARY_KEY, _VALUE_KEY):
        fits &= data.bytes[at] == key
        at = at + 2 + (data.bytes[at + 1] >= 0x80)
    fits &= data.bytes[at] == _TAG_KEY
    size = data.bytes[at + 1].astype(np.int64)
    fits &= size < 0x80
    return at + size + 3, fits


def _round(data: Data, rows: _Rows, bits: np.uint64, alike: list[Alike], wrong: list[Offsets]) -> Flags:
    """Group the rows by their first bytes, and read those that match the first row of their group.

    Returns flags of the rows read; appends their values to `alike`, and rows with a wrong checksum to `wrong`.
    """
    key = ((_hash(data, rows) >> bits) & np.uint64(0xFFFF)).astype(np.uint16)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    firsts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    group = np.repeat(np.arange(len(firsts)), np.diff(np.append(firsts, len(order))))
    width = -(-int((rows.end - rows.rest).max()) // 8) * 8
    most = max(16, _LARGEST_TEMPLATES // width)
    if len(firsts) > most:
        order, group, firsts = order[: firsts[most]], group[: firsts[most]], firsts[:most]
    layouts = _Layouts(data, rows.only(order[firsts]), width)
    fits = _fits(data, rows.end[order], group, layouts)
    is_read = np.zeros(len(rows.row), np.bool_)
    is_read[order[fits]] = True
    if fits.any():
        matched = _Matched(data, rows.only(order[fits]), group[fits], layouts)
        alike += matched.alike()
        wrong.append(matched.rows.row[masked(matched.checksums) != data.numbers("<u4")[matched.rows.end]])
    return is_read


def _hash(data: Data, rows: _Rows) -> Words:
    """Return a hash of each summary's length and beginning, up to its first tag."""
    mixed = (rows.end - rows.rest).astype(np.uint64)
    for at in range(0, int((rows.head - rows.rest).max()), 8):
        mixed = (mixed ^ data.words[np.minimum(rows.rest + at, rows.head - 8)]) * _MIX
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _parse_with_layout(data: bytes, start: int, end: int) -> Event | None:
    """Parse an event; return None unless all of its values are numbers at fixed offsets."""
    try:
        event = parse_event(data, start, end)
    except NotAMessage:
        return None
    return event if event.is_plain and event.values and all(value.code for value in event.values) else None


def _fits(data: Data, ends: Offsets, group: Offsets, layouts: _Layouts) -> Flags:
    """Return flags of the rows that equal their group's template wherever its mask is set."""
    fits = np.array([event is not None for event in layouts.events])[group]
    n_words = layouts.n_words[group]
    active = np.arange(len(group))
    for word in range(layouts.templates.shape[1]):
        active = active[n_words[active] > word]
        groups = group[active]
        fixed = data.words[ends[active] - 8 * (word + 1)] & layouts.masks[groups, word]
        fits[active] &= fixed == layouts.templates[groups, word]
    return fits


class _Matched:
    """Rows that match their group's layout, in order of groups. checksums: of each row, once its values are read.

    A CRC is linear over GF(2): the CRC of a record is the XOR of each byte's contribution, which depends on the byte
    and its distance from the record's end, and of the CRC of as many zeros.
    """

    def __init__(self, data: Data, rows: _Rows, group: Offsets, layouts: _Layouts) -> None:
        """Take the rows, with the checksums that they would have if all values were zero."""
        self._data, self.rows, self._group, self._events = data, rows, group, layouts.events
        length = rows.end - rows.start
        longest = int(length.max())
        self._table, zeros = _contributions(next(size for size in (128, 512, 1024, _LONGEST) if longest <= size))
        last = (length - 1) * 256
        sums = zeros[length] ^ layouts.checksums[group]
        sums ^= self._table.take(last + _WALL_TIME_KEY)
        sums ^= np.where(rows.has_step, self._table.take(last - 9 * 256 + _STEP_KEY), np.uint32(0))
        sums ^= _contribution(self._table, data.words[rows.start + 1], last - 256, 8)
        size = int((rows.rest - rows.start).max()) - 10
        sums ^= _contribution(self._table, rows.step_bits, last - 10 * 256, size)
        self.checksums: Words32 = sums

    def alike(self) -> Iterator[Alike]:
        """Yield the values of the rows, tag by tag."""
        events = [event for event in self._events if event is not None]
        for value_at in range(max(len(event.values) for event in events)):
            for code in sorted({event.values[value_at].code for event in events if _has(event, value_at)}):
                yield from self._values(value_at, code)

    def _values(self, value_at: int, code: str) -> Iterator[Alike]:
        """Yield the n-th values with this struct code, and add their part to the checksums."""
        data, rows, events = self._data, self.rows, self._events
        offsets = np.full(len(events), -1)
        for number, event in enumerate(events):
            if _has(event, value_at) and event.values[value_at].code == code:
                offsets[number] = event.values[value_at].at - event.rest
        offset = offsets[self._group]
        members = np.flatnonzero(offset >= 0)
        places = rows.rest[members] + offset[members]
        numbers = data.numbers(code)[places]
        size = numbers.dtype.itemsize
        bits = numbers.view(f"<u{size}").astype(np.uint64)
        self.checksums[members] ^= _contribution(self._table, bits, (rows.end[members] - places - 1) * 256, size)
        points = np.empty(len(members), POINT)
        points["place"], points["step"] = places, rows.step[members]
        points["wall_time"] = data.words[rows.start[members] + 1].view("<f8")
        with np.errstate(invalid="ignore"):  # of a signalling NaN
            points["value"] = numbers
        row, group = rows.row[members], self._group[members]
        edges = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1], [True])))
        for begin, stop in pairwise(edges.tolist()):
            event = events[group[begin]] if stop else None
            if _has(event, value_at):
                yield Alike(event.values[value_at], row[begin:stop], points[begin:stop])


def _has(event: Event | None, value_at: int) -> TypeGuard[Event]:
    return event is not None and len(event.values) > value_at


@cache
def _contributions(longest: int) -> tuple[Words32, Words32]:
    """Return the CRC contribution of byte b followed by d bytes, at d * 256 + b; and the CRCs of 0, 1, … zeros."""
    zeros = np.array([google_crc32c.value(bytes(size)) for size in range(longest + 1)], np.uint32)
    table = np.zeros((longest, 256), np.uint32)
    for bit in range(8):
        one = [google_crc32c.value(bytes([1 << bit]).ljust(size, b"\0")) for size in range(1, longest + 1)]
        table[:, 1 << bit : 2 << bit] = table[:, : 1 << bit] ^ (np.array(one, np.uint32) ^ zeros[1:])[:, None]
    return table.reshape(-1), zeros


def _contribution(table: Words32, words: Words, distance: Offsets, size: int) -> Words32:
    """Return the CRC contributions of the lowest `size` bytes of words. distance: 256 x that of the first byte."""
    total = np.zeros(len(words), np.uint32)
    for at in range(min(size, 8)):
        byte = (words >> np.uint64(8 * at)) & np.uint64(0xFF)
        total ^= table.take(distance - 256 * at + byte.astype(np.int64))
    return total

"""Reader of TFRecord framing: length (u64), its masked CRC-32C, data, their masked CRC-32C; little-endian.

Spec: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details.
Mask: tensorflow/core/lib/hash/crc32c.h.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import google_crc32c
import numpy as np
import numpy.typing as npt

Words32 = npt.NDArray[np.uint32]
Words = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]

HEADER, FOOTER = 12, 4
_BYTES_AT_ONCE = 1 << 22
_BYTES_BETWEEN_GUESSES = 1 << 16
_HISTORY = 4096
_PATTERN = 64

_Checksum = TypeVar("_Checksum", int, Words32)


class Records(NamedTuple):
    """Consecutive records of a file, by the bounds of their data. The data's checksums are not verified yet."""

    starts: Offsets
    ends: Offsets


class Break(NamedTuple):
    """The offset at which the records can't be followed further. is_cut: only the last record is unfinished."""

    at: int
    is_cut: bool


class Data:
    """A file's bytes, and views that read numbers at any offset."""

    def __init__(self, data: bytes) -> None:
        self.raw = data
        self.bytes = np.frombuffer(data, np.uint8)
        self.words: Words = self.numbers("<u8")

    def numbers(self, code: str) -> npt.NDArray[Any]:
        """Return a view of the numbers of a type that begin at each byte."""
        dtype = np.dtype(code)
        count = max(0, len(self.raw) - dtype.itemsize + 1)
        return np.ndarray((count,), dtype, self.raw if count else bytes(8), strides=(1,))


def records(data: Data) -> Iterator[Records | Break]:
    """Yield the records of a file in portions, and finally the break, if there is one."""
    walk = _Walk(data)
    while walk.at < walk.end and walk.fault is None:
        edges = walk.portion()
        if len(edges) > 1:
            yield Records(edges[:-1] + HEADER, edges[1:] - FOOTER)
    if walk.fault is not None:
        yield walk.fault


def length_at(data: bytes, at: int) -> int | None:
    """Return the length of the record at this offset; None if the header's checksum is wrong."""
    length: int
    length, checksum = struct.unpack_from("<QI", data, at)
    return length if masked(google_crc32c.value(data[at : at + 8])) == checksum else None


def checksums(data: bytes, starts: Offsets, ends: Offsets) -> Words32:
    """Return the masked checksum of each record data[start:end]."""
    places = zip(starts.tolist(), ends.tolist(), strict=True)
    return masked(np.array([google_crc32c.value(data[start:end]) for start, end in places], np.uint32))


def masked(checksum: _Checksum) -> _Checksum:
    """Mask checksums, as they are stored."""
    rotated: Any = (checksum >> 15) | (checksum << 17)
    stored: _Checksum = (rotated + 0xA282EAD8) & 0xFFFF_FFFF
    return stored


class _Walk:
    """An iterator from record to record. Equal headers have equal lengths, so each header is verified only once.

    Training loops log the same tags repeatedly, so the lengths of records repeat as well. The next records are
    predicted from the previous cycle and verified many at a time.
    """

    def __init__(self, data: Data) -> None:
        self._data = data
        self._sizes: dict[bytes, int] = {}
        self._checks = data.numbers("<u4")
        self.at = 0
        self.end = len(data.raw)
        self.fault: Break | None = None

    def portion(self) -> Offsets:
        """Return the offsets of the next records, and the end of the last one."""
        places = array("q", [self.at])
        stop = min(self.end, self.at + _BYTES_AT_ONCE)
        while self.at < stop and self.fault is None:
            self._step(places, min(stop, self.at + _BYTES_BETWEEN_GUESSES))
            if self.at < stop and self.fault is None and len(places) > _PATTERN:
                self._predict(places, stop)
        if self.at > self.end:
            places.pop()
            self.fault = Break(places[-1], is_cut=True)
        return np.frombuffer(places, np.int64)

    def _step(self, places: array[int], stop: int) -> None:
        """Advance record by record."""
        at, sizes, raw, append = self.at, self._sizes, self._data.raw, places.append
        while at < stop and self.fault is None:
            try:
                while at < stop:
                    at += sizes[raw[at : at + HEADER]]
                    append(at)
            except KeyError:
                self._learn(at)
        self.at = at

    def _predict(self, places: array[int], stop: int) -> None:
        """Advance while the records' lengths repeat those of the previous cycle."""
        edges = np.frombuffer(places[-_HISTORY:], np.int64)
        sizes = np.diff(edges).astype("<u4")
        history = sizes.tobytes()
        seen = history.rfind(history[-4 * _PATTERN :], 0, len(history) - 4)
        if seen < 0 or seen % 4:
            return
        period = (len(history) - seen) // 4 - _PATTERN
        of_period = edges[-1 - period : -1]
        repeats = max(1, _HISTORY // period)
        cycle, cycle_sizes = np.tile(of_period, repeats), np.tile(sizes[-period:], repeats)
        n_same = len(cycle)
        while n_same == len(cycle) and self.at < stop:
            after = self.at + np.cumsum(cycle_sizes, dtype=np.int64)
            before = np.concatenate(([self.at], after[:-1]))
            before = before[: int(np.searchsorted(before, min(stop, self.end - HEADER + 1)))]
            expected = cycle[: len(before)]
            same = self._data.words[before] == self._data.words[expected]
            same &= self._checks[before + 8] == self._checks[expected + 8]
            n_same = len(same) if same.all() else int(same.argmin())
            if n_same:
                places.frombytes(after[:n_same].tobytes())
                self.at = places[-1]

    def _learn(self, at: int) -> None:
        """Verify the header at this offset and remember its length."""
        raw = self._data.raw
        if at + HEADER > self.end:
            self.fault = Break(at, is_cut=True)
            return
        length = length_at(raw, at)
        if length is None or length > self.end:
            self.fault = Break(at, is_cut=length is not None)
            return
        self._sizes[raw[at : at + HEADER]] = HEADER + length + FOOTER

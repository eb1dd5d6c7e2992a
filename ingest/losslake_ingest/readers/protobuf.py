"""Protocol buffer wire format: iterate over the fields of a message, bounds-checked, without a schema.

Source: https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_SIZES = {FIXED64: 8, FIXED32: 4}

# A field of a message: number, wire type, and the start and end of its bytes (without key and length).
Field = tuple[int, int, int, int]


class NotAMessage(Exception):
    """The bytes aren't a protocol buffer message."""


def fields(data: bytes, at: int, stop: int) -> Iterator[Field]:
    """Yield the fields of the message in data[at:stop]. Raises NotAMessage."""
    while at < stop:
        key = data[at]
        at += 1
        if key >= 0x80:
            key, at = varint(data, at - 1, stop)
        number, kind = key >> 3, key & 7
        if not 0 < number < 1 << 29:
            raise NotAMessage
        start = at
        if kind == BYTES:
            size, start = varint(data, at, stop)
            at = start + size
        elif kind == VARINT:
            at = varint(data, at, stop)[1]
        elif kind in _SIZES:
            at += _SIZES[kind]
        else:
            raise NotAMessage
        if at > stop:
            raise NotAMessage
        yield number, kind, start, at


def values(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message as (number, value): integers for varints, else bytes. Raises NotAMessage."""
    for number, kind, start, stop in fields(message, 0, len(message)):
        yield number, varint(message, start, stop)[0] if kind == VARINT else message[start:stop]


def places(data: bytes, at: int, stop: int, number: int, kind: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the fields of data[at:stop] with this number and wire type. Raises NotAMessage."""
    return (field[2:] for field in fields(data, at, stop) if field[:2] == (number, kind))


def varint(data: bytes, at: int, stop: int) -> tuple[int, int]:
    """Return the unsigned 64-bit varint at `at`, and where it ends. Raises NotAMessage if it is cut."""
    if at < stop and data[at] < 0x80:
        return data[at], at + 1
    value = 0
    for place, byte in enumerate(data[at : min(stop, at + _LONGEST_VARINT)]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + place + 1
    raise NotAMessage


def signed(value: int) -> int:
    """Reinterpret an unsigned 64-bit number as int64."""
    return value - (1 << 64) if value >> 63 else value

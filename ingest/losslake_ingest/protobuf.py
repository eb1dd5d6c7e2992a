"""Protocol buffers on the wire: the fields of a message one after the other, bounded by the message, without a schema.

Source: https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_SIZES = {FIXED64: 8, FIXED32: 4}

Field = tuple[int, int, int, int]
"""A field of a message: its number, its wire type, and where its bytes (without key and length) begin and end."""


class NotAMessage(Exception):
    """The bytes are no protocol buffer message."""


def fields(data: bytes, at: int, stop: int) -> Iterator[Field]:
    """The fields of the message that lies in data[at:stop]; raises NotAMessage where there is none."""
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
    """The fields of a whole message by number: integers for varints, bytes for all others; raises NotAMessage."""
    for number, kind, start, stop in fields(message, 0, len(message)):
        yield number, varint(message, start, stop)[0] if kind == VARINT else message[start:stop]


def places(data: bytes, at: int, stop: int, number: int, kind: int) -> Iterator[tuple[int, int]]:
    """Where those fields of the message in data[at:stop] lie that have this number and type; raises NotAMessage."""
    return (field[2:] for field in fields(data, at, stop) if field[:2] == (number, kind))


def varint(data: bytes, at: int, stop: int) -> tuple[int, int]:
    """The unsigned 64-bit number that begins at `at`, and where it ends; raises NotAMessage where it doesn't end."""
    if at < stop and data[at] < 0x80:
        return data[at], at + 1
    value = 0
    for place, byte in enumerate(data[at : min(stop, at + _LONGEST_VARINT)]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + place + 1
    raise NotAMessage


def signed(value: int) -> int:
    """The int64 that an unsigned 64-bit number stands for."""
    return value - (1 << 64) if value >> 63 else value

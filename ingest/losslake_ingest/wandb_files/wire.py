"""Protocol buffers on the wire, as far as a `.wandb` file needs them: bounded by the message, with no schema.

Source: https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DOUBLE = struct.Struct("<d")


class Malformed(Exception):
    """Bytes that are no protocol buffer message."""


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message by number: integers for varints, raw bytes for everything else. Raises Malformed."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = varint(message, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise Malformed
        if at + size > len(message):
            raise Malformed
        yield tag >> 3, message[at : at + size]
        at += size


def varint(message: bytes, at: int) -> tuple[int, int]:
    """The unsigned integer of at most ten bytes at a place, and the place behind it. Raises Malformed."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise Malformed
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
    raise Malformed


def signed(value: int) -> int:
    """The signed 64-bit integer that a varint stands for."""
    return value - (1 << 64) if value >= 1 << 63 else value


def zigzag(value: int) -> int:
    """The signed integer that a `sint` varint stands for."""
    return (value >> 1) ^ -(value & 1)


def double(raw: bytes) -> float:
    """The float64 of a fixed field. Raises Malformed."""
    if len(raw) != _DOUBLE.size:
        raise Malformed
    number: float = _DOUBLE.unpack(raw)[0]
    return number

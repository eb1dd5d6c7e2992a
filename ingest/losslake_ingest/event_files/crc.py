"""CRC-32C (Castagnoli), masked as TFRecord files have it, of many records at a time.

The checksum is linear over GF(2): that of a record is the exclusive or of what each byte contributes, which depends on
the byte and on its distance from the record's end. So numpy looks contributions up in a table by distance.
Polynomial: RFC 3720, 12.1. Mask: tensorflow/core/lib/hash/crc32c.h.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Words32 = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]

LONGEST_TABLE = 4096
_POLYNOMIAL = 0x82F63B78
_BLOCK = 1024
_BYTES_AT_ONCE = 1 << 16


def _entry(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
    return value


_TABLE = [_entry(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    """The checksum of a few bytes, not masked."""
    register = 0xFFFF_FFFF
    for byte in data:
        register = _TABLE[(register ^ byte) & 0xFF] ^ (register >> 8)
    return register ^ 0xFFFF_FFFF


def masked(checksum: int) -> int:
    """A checksum as it is stored."""
    return (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFF_FFFF


def masked_all(checksums: Words32) -> Words32:
    """Checksums as they are stored."""
    rotated: Words32 = (checksums >> np.uint32(15)) | (checksums << np.uint32(17))
    return rotated + np.uint32(0xA282EAD8)


@cache
def contributions(longest: int) -> Words32:
    """What byte b, followed by d more bytes, adds to a checksum: at d * 256 + b, for every d < longest."""
    bits = [_TABLE[1 << bit] for bit in range(8)]
    by_bit = []
    for _ in range(longest):
        by_bit.append(bits)
        bits = [(value >> 8) ^ _TABLE[value & 0xFF] for value in bits]
    basis = np.array(by_bit, np.uint32)
    table = np.zeros((longest, 256), np.uint32)
    for bit in range(8):
        table[:, 1 << bit : 2 << bit] = table[:, : 1 << bit] ^ basis[:, bit : bit + 1]
    return table.reshape(-1)


@cache
def of_zeros(longest: int) -> Words32:
    """The checksums of 0, 1, ... longest zero bytes: what a checksum is before any byte contributes."""
    registers = [0xFFFF_FFFF]
    for _ in range(longest):
        registers.append((registers[-1] >> 8) ^ _TABLE[registers[-1] & 0xFF])
    return np.array(registers, np.uint32) ^ np.uint32(0xFFFF_FFFF)


def table_size(length: int) -> int:
    """How large a table records of this length need; few sizes, so that few are made."""
    return next((size for size in (128, 512, _BLOCK, LONGEST_TABLE) if length <= size), LONGEST_TABLE)


def checksums(data: Bytes, starts: Offsets, ends: Offsets) -> Words32:
    """The checksum of each of the records data[start:end], not masked."""
    lengths = ends - starts
    result = np.zeros(len(starts), np.uint32)
    for row in np.flatnonzero(lengths > _BLOCK).tolist():
        result[row] = _of_long(data[starts[row] : ends[row]])
    rows = np.flatnonzero((lengths > 0) & (lengths <= _BLOCK))
    total = np.cumsum(lengths[rows])
    begin = 0
    while begin < len(rows):
        before = total[begin - 1] if begin else 0
        stop = max(begin + 1, int(np.searchsorted(total, before + _BYTES_AT_ONCE, side="right")))
        some = rows[begin:stop]
        result[some] = _of_short(data, ends[some], lengths[some])
        begin = stop
    return result


def _of_short(data: Bytes, ends: Offsets, lengths: Offsets) -> Words32:
    """The checksums of records of 1 to _BLOCK bytes."""
    begins = np.cumsum(lengths) - lengths
    after = np.repeat(begins + lengths - 1, lengths) - np.arange(int(lengths.sum()))
    places = np.repeat(ends - 1, lengths) - after
    parts = contributions(_BLOCK).take(after * 256 + data[places])
    combined: Words32 = np.bitwise_xor.reduceat(parts, begins) ^ of_zeros(_BLOCK)[lengths]
    return combined


def _of_long(data: Bytes) -> int:
    """The checksum of one record, in blocks: what came before adds to the first four bytes of the next block."""
    table = contributions(_BLOCK)
    first, second, third, fourth = (table[(_BLOCK - 1 - at) * 256 :][:256].tolist() for at in range(4))
    head = len(data) % _BLOCK
    register = crc32c(b"") ^ 0xFFFF_FFFF
    if head:
        register = int(_of_short(data, np.array([head]), np.array([head]))[0]) ^ 0xFFFF_FFFF
    distances = np.arange(_BLOCK - 1, -1, -1) * 256
    blocks = data[head:].reshape(-1, _BLOCK)
    for at in range(0, len(blocks), 64):
        rows = np.bitwise_xor.reduce(table.take(blocks[at : at + 64] + distances), axis=1)
        for row in rows.tolist():
            register = (
                row
                ^ first[register & 0xFF]
                ^ second[register >> 8 & 0xFF]
                ^ third[register >> 16 & 0xFF]
                ^ fourth[register >> 24]
            )
    return register ^ 0xFFFF_FFFF

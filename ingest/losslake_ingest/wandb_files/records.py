"""The records of a `.wandb` file: a LevelDB log behind a header of seven bytes, with plain CRC-32 as its checksum.

Sources: https://github.com/google/leveldb/blob/main/doc/log_format.md, and W&B's writer of it, which starts the file
with `:W&B`, 0xBEE1 and a version, and leaves out LevelDB's masking and Castagnoli polynomial.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

HEADER = b":W&B\xe1\xbe\x00"
_BLOCK = 1 << 15
_PREFIX = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


class RecordLog:
    """Iterating yields the records that are whole; damaged_blocks and is_cut say afterwards what was lost.

    Behind damage, reading goes on at the next block of 32 KiB, as LevelDB does it.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.damaged_blocks = 0
        self.is_cut = False

    def __iter__(self) -> Iterator[bytes]:
        pieces: list[bytes] | None = None
        for kind, piece in self._pieces():
            if kind in (_FULL, _FIRST):
                if pieces is not None:
                    self.damaged_blocks += 1
                pieces = None if kind == _FULL else [piece]
                if kind == _FULL:
                    yield piece
            elif kind == 0:
                pieces = None
            elif pieces is not None:
                pieces.append(piece)
                if kind == _LAST:
                    yield b"".join(pieces)
                    pieces = None
        self.is_cut = self.is_cut or pieces is not None

    def _pieces(self) -> Iterator[tuple[int, bytes]]:
        """The pieces of records by kind; kind 0 stands for damage."""
        data = self._data
        at = len(HEADER)
        while at < len(data):
            left = _BLOCK - at % _BLOCK
            if left < _PREFIX.size:
                at += left
                continue
            if at + _PREFIX.size > len(data):
                self.is_cut = True
                return
            checksum, size, kind = _PREFIX.unpack_from(data, at)
            if kind == 0 and size == 0 and checksum == 0:
                # Space that was set aside and never written.
                at += left
                continue
            end = at + _PREFIX.size + size
            if _PREFIX.size + size <= left and kind <= _LAST and end > len(data):
                self.is_cut = True
                return
            if _PREFIX.size + size > left or not 1 <= kind <= _LAST or zlib.crc32(data[at + 6 : end]) != checksum:
                self.damaged_blocks += 1
                yield 0, b""
                at += left
                continue
            yield kind, data[at + _PREFIX.size : end]
            at = end

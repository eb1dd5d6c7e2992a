"""Reader of the records of a `.wandb` file: a LevelDB log after a 7-byte header, with plain CRC-32 checksums.

Sources: https://github.com/google/leveldb/blob/main/doc/log_format.md, and W&B's writer of it, which starts the file
with `:W&B`, 0xBEE1 and a version, and uses neither LevelDB's masking nor the Castagnoli polynomial.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

HEADER = b":W&B\xe1\xbe\x00"
_BLOCK = 1 << 15
_PREFIX = struct.Struct("<IHB")
_MOST_PIECES = 1 << 7  # of one record; together 4 MiB
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


class RecordLog:
    """An iterable of the complete records. damaged_blocks, too_long and is_cut tell afterwards what was lost.

    After damage, reading continues at the next block of 32 KiB, as in LevelDB.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.damaged_blocks = self.too_long = 0
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
            elif pieces is not None and len(pieces) > _MOST_PIECES:
                self.too_long += 1
                pieces = None
            elif pieces is not None:
                pieces.append(piece)
                if kind == _LAST:
                    yield b"".join(pieces)
                    pieces = None
        self.is_cut = self.is_cut or pieces is not None

    def _pieces(self) -> Iterator[tuple[int, bytes]]:
        """Yield the pieces of records by kind; kind 0 stands for damage."""
        data = self._data
        at = len(HEADER)
        while at < len(data):
            remaining = _BLOCK - at % _BLOCK
            if remaining < _PREFIX.size:
                at += remaining
                continue
            if at + _PREFIX.size > len(data):
                self.is_cut = True
                return
            checksum, size, kind = _PREFIX.unpack_from(data, at)
            if kind == 0 and size == 0 and checksum == 0:
                # Preallocated space that was never written.
                at += remaining
                continue
            end = at + _PREFIX.size + size
            if _PREFIX.size + size <= remaining and kind <= _LAST and end > len(data):
                self.is_cut = True
                return
            if _PREFIX.size + size > remaining or not 1 <= kind <= _LAST or zlib.crc32(data[at + 6 : end]) != checksum:
                self.damaged_blocks += 1
                yield 0, b""
                at += remaining
                continue
            yield kind, data[at + _PREFIX.size : end]
            at = end

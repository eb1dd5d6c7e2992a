"""gzip and zstd: which one a client prefers, and making them."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, Protocol

import zstandard

Coding = Literal["gzip", "zstd"]
CODINGS: tuple[Coding, ...] = ("zstd", "gzip")
"""The better one first."""
_GZIP_LEVEL = 5
_GZIP_FORMAT = 31
# A window of 1 MB: larger ones cost each answer under way more memory than they save bytes.
_ZSTD = zstandard.ZstdCompressionParameters.from_level(3, window_log=20)
_of_thread = threading.local()


class Encoder(Protocol):
    """Makes one coded body of the pieces of an answer."""

    def piece(self, data: bytes, is_last: bool) -> bytes:
        """The code of these bytes, all of it, so that the client can read that far."""
        ...


class _Gzip:
    def __init__(self) -> None:
        self._coder = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)

    def piece(self, data: bytes, is_last: bool) -> bytes:
        return self._coder.compress(data) + self._coder.flush(zlib.Z_FINISH if is_last else zlib.Z_SYNC_FLUSH)


class _Zstd:
    def __init__(self) -> None:
        self._coder = zstandard.ZstdCompressor(compression_params=_ZSTD).compressobj()

    def piece(self, data: bytes, is_last: bool) -> bytes:
        end = zstandard.COMPRESSOBJ_FLUSH_FINISH if is_last else zstandard.COMPRESSOBJ_FLUSH_BLOCK
        return self._coder.compress(data) + self._coder.flush(end)


_ENCODERS: dict[Coding, Callable[[], Encoder]] = {"gzip": _Gzip, "zstd": _Zstd}


def encoder(coding: Coding) -> Encoder:
    """A new encoder; its pieces may be made by different threads, one after the other."""
    return _ENCODERS[coding]()


def encoded(coding: Coding, data: bytes) -> bytes:
    """A whole body at once."""
    if coding == "gzip":
        return zlib.compress(data, _GZIP_LEVEL, _GZIP_FORMAT)
    mine: zstandard.ZstdCompressor | None = getattr(_of_thread, "zstd", None)
    if mine is None:
        # Made once for each thread: it has about a megabyte of tables.
        mine = _of_thread.zstd = zstandard.ZstdCompressor(compression_params=_ZSTD)
    return mine.compress(data)


@lru_cache(maxsize=256)
def preferred(accept_encoding: bytes) -> Coding | None:
    """The coding that a client wants most (RFC 9110, 12.5.3); None for the bytes as they are."""
    wanted: dict[str, float] = {}
    for part in accept_encoding.decode("latin-1").lower().split(","):
        name, *parameters = (text.strip() for text in part.split(";"))
        wanted["gzip" if name == "x-gzip" else name] = _weight(parameters)
    others = wanted.get("*", 0.0)
    weights = {coding: wanted.get(coding, others) for coding in CODINGS}
    best = max(CODINGS, key=lambda coding: weights[coding])
    return best if weights[best] > 0 and weights[best] >= wanted.get("identity", 0.0) else None


def _weight(parameters: list[str]) -> float:
    """The value of `q`; 0, which refuses, for one that is none."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                weight = float(value)
            except ValueError:
                return 0.0
            return weight if 0 <= weight <= 1 else 0.0
    return 1.0

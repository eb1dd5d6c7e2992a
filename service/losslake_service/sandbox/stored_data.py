"""Data files that lie in a bucket, for a worker that has no network: it asks the service for ranges of them.

Both ends are here. A question is a path and a range of it, or its size; the service answers only for files of the
worker's release, at most so many bytes at once, and only while a statement runs.
"""

from __future__ import annotations

import concurrent.futures
import logging
import socket
import struct
import threading
import time
from functools import partial
from typing import Protocol

from losslake_service.kept import Kept
from losslake_service.sandbox.channel import ChannelClosed, exactly, send_all

LONGEST_RANGE = 1 << 22
"""Bytes of one answer."""
_PIECE_BYTES = 1 << 18
_MOST_PIECES = 32
_ASKED = struct.Struct("!HQQ")  # bytes of the path, start, stop; stop 0: its size is asked for
_ANSWER = struct.Struct("!q")  # a size, or the bytes that follow; or one of:
_UNKNOWN, _FAILED = -1, -2
_LONGEST_PATH = 4096
_SECONDS_THAT_TELL_OF_A_FAULT = 3.0
_AT_ONCE = 8
_log = logging.getLogger(__name__)


class StoredData(Protocol):
    """The data files of one release."""

    def size(self, path: str) -> int | None:
        """Bytes of a file of the release, by its path in the lake; None for any other. May wait for the store."""

    def read(self, path: str, start: int, stop: int) -> bytes:
        """Some of the bytes of such a file; raises OSError."""


class StoreAway(Exception):
    """The store gives no answer, or an error."""


class AnswersForFiles:
    """The service's end for one worker; for one thread at a time."""

    # What waits for a store that is away must not keep statements from running out of time.
    _threads = concurrent.futures.ThreadPoolExecutor(_AT_ONCE, "sql files")

    def __init__(self, channel: socket.socket, data: StoredData) -> None:
        self._channel = channel
        self._data = data

    def fileno(self) -> int:
        """What to wait on for a question."""
        return self._channel.fileno()

    def answer(self, deadline: float) -> None:
        """Answer one question; raises StoreAway, ChannelClosed for one that makes no sense, and TimeoutError."""
        length, start, stop = _ASKED.unpack(exactly(self._channel, _ASKED.size, deadline))
        if length > _LONGEST_PATH or (stop and not 0 < stop - start <= LONGEST_RANGE):
            raise ChannelClosed("a question about files that makes no sense")
        path = exactly(self._channel, length, deadline).decode("utf-8", "replace")
        began = time.monotonic()
        future = self._threads.submit(self._found, path, start, stop)
        try:
            number, data = future.result(max(0.0, deadline - began))
        except concurrent.futures.TimeoutError:
            future.cancel()
            if time.monotonic() - began < _SECONDS_THAT_TELL_OF_A_FAULT:
                raise TimeoutError from None
            raise StoreAway(f"no answer for {path} in {deadline - began:.0f} s") from None
        except OSError as error:
            send_all(self._channel, _ANSWER.pack(_FAILED), deadline)
            raise StoreAway(str(error)) from None
        send_all(self._channel, _ANSWER.pack(number) + data, deadline)

    def close(self) -> None:
        """Answer no more."""
        self._channel.close()

    def _found(self, path: str, start: int, stop: int) -> tuple[int, bytes]:
        size = self._data.size(path)
        if size is None or stop > size:
            return _UNKNOWN, b""
        if not stop:
            return size, b""
        data = self._data.read(path, start, stop)
        return len(data), data


class AsksForFiles:
    """The worker's end, to be shared by threads."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._asking = threading.Lock()
        self._sizes: dict[str, int] = {}
        self._pieces: Kept[bytes] = Kept(_MOST_PIECES)
        self.has_failed = False

    def size(self, path: str) -> int | None:
        """Bytes of a file; None where the release has no such file."""
        found = self._sizes.get(path)
        if found is None:
            found, _ = self._ask(path, 0, 0)
            if found == _UNKNOWN:
                return None
            self._sizes[path] = found
        return found

    def read(self, path: str, start: int, stop: int) -> bytes:
        """Return some of the bytes of a file; raises OSError.

        DuckDB reads footers and short columns in many small ranges, which mostly lie in one piece: pieces are kept.
        """
        if stop - start > _PIECE_BYTES:
            return b"".join(
                self._range(path, begin, min(begin + LONGEST_RANGE, stop))
                for begin in range(start, stop, LONGEST_RANGE)
            )
        parts = []
        for first in range(start - start % _PIECE_BYTES, stop, _PIECE_BYTES):
            piece = self._pieces.get((path, first), partial(self._piece, path, first))
            parts.append(piece[max(start - first, 0) : stop - first])
        return b"".join(parts)

    def _piece(self, path: str, first: int) -> bytes:
        size = self.size(path)
        if size is None:
            raise FileNotFoundError(path)
        return self._range(path, first, min(first + _PIECE_BYTES, size))

    def _range(self, path: str, start: int, stop: int) -> bytes:
        found, data = self._ask(path, start, stop)
        if found == _UNKNOWN:
            raise FileNotFoundError(path)
        return data

    def _ask(self, path: str, start: int, stop: int) -> tuple[int, bytes]:
        name = path.encode("utf-8", "replace")
        if len(name) > _LONGEST_PATH:
            return _UNKNOWN, b""
        with self._asking:
            try:
                send_all(self._channel, _ASKED.pack(len(name), start, stop) + name, None)
                (found,) = _ANSWER.unpack(exactly(self._channel, _ANSWER.size, None))
                data = exactly(self._channel, found, None) if stop and found > 0 else b""
            except ChannelClosed as error:
                self.has_failed = True
                raise OSError(f"{path}: {error}") from None
        if found == _FAILED:
            self.has_failed = True
            raise OSError(f"{path} can't be read now")
        return found, data


def opened_pair(data: StoredData) -> tuple[AnswersForFiles, socket.socket]:
    """Return the service's end, and the socket to give to the worker."""
    ours, theirs = socket.socketpair()
    return AnswersForFiles(ours, data), theirs

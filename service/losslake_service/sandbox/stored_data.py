"""Data files for workers: those of one release on this machine, or in a bucket.

Workers have no network: of files in a bucket they request byte ranges from the service over a socket.

A request has a path and a range, or asks for the size. The service responds only for files of the worker's release,
with a bounded number of bytes, and only while a statement runs.
"""

from __future__ import annotations

import concurrent.futures
import logging
import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from losslake_service.bounded_cache import BoundedCache
from losslake_service.sandbox.channel import ChannelClosed, receive_exactly, send_all

# Maximum bytes of a response.
MAX_RANGE_BYTES = 1 << 22
_PIECE_BYTES = 1 << 18
_REQUEST = struct.Struct("!HQQ")  # bytes of the path, start, stop; stop 0 requests the size
_RESPONSE = struct.Struct("!q")  # the size, or the number of bytes that follow, or one of:
_UNKNOWN, _FAILED = -1, -2
_MAX_PATH_BYTES = 4096
_STORE_TIMEOUT = 3.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LocalFiles:
    """The data files of one release on this machine: `names` below the folder; None for all that is below it."""

    folder: str
    names: Sequence[str] | None

    def paths(self) -> list[str]:
        """Return their paths, or that of the folder."""
        return [self.folder] if self.names is None else [f"{self.folder}/{name}" for name in self.names]


class StoredData(Protocol):
    """The data files of one release."""

    def size(self, path: str) -> int | None:
        """Return the size in bytes of a file of the release, by its path in the lake, or None. May block."""

    def read(self, path: str, start: int, stop: int) -> bytes:
        """Return a range of such a file; raise OSError."""


class StoreUnavailable(Exception):
    """The object store doesn't respond, or reports an error."""


class DataFileServer:
    """The service's end of the socket to one worker; used by one thread at a time."""

    def __init__(self, channel: socket.socket, data: StoredData) -> None:
        self._channel = channel
        self._data = data
        # A thread of its own, so that a read that hangs delays neither the statement's time limit nor other workers.
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "sql files")

    def fileno(self) -> int:
        """Return the socket's descriptor, to poll for requests."""
        return self._channel.fileno()

    def respond(self, deadline: float) -> None:
        """Respond to one request; raise StoreUnavailable, TimeoutError, and ChannelClosed for an invalid request."""
        length, start, stop = _REQUEST.unpack(receive_exactly(self._channel, _REQUEST.size, deadline))
        if length > _MAX_PATH_BYTES or (stop and not 0 < stop - start <= MAX_RANGE_BYTES):
            raise ChannelClosed("invalid request for a data file")
        path = receive_exactly(self._channel, length, deadline).decode("utf-8", "replace")
        started = time.monotonic()
        future = self._thread.submit(self._read_range, path, start, stop)
        try:
            number, data = future.result(max(0.0, deadline - started))
        except concurrent.futures.TimeoutError:
            future.cancel()
            if time.monotonic() - started < _STORE_TIMEOUT:
                raise TimeoutError("timed out") from None
            raise StoreUnavailable(f"no response for {path} in {deadline - started:.0f} s") from None
        except OSError as error:
            send_all(self._channel, _RESPONSE.pack(_FAILED), deadline)
            raise StoreUnavailable(str(error)) from None
        send_all(self._channel, _RESPONSE.pack(number) + data, deadline)

    def close(self) -> None:
        """Close the socket; a read that hangs still ends on its own."""
        self._channel.close()
        self._thread.shutdown(wait=False)

    def _read_range(self, path: str, start: int, stop: int) -> tuple[int, bytes]:
        size = self._data.size(path)
        if size is None or stop > size:
            return _UNKNOWN, b""
        if not stop:
            return size, b""
        data = self._data.read(path, start, stop)
        return len(data), data


class DataFileClient:
    """The worker's end of the socket, shared by threads."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._sizes: dict[str, int] = {}
        self._pieces: BoundedCache[bytes] = BoundedCache(32)
        self.has_failed = False

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes, or None if the release has no such file."""
        size = self._sizes.get(path)
        if size is None:
            size, _ = self._request(path, 0, 0)
            if size == _UNKNOWN:
                return None
            self._sizes[path] = size
        return size

    def read(self, path: str, start: int, stop: int) -> bytes:
        """Return a range of a file; raise OSError.

        DuckDB reads footers and short columns in many small ranges, so aligned pieces are cached.
        """
        if stop - start > _PIECE_BYTES:
            return b"".join(
                self._range(path, begin, min(begin + MAX_RANGE_BYTES, stop))
                for begin in range(start, stop, MAX_RANGE_BYTES)
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
        size, data = self._request(path, start, stop)
        if size == _UNKNOWN:
            raise FileNotFoundError(path)
        return data

    def _request(self, path: str, start: int, stop: int) -> tuple[int, bytes]:
        name = path.encode("utf-8", "replace")
        if len(name) > _MAX_PATH_BYTES:
            return _UNKNOWN, b""
        with self._lock:
            try:
                send_all(self._channel, _REQUEST.pack(len(name), start, stop) + name, None)
                (size,) = _RESPONSE.unpack(receive_exactly(self._channel, _RESPONSE.size, None))
                data = receive_exactly(self._channel, size, None) if stop and size > 0 else b""
            except ChannelClosed as error:
                self.has_failed = True
                raise OSError(f"{path}: {error}") from None
        if size == _FAILED:
            self.has_failed = True
            raise OSError(f"{path} can't be read now")
        return size, data


def open_pair(data: StoredData) -> tuple[DataFileServer, socket.socket]:
    """Return the service's end, and the socket for the worker."""
    ours, theirs = socket.socketpair()
    return DataFileServer(ours, data), theirs

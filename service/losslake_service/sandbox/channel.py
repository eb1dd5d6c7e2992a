"""Messages between the service and a worker: length-prefixed JSON over a private socket pair."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Room for the names of 100,000 data files, which the service sends when it opens a release.
MAX_REQUEST_BYTES = 100_000_000
MAX_REPLY_BYTES = 100_000
_HEADER = struct.Struct("!I")
_MOST_FILES = 2
_MOST_AT_ONCE = 1 << 20


class ChannelClosed(Exception):
    """The other side has closed the channel, or sent an invalid message."""


def send(channel: socket.socket, message: dict[str, Any], *files: int) -> None:
    """Send a message, optionally with open files; raise ChannelClosed."""
    body = json.dumps(message).encode()
    data = _HEADER.pack(len(body)) + body
    try:
        # At once, so that the other side wakes up once.
        sent = socket.send_fds(channel, [data], files)
        channel.sendall(data[sent:])
    except OSError as error:
        raise ChannelClosed(str(error)) from None


def receive(channel: socket.socket, max_bytes: int, deadline: float | None = None) -> tuple[dict[str, Any], list[int]]:
    """Return the next message and its files; raise ChannelClosed and TimeoutError.

    deadline: on the clock of time.monotonic().
    """
    header, files = _receive_some(channel, _HEADER.size, deadline)
    if len(header) < _HEADER.size:
        header += receive_exactly(channel, _HEADER.size - len(header), deadline)
    (length,) = _HEADER.unpack(header)
    if length > max_bytes:
        raise ChannelClosed(f"the message is too long ({length} bytes)")
    try:
        message = json.loads(receive_exactly(channel, length, deadline))
    except (ValueError, RecursionError):
        raise ChannelClosed("the message is not valid JSON") from None
    if not isinstance(message, dict):
        raise ChannelClosed("the message is not a JSON object")
    return message, files


def receive_exactly(channel: socket.socket, length: int, deadline: float | None) -> bytes:
    """Receive exactly `length` bytes; raise ChannelClosed, and TimeoutError at the deadline."""
    parts = []
    while length > 0:
        part, _ = _receive_some(channel, min(length, _MOST_AT_ONCE), deadline)
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def send_all(channel: socket.socket, data: bytes, deadline: float | None) -> None:
    """Send raw bytes; raise ChannelClosed, and TimeoutError at the deadline."""
    with _bounded(channel, deadline):
        channel.sendall(data)


def _receive_some(channel: socket.socket, max_bytes: int, deadline: float | None) -> tuple[bytes, list[int]]:
    with _bounded(channel, deadline):
        # With a deadline, the sender is a worker: the kernel discards files that it sends.
        part, files, _, _ = socket.recv_fds(channel, max_bytes, 0 if deadline is not None else _MOST_FILES)
    if not part:
        raise ChannelClosed("the other side has closed the connection")
    return part, files


@contextmanager
def _bounded(channel: socket.socket, deadline: float | None) -> Iterator[None]:
    """Set the channel's timeout to the deadline, if there is one; raise TimeoutError and ChannelClosed."""
    if deadline is not None:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("timed out")  # in the words of a socket
        channel.settimeout(remaining)
    try:
        yield
    except TimeoutError:
        raise
    except OSError as error:
        raise ChannelClosed(str(error)) from None

"""Messages between the service and a worker: JSON behind its length, over a socket that only these two have."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LONGEST_REQUEST = 4_000_000
LONGEST_REPLY = 100_000
_HEADER = struct.Struct("!I")


class ChannelClosed(Exception):
    """The other side has gone, or says what makes no sense."""


def send(channel: socket.socket, message: dict[str, Any], file: int | None = None) -> None:
    """Send a message, and an open file with it; raises ChannelClosed."""
    body = json.dumps(message).encode()
    try:
        socket.send_fds(channel, [_HEADER.pack(len(body))], [] if file is None else [file])
        channel.sendall(body)
    except OSError as error:
        raise ChannelClosed(str(error)) from None


def receive(channel: socket.socket, longest: int, deadline: float | None = None) -> tuple[dict[str, Any], int | None]:
    """The next message and the file that came with it; raises ChannelClosed, and TimeoutError.

    deadline: on the clock of time.monotonic().
    """
    header, files = _some(channel, _HEADER.size, deadline)
    if len(header) < _HEADER.size:
        header += exactly(channel, _HEADER.size - len(header), deadline)
    (length,) = _HEADER.unpack(header)
    if length > longest:
        raise ChannelClosed(f"a message of {length} bytes")
    try:
        message = json.loads(exactly(channel, length, deadline))
    except (ValueError, RecursionError):
        raise ChannelClosed("a message that is no JSON") from None
    if not isinstance(message, dict):
        raise ChannelClosed("a message that is no object")
    return message, files[0] if files else None


def exactly(channel: socket.socket, length: int, deadline: float | None) -> bytes:
    """So many bytes of what the other side sends; raises ChannelClosed, and TimeoutError at the deadline."""
    parts = []
    while length > 0:
        part, _ = _some(channel, length, deadline)
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def send_all(channel: socket.socket, data: bytes, deadline: float | None) -> None:
    """Send bytes as they are; raises ChannelClosed, and TimeoutError at the deadline."""
    with _bounded(channel, deadline):
        channel.sendall(data)


def _some(channel: socket.socket, most: int, deadline: float | None) -> tuple[bytes, list[int]]:
    with _bounded(channel, deadline):
        # A worker that sends files gets them closed: none are asked for when a deadline is set.
        part, files, _, _ = socket.recv_fds(channel, most, 0 if deadline is not None else 1)
    if not part:
        raise ChannelClosed("the other side has gone")
    return part, files


@contextmanager
def _bounded(channel: socket.socket, deadline: float | None) -> Iterator[None]:
    """Let the channel wait until then, None: as long as before; raises TimeoutError and ChannelClosed."""
    if deadline is not None:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        channel.settimeout(remaining)
    try:
        yield
    except TimeoutError:
        raise
    except OSError as error:
        raise ChannelClosed(str(error)) from None

"""Messages between the service and the process that renders: a kind, a scale, and bytes behind their length."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Any, Literal

Rendered = Literal["svg", "png", "pdf"]
RENDERED, FAILED = "rendered", "failed"
LONGEST = 512 * 1024 * 1024
_HEAD = struct.Struct("!8sdQ")


class MessageLost(Exception):
    """The other side has gone, or says what makes no sense."""


@dataclass(frozen=True)
class Message:
    """kind: of the image asked for, or of the reply. scale: of a PNG. body: specification, image, or why not."""

    kind: Any
    scale: float
    body: bytes


def send(channel: socket.socket, message: Message) -> None:
    """Send a message; raises MessageLost, and TimeoutError where the channel has a timeout."""
    try:
        channel.sendall(_HEAD.pack(message.kind.encode(), message.scale, len(message.body)))
        channel.sendall(message.body)
    except TimeoutError:
        raise
    except OSError as error:
        raise MessageLost(str(error)) from None


def receive(channel: socket.socket) -> Message:
    """The next message; raises MessageLost, and TimeoutError where the channel has a timeout."""
    kind, scale, length = _HEAD.unpack(_exactly(channel, _HEAD.size))
    if length > LONGEST:
        raise MessageLost(f"a message of {length} bytes")
    return Message(kind.rstrip(b"\0").decode("ascii", "replace"), scale, _exactly(channel, length))


def _exactly(channel: socket.socket, length: int) -> bytes:
    found = bytearray(length)
    at = 0
    while at < length:
        try:
            size = channel.recv_into(memoryview(found)[at:])
        except TimeoutError:
            raise
        except OSError as error:
            raise MessageLost(str(error)) from None
        if not size:
            raise MessageLost("the other side has gone")
        at += size
    return bytes(found)

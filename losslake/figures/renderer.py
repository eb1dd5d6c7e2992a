"""Renders figures in a process of its own: the renderer would hold up every other request of this one.

That process is started by the first figure, is renewed after some hundred, as it grows, and ends with the service. It
runs this module as a program. Messages between both have a kind, a scale, and bytes behind their length.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake.figures.rendering import Rendered

MOST_WAITING = 32
SECONDS_EACH = 20.0
FIGURES_PER_PROCESS = 300
RENDERED, FAILED = "rendered", "failed"
_PROGRAM = "losslake.figures.renderer"
_HEAD = struct.Struct("!8sdQ")
_LONGEST = 512 * 1024 * 1024
# Figures wait for answers, never the other way round.
_NICENESS = 10
_log = logging.getLogger(__name__)


class FiguresBusy(LossLakeError):
    """So many figures wait to be rendered that one more would wait too long."""

    def __init__(self, n_waiting: int, retry_after: int) -> None:
        super().__init__(f"{n_waiting} figures are waiting to be rendered: ask again in {retry_after} s")
        self.retry_after = retry_after


class RenderingFailed(Exception):
    """A specification could not be rendered, or not in time."""


class Renderer:
    """Renders one figure after the other, for any thread and event loop."""

    def __init__(self, seconds_each: float = SECONDS_EACH, figures_per_process: int = FIGURES_PER_PROCESS) -> None:
        self._seconds_each = seconds_each
        self._figures_per_process = figures_per_process
        self._thread = ThreadPoolExecutor(1, "renders figures")
        self._process: _Process | None = None
        self._n_waiting = 0

    @property
    def process_id(self) -> int | None:
        """Of the process that renders; None before the first figure."""
        return self._process.process_id if self._process is not None else None

    async def render(self, specification: bytes, ending: Rendered, scale: float = 1.0) -> bytes:
        """Return the bytes of an image, as `rendered` makes them; raises FiguresBusy and RenderingFailed."""
        if self._n_waiting >= MOST_WAITING:
            raise FiguresBusy(MOST_WAITING, retry_after=5)
        self._n_waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._rendered, Message(ending, scale, specification))
        finally:
            self._n_waiting -= 1

    def close(self) -> None:
        """End the process, once the figures that wait are rendered; another figure would start another one."""
        self._thread.submit(self._drop).result()

    def _rendered(self, message: Message) -> bytes:
        """Ask the process, in the one thread that does so; a new one, once more, if it has died meanwhile."""
        for attempt in (1, 2):
            process = self._process = self._process or _Process(self._seconds_each)
            try:
                reply = process.ask(message)
            except ConnectionError as error:
                _log.warning("the process that renders figures died: %s", error)
                self._drop()
                if attempt == 1:
                    continue
                raise RenderingFailed("the process that renders figures died twice") from None
            except TimeoutError:
                self._drop()
                raise RenderingFailed(f"a figure took longer than {self._seconds_each:g} s") from None
            if process.n_asked >= self._figures_per_process:
                self._drop()
            if reply.kind == RENDERED:
                return reply.body
            raise RenderingFailed(reply.body.decode("utf-8", "replace"))
        raise AssertionError("unreachable")

    def _drop(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


class _Process:
    def __init__(self, seconds: float) -> None:
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-m", _PROGRAM],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"LC_ALL": "C.UTF-8", "TZ": "UTC"},
                start_new_session=True,
            )
        self._channel.settimeout(seconds)
        self.process_id = self._process.pid
        self.n_asked = 0

    def ask(self, message: Message) -> Message:
        self.n_asked += 1
        send(self._channel, message)
        return receive(self._channel)

    def end(self) -> None:
        self._channel.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()


@dataclass(frozen=True)
class Message:
    """kind: of the requested image, or of the reply. scale: of a PNG. body: specification, image, or why not."""

    kind: Any
    scale: float
    body: bytes


def send(channel: socket.socket, message: Message) -> None:
    """Send a message; raises ConnectionError, and TimeoutError where the channel has a timeout."""
    channel.sendall(_HEAD.pack(message.kind.encode(), message.scale, len(message.body)))
    channel.sendall(message.body)


def receive(channel: socket.socket) -> Message:
    """Return the next message; raises ConnectionError, and TimeoutError where the channel has a timeout."""
    kind, scale, length = _HEAD.unpack(_exactly(channel, _HEAD.size))
    if length > _LONGEST:
        raise ConnectionError(f"a message of {length} bytes")
    return Message(kind.rstrip(b"\0").decode("ascii", "replace"), scale, _exactly(channel, length))


def _exactly(channel: socket.socket, length: int) -> bytes:
    received = bytearray(length)
    at = 0
    while at < length:
        size = channel.recv_into(memoryview(received)[at:])
        if not size:
            raise ConnectionError("the other side has gone")
        at += size
    return bytes(received)


def main() -> None:
    """Render one figure after the other, until the socket that is the standard input is closed."""
    # Not above: the service, which only sends messages, does without the 9 MB of the renderer.
    from losslake.figures.rendering import rendered

    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICENESS)
    while True:
        try:
            request = receive(channel)
        except ConnectionError:
            return
        try:
            reply = Message(RENDERED, request.scale, rendered(request.body, request.kind, request.scale))
        except Exception as error:  # noqa: BLE001  # whatever it is, the service has to say it in its log
            reply = Message(FAILED, request.scale, f"{type(error).__name__}: {error}"[:1000].encode())
        send(channel, reply)


if __name__ == "__main__":
    main()

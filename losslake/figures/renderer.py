"""Rendering of figures in a separate process, since the renderer would block all other requests.

The first figure starts the process. It is replaced after some hundred figures, since it grows, and ends with the
service. It runs this module as a program. A message has a kind, a scale, and a body preceded by its length.
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
from typing import TYPE_CHECKING, Any, BinaryIO

from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake.figures.rendering import Rendered

MOST_WAITING = 32
SECONDS_EACH = 20.0
SECONDS_TO_START = 60.0
FIGURES_PER_PROCESS = 300
_READY, _RENDERED, _FAILED = "ready", "rendered", "failed"
_HEAD = struct.Struct("!8sdQ")
_LONGEST = 512 * 1024 * 1024
_log = logging.getLogger(__name__)


class FiguresBusy(LossLakeError):
    """Too many figures are waiting to be rendered."""

    def __init__(self, n_waiting: int, retry_after: int) -> None:
        super().__init__(f"{n_waiting} figures are waiting to be rendered: try again in {retry_after} s")
        self.retry_after = retry_after


class RenderingFailed(Exception):
    """Rendering a specification failed or took too long."""


class Renderer:
    """A renderer of one figure after the other, for any thread and event loop.

    seconds_each: for a figure, from when the process is ready for it. seconds_to_start: until it is.
    """

    def __init__(
        self,
        seconds_each: float = SECONDS_EACH,
        figures_per_process: int = FIGURES_PER_PROCESS,
        seconds_to_start: float = SECONDS_TO_START,
    ) -> None:
        self._seconds_each = seconds_each
        self._seconds_to_start = seconds_to_start
        self._figures_per_process = figures_per_process
        self._thread = ThreadPoolExecutor(1, "renders figures")
        self._process: _Process | None = None
        self._n_waiting = 0

    @property
    def process_id(self) -> int | None:
        """The id of the rendering process; None before the first figure."""
        return self._process.process_id if self._process is not None else None

    async def render(self, specification: bytes, ending: Rendered, scale: float = 1.0) -> bytes:
        """Return the bytes of an image; raises FiguresBusy and RenderingFailed."""
        if self._n_waiting >= MOST_WAITING:
            raise FiguresBusy(MOST_WAITING, retry_after=5)
        self._n_waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._rendered, specification, ending, scale)
        finally:
            self._n_waiting -= 1

    def close(self) -> None:
        """End the process after the waiting figures; another figure would start a new process."""
        self._thread.submit(self._drop).result()

    def _rendered(self, specification: bytes, ending: Rendered, scale: float) -> bytes:
        """Render in the process; retry once in a new process if it has died. Runs in the renderer's thread."""
        try:
            kind, body = self._send_request(specification, ending, scale)
        except ConnectionError:
            try:
                kind, body = self._send_request(specification, ending, scale)
            except ConnectionError:
                raise RenderingFailed("the process that renders figures died twice") from None
        if kind != _RENDERED:
            raise RenderingFailed(body.decode("utf-8", "replace"))
        return body

    def _send_request(self, specification: bytes, ending: Rendered, scale: float) -> tuple[str, bytes]:
        """Return the reply of the process; raises ConnectionError if it has died."""
        process = self._process = self._process or _Process()
        try:
            process.wait_until_ready(self._seconds_to_start)
            reply = process.render(specification, ending, scale, self._seconds_each)
        except ConnectionError as error:
            _log.warning("the process that renders figures died: %s", error)
            self._drop()
            raise
        except TimeoutError:
            self._drop()
            if not process.is_ready:
                raise RenderingFailed(f"its process did not start within {self._seconds_to_start:g} s") from None
            raise RenderingFailed(f"a figure took longer than {self._seconds_each:g} s") from None
        if process.n_requests >= self._figures_per_process:
            self._drop()
        return reply

    def _drop(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


class _Process:
    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-m", "losslake.figures.renderer"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
                start_new_session=True,
            )
        self._stream = self._channel.makefile("rb")
        self.process_id = self._process.pid
        self.is_ready = False
        self.n_requests = 0

    def wait_until_ready(self, seconds: float) -> None:
        if not self.is_ready:
            self._channel.settimeout(seconds)
            _receive(self._stream)
            self.is_ready = True

    def render(self, specification: bytes, ending: Rendered, scale: float, seconds: float) -> tuple[str, bytes]:
        self.n_requests += 1
        self._channel.settimeout(seconds)
        _send(self._channel, ending, scale, specification)
        kind, _, body = _receive(self._stream)
        return kind, body

    def end(self) -> None:
        self._stream.close()
        self._channel.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()


def _send(channel: socket.socket, kind: str, scale: float, body: bytes) -> None:
    """Send a message; raises ConnectionError, and TimeoutError where the channel has a timeout."""
    channel.sendall(_HEAD.pack(kind.encode(), scale, len(body)))
    channel.sendall(body)


def _receive(stream: BinaryIO) -> tuple[Any, float, bytes]:
    """Return the next message; raises ConnectionError, and TimeoutError where the channel has a timeout."""
    kind, scale, length = _HEAD.unpack(_exactly(stream, _HEAD.size))
    if length > _LONGEST:
        raise ConnectionError(f"a message of {length} bytes")
    return kind.rstrip(b"\0").decode("ascii", "replace"), scale, _exactly(stream, length)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    received = stream.read(length)
    if len(received) < length:
        raise ConnectionError("the connection was closed")
    return received


def main() -> None:
    """Render one figure after the other, until the socket on standard input is closed."""
    # Imported here, since the service itself doesn't need the 9 MB of the renderer.
    from losslake.figures.rendering import render_image

    channel = socket.socket(fileno=os.dup(0))
    requests = channel.makefile("rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what reads standard input takes no request away
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Answers have priority over figures.
    os.nice(10)
    _send(channel, _READY, 0.0, b"")
    while True:
        try:
            ending, scale, specification = _receive(requests)
        except ConnectionError:
            return
        try:
            kind, body = _RENDERED, render_image(specification, ending, scale)
        except Exception as error:  # noqa: BLE001  # the service logs any error
            kind, body = _FAILED, f"{type(error).__name__}: {error}"[:1000].encode()
        _send(channel, kind, scale, body)


if __name__ == "__main__":
    main()

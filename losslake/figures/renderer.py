"""Renders figures in a process of its own: the renderer would hold up every other request of this one.

That process is started by the first figure, is renewed after some hundred, as it grows, and ends with the service.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from losslake.figures.formats import FiguresBusy, RenderingFailed
from losslake.figures.messages import RENDERED, Message, MessageLost, Rendered, receive, send

MOST_WAITING = 32
SECONDS_EACH = 20.0
FIGURES_PER_PROCESS = 300
_PROGRAM = "losslake.figures.rendering"
_log = logging.getLogger(__name__)


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
        """The bytes of an image, as `rendered` makes them; raises FiguresBusy and RenderingFailed."""
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
        """In the one thread of this: ask the process; a new one, once more, if it has died meanwhile."""
        for attempt in (1, 2):
            process = self._process = self._process or _Process(self._seconds_each)
            try:
                reply = process.ask(message)
            except MessageLost as error:
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
        self.n_asked = 0

    @property
    def process_id(self) -> int:
        return self._process.pid

    def ask(self, message: Message) -> Message:
        self.n_asked += 1
        send(self._channel, message)
        return receive(self._channel)

    def end(self) -> None:
        self._channel.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

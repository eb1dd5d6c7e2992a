"""A process that answers requests with the routes of the service, one after the other, and may be killed.

It has a low priority, and DuckDB one thread in it, so that whoever is answered in the event loop doesn't wait for it:
neither for Python's lock nor for a core.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import recv_handle, send_handle
from typing import TYPE_CHECKING, Any, BinaryIO

from starlette.types import ASGIApp, Message, Scope

from losslake.output.imports import without_pandas
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake.questions.release.releases import Releases

Headers = list[tuple[bytes, bytes]]
# Return the application of a process, and its releases; a function of a module.
MakeApp = Callable[..., "tuple[ASGIApp, Releases]"]
SECONDS_TO_START = 60.0
_NICENESS = 10
_log = logging.getLogger(__name__)


class TookTooLong(LossLakeError):
    """An answer was not ready in time; its process was killed."""


class ProcessEnded(LossLakeError):
    """The process ended before its answer: it was killed, as for lack of memory, or failed."""


class AnswerFailed(Exception):
    """An answer failed after its beginning, by a fault of the service."""


@dataclass(frozen=True)
class ForwardedRequest:
    """A request for the process. scope: of ASGI, without what can't be sent. file: open, for the response's body."""

    scope: dict[str, Any]
    release: int
    file: int


@dataclass(frozen=True)
class ForwardedResponse:
    """The head of a response."""

    status: int
    headers: Headers


class AnsweringProcess:
    """A process that is started for the first request, and again after it was killed. Used by one thread at a time."""

    def __init__(self, make_app: MakeApp, *arguments: object) -> None:
        """Take what makes its application, and the arguments of that, which are sent to the process."""
        self._make_app, self._arguments = make_app, arguments
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    @property
    def process_id(self) -> int | None:
        """The id of the process; None if there is none."""
        return self._process.pid if self._process is not None else None

    def answer(self, request: ForwardedRequest, seconds: float) -> ForwardedResponse:
        """Return the head of the response, once its body is in the file. Raises TookTooLong and ProcessEnded.

        seconds: that the answer may take, beside the start of the process.
        """
        connection = self._started()
        try:
            connection.send(request)
            send_handle(connection, request.file, self.process_id or 0)  # Unix needs no id
            if not connection.poll(seconds):
                self.kill()
                raise TookTooLong(f"the answer took more than {seconds:g} s")
            response: ForwardedResponse | None = connection.recv()
        except (EOFError, OSError):
            self.kill()
            raise ProcessEnded("the process of the answer ended") from None
        if response is None:
            raise AnswerFailed("an expensive answer failed after its beginning; its process has logged why")
        return response

    def _started(self) -> Connection:
        """Return the connection to the process, and start it first if there is none."""
        with self._lock:
            if self._is_closed:
                raise ProcessEnded("the service is ending")
            if self._connection is not None and self._process is not None and self._process.is_alive():
                return self._connection
            context = multiprocessing.get_context("spawn")
            self._connection, inner = context.Pipe()
            arguments = inner, self._make_app, self._arguments
            self._process = context.Process(target=_answer_requests, args=arguments, name="answers", daemon=True)
            self._process.start()
            inner.close()
            connection = self._connection
        if not connection.poll(SECONDS_TO_START) or connection.recv() != "ready":
            self.kill()
            raise ProcessEnded("the process of the answer didn't start")
        return connection

    def kill(self) -> None:
        """Kill the process, from any thread; an answer that it computes fails."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.join()
                self._process = None

    def close(self) -> None:
        """Kill the process, and start no other."""
        self._is_closed = True
        self.kill()


def _answer_requests(connection: Connection, make_app: MakeApp, arguments: tuple[object, ...]) -> None:
    """Answer requests until the other end of the connection is closed."""
    # Whoever started the service ends it, and this process with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICENESS)
    without_pandas()
    app, releases = make_app(*arguments)
    connection.send("ready")
    with asyncio.Runner() as runner:
        while True:
            try:
                request: ForwardedRequest = connection.recv()
                body = os.fdopen(recv_handle(connection), "wb")
            except EOFError:
                return
            newest = releases.refresh()
            releases.notices.refresh(newest.number)
            for view in (newest, releases.view(request.release)):
                view.cursor().execute("SET threads = 1")
            with body:
                connection.send(runner.run(_answer(app, request.scope, body)))


async def _answer(app: ASGIApp, scope: Scope, file: BinaryIO) -> ForwardedResponse | None:
    """Write the body of a response to a file, and return its head; None if the body isn't whole."""
    status, headers = 500, Headers()
    messages: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        # The client never leaves: the process is killed then.
        return messages.pop() if messages else await asyncio.Future()

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], [*message.get("headers", ())]
        else:
            file.write(message.get("body", b""))

    try:
        await app(scope, receive, send)
    except Exception:  # noqa: BLE001 - the process goes on
        _log.exception("an expensive answer failed")
        # Then a problem document was sent, unless the body of another response had begun.
        if status < 400:
            return None
    file.flush()
    return ForwardedResponse(status, headers)

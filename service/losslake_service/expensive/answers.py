"""Work of a request that may be expensive: done in a thread, or in another process if its questions cost too much."""

from __future__ import annotations

import asyncio
import math
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from pathlib import Path
from queue import LifoQueue
from typing import IO, TypeVar

from fastapi import Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from losslake.questions.declaration.cost import Budget, Expensive, budget
from losslake_service.expensive.process import (
    AnsweringProcess,
    ForwardedRequest,
    ForwardedResponse,
    MakeApp,
    ProcessEnded,
    TookTooLong,
)
from losslake_service.files.file_response import MAX_MESSAGE, file_response
from losslake_service.operation.clients import client_of, unless_left
from losslake_service.operation.metrics import Metrics, count_outcome
from losslake_service.problems import QuestionProblem
from losslake_service.settings import Settings
from losslake_service.shares.allowances import MINUTE, Allowance
from losslake_service.shares.places import FairThreads, NoPlace, UsedUp

BUSY, CLIENT, TIME = "questions-busy", "questions-client-limit", "questions-time-limit"
T = TypeVar("T")
# Up to these, questions are answered in any thread; up to `expensive_seconds`, one at a time.
_QUICK_SECONDS = 0.05
_WAITING, _SECONDS_TO_WAIT = 64, 2
# A work that took less than expected of its route lowers what is expected by this factor.
_FORGETTING = 0.9
# An estimate may be wrong by this factor before a question is refused by it alone.
_TOLERANCE = 4
_FORWARDED = frozenset(
    ["type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "root_path", "query_string", "server"]
)
# The outer service decides about these itself.
_NOT_FORWARDED = frozenset(
    b"range if-range if-match if-none-match if-modified-since if-unmodified-since accept-encoding".split()
)
_ADVICE = "ask for fewer workloads, trials or targets, or download the release and ask on your own machine"


class Answers:
    """The work of requests. Questions within `expensive_seconds` are answered here, others in other processes.

    These are few, with a bounded queue that is fair among clients. So are those here that take more than a blink, one
    after the other: they would hold up the threads, and Python's lock, for those that take less.
    """

    def __init__(self, settings: Settings, metrics: Metrics, make_app: MakeApp | None, *arguments: object) -> None:
        """Take the settings. make_app: makes the application of the processes; None: everything is answered here."""
        self._settings, self._outcomes = settings, metrics.expensive_questions
        self._make_app = make_app
        places = settings.question_places
        seconds = Allowance(settings.question_client_seconds, MINUTE) if settings.question_client_seconds else None
        self._threads = FairThreads("expensive", places, settings.question_waiting, seconds)
        # A client can't use all seconds of the one thread: they only say whose turn is next.
        self._slow = FairThreads("slow", 1, _WAITING, Allowance(MINUTE, MINUTE))
        self._processes = [AnsweringProcess(make_app, *arguments) for _ in range(places)] if make_app else []
        # The last one used first: it runs, and others are started only if it is busy.
        self._free: LifoQueue[AnsweringProcess] = LifoQueue()
        for process in self._processes:
            self._free.put(process)
        # By route, how many times their first answer recent works took: so that no answer is computed in vain.
        self._ratios: dict[str, float] = {}

    async def here(self, request: Request, work: Callable[[], T]) -> T:
        """Return what work returns, done in a thread of this process.

        Raises Expensive for questions of another process, QuestionProblem and ClientDisconnect beside what it raises.
        """
        if self._make_app is None:
            return await run_in_threadpool(work)
        most = self._settings.expensive_seconds
        route: str = getattr(request.scope.get("route"), "path", "")
        try:
            with budget(min(_QUICK_SECONDS, most), self._ratios.get(route, 1.0)) as used:
                result = await run_in_threadpool(work)
            self._learn(route, used)
            return result
        except Expensive as expensive:
            if expensive.seconds > most:
                raise
        # From the beginning, since the work may have several questions: at most _QUICK_SECONDS are done again.
        with budget(most) as used:
            context = copy_context()
        try:
            future = self._slow.submit(client_of(request.scope), partial(context.run, work))
        except (NoPlace, UsedUp) as refusal:
            raise self._refused(refusal, _SECONDS_TO_WAIT) from None
        try:
            result = await _result(request, future)
        finally:
            future.cancel()
        self._learn(route, used)
        return result

    async def respond(self, request: Request, release: int, work: Callable[[], Response]) -> Response:
        """Return the response that work makes in a thread, or another process for the same request.

        Raises QuestionProblem and ClientDisconnect beside what work raises.
        """
        try:
            return await self.here(request, work)
        except Expensive as expensive:
            return await self.forward(request, release, expensive)

    async def forward(
        self,
        request: Request,
        release: int,
        expensive: Expensive,
        path: str | None = None,
        query: bytes | None = None,
        *,
        in_memory: bool = False,
    ) -> Response:
        """Return the response of another process. Raises QuestionProblem and ClientDisconnect.

        path, query: other ones than those of the request. in_memory: with its whole body, however long it is.
        """
        scope = {name: request.scope[name] for name in _FORWARDED if name in request.scope}
        headers = [each for each in request.scope["headers"] if each[0] not in _NOT_FORWARDED]
        state = {name: value for name, value in request.scope.get("state", {}).items() if name == "request_id"}
        scope |= {"method": "GET", "headers": headers, "state": state, "client": None}
        if path is not None:
            scope |= {"path": path, "raw_path": path.encode()}
        if query is not None:
            scope |= {"query_string": query}
        # Without a name, so that a kill leaves nothing: an answer of a draft is private.
        with tempfile.TemporaryFile() as file:
            forwarded = ForwardedRequest(scope, release, file.fileno())
            with count_outcome(self._outcomes):
                head = await self._run(request, forwarded, expensive.seconds)
            return await run_in_threadpool(_response, request, head, file, in_memory)

    def close(self) -> None:
        """End the processes; what they compute fails."""
        for process in self._processes:
            process.close()
        self._threads.shutdown()
        self._slow.shutdown()

    def _learn(self, route: str, used: Budget) -> None:
        self._ratios[route] = max(used.ratio, _FORGETTING * self._ratios.get(route, 1.0))

    async def _run(self, request: Request, forwarded: ForwardedRequest, seconds: float) -> ForwardedResponse:
        limit = self._settings.question_seconds
        if seconds > _TOLERANCE * limit:
            raise QuestionProblem(
                TIME, f"the answer would take about {seconds:,.0f} s, the limit is {limit:g} s: {_ADVICE}"
            )
        work = _Work(forwarded, limit, self._free)
        try:
            future = self._threads.submit(client_of(request.scope), work)
        except (NoPlace, UsedUp) as refusal:
            raise self._refused(refusal, max(1, math.ceil(limit / 6))) from None
        try:
            return await _result(request, future)
        except TookTooLong:
            detail = f"the answer took more than {limit:g} s, the limit question_seconds: {_ADVICE}"
            raise QuestionProblem(TIME, detail) from None
        except ProcessEnded:
            raise QuestionProblem(BUSY, "the process of the answer ended: try again in 5 s", 5) from None
        finally:
            if not future.done() and not future.cancel():
                work.abandon()

    def _refused(self, refusal: NoPlace | UsedUp, wait: int) -> QuestionProblem:
        """Return the problem of a question that can't even wait. wait: seconds until it may."""
        if isinstance(refusal, UsedUp):
            wait, most = math.ceil(refusal.seconds), self._settings.question_client_seconds
            why = f"expensive questions from your address ran {most:g} s a minute, the limit question_client_seconds"
            return QuestionProblem(CLIENT, f"{why}: try again in {wait} s", wait)
        of_client = " from your address" if refusal.is_of_client else ""
        why = f"{refusal.count} expensive questions{of_client} are being answered or wait"
        return QuestionProblem(CLIENT if refusal.is_of_client else BUSY, f"{why}: try again in {wait} s", wait)


async def _result(request: Request, future: Future[T]) -> T:
    """Return the result of a future. Raises ClientDisconnect."""
    running = asyncio.wrap_future(future)
    # What fails once nobody waits for it is no error of the event loop.
    running.add_done_callback(lambda done: done.cancelled() or done.exception())
    return await unless_left(request, running)


class _Work:
    """An answer of a process; what is abandoned is killed."""

    def __init__(self, request: ForwardedRequest, seconds: float, free: LifoQueue[AnsweringProcess]) -> None:
        self._request, self._seconds, self._free = request, seconds, free
        self._process: AnsweringProcess | None = None
        self._is_abandoned = False
        # Held while the process is taken, given back, or killed: afterwards it answers others.
        self._lock = threading.Lock()

    def __call__(self) -> ForwardedResponse:
        """Return the answer; raise TookTooLong and ProcessEnded."""
        # There are as many as threads.
        process = self._free.get()
        try:
            with self._lock:
                self._process = process
                if self._is_abandoned:
                    raise ProcessEnded("the client has left")
            return process.answer(self._request, self._seconds)
        finally:
            with self._lock:
                self._process = None
            self._free.put(process)

    def abandon(self) -> None:
        """Kill the process, if it answers this request."""
        with self._lock:
            self._is_abandoned = True
            if self._process is not None:
                self._process.kill()


def _response(request: Request, head: ForwardedResponse, file: IO[bytes], in_memory: bool) -> Response:
    """Return the response with the body in a file."""
    headers: Mapping[str, str] = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    size = os.fstat(file.fileno()).st_size
    is_long = size > MAX_MESSAGE or "range" in request.headers
    if head.status == 200 and "etag" in headers and is_long and not in_memory:
        path = Path(f"/dev/fd/{file.fileno()}")
        return file_response(request, path, headers.get("content-type", ""), headers)
    file.seek(0)
    response = Response(file.read(), head.status)
    length = b"content-length", str(size).encode()
    response.raw_headers = [*(each for each in head.headers if each[0] != length[0]), length]
    return response

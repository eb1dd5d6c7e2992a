"""The SQL sandbox: a few worker processes with a short queue."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from losslake_service.sandbox import errors
from losslake_service.sandbox.confinement import Confinement
from losslake_service.sandbox.errors import BUSY, CLIENT, SqlLimits, SqlProblem, busy, unavailable
from losslake_service.sandbox.results import SqlResult
from losslake_service.sandbox.statement import Parameters
from losslake_service.sandbox.workers import PROGRAM, DataFiles, Worker
from losslake_service.shares.allowances import MINUTE, Allowance
from losslake_service.shares.places import FairThreads, NoPlace, Places, UsedUp

# Seconds between starts of workers that fail, in the beginning and at most.
_FIRST_WAIT = 1.0
_LONGEST_WAIT = 60.0
_log = logging.getLogger(__name__)


class SqlSandbox:
    """Runs statements in confined worker processes. Create one per process, and close it.

    A worker serves a single release. A spare worker, loaded but not yet confined to a release, is ready to replace one
    that was killed. After a worker failed to start, requests for its release fail at once for a while.
    """

    def __init__(self, limits: SqlLimits | None = None, program: str = PROGRAM) -> None:
        """Create the sandbox. program: the module that a worker runs."""
        self.limits = limits or SqlLimits()
        self._program = program
        # Workers end with the thread that started them, so these threads must live as long as the sandbox.
        seconds = Allowance(self.limits.client_seconds, MINUTE) if self.limits.client_seconds else None
        self._threads = FairThreads("sql", self.limits.workers, self.limits.waiting, seconds)
        # A statement has one from when it is sent until it fails, or its result is closed.
        self._results = Places(self.limits.open_results)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._running: set[Worker] = set()
        self._spare: Worker | None = None
        self._failures: dict[Path, _StartFailure] = {}
        self._is_closed = False

    async def start(self, serving_file: Path, data_files: DataFiles) -> Confinement:
        """Start the workers for a release; log and return their confinement. Raise SqlProblem."""
        with self._lock:
            if self._is_closed:
                raise unavailable()
            acquire = partial(self._acquire, serving_file, data_files)
            starting = [self._threads.submit(None, acquire) for _ in range(self.limits.workers)]
        started = await asyncio.gather(*map(asyncio.wrap_future, starting), return_exceptions=True)
        for worker in started:
            if isinstance(worker, Worker):
                self._release_worker(worker)
        if self._is_closed:
            raise unavailable()
        for worker in started:
            if isinstance(worker, BaseException):
                raise worker
            confinement = worker.confinement
        _log.info("SQL is confined: %s", "; ".join(confinement.in_force))
        for missing in confinement.missing:
            _log.warning("SQL lacks confinement: %s", missing)
        return confinement

    async def run(
        self,
        serving_file: Path,
        data_files: DataFiles,
        statement: str,
        parameters: Parameters = None,
        max_rows: int | None = None,
        output: str = "arrow",
        reply: Mapping[str, Any] | None = None,
        client: str | None = None,
    ) -> SqlResult:
        """Run one untrusted statement on a release; cancelling kills its worker.

        Args:
            serving_file: the release's DuckDB file.
            data_files: its Parquet files, or a source of their ranges.
            statement: any text; anything but a single query is refused.
            parameters: JSON values, by position or by name.
            max_rows: maximum rows, if less than the limit.
            output: the format of the result, one of `results.OUTPUTS`.
            reply: facts of the answer, beside those of the result.
            client: that the statement counts for; None: it counts for nobody.

        Returns:
            The complete result, which the caller closes.

        Raises:
            SqlProblem: the statement is refused, fails or exceeds a limit.
        """
        limits = self.limits
        _check_length(statement, parameters, limits)
        if max_rows is not None and max_rows < limits.result_rows:
            limits = replace(limits, result_rows=max_rows)
        request = {"statement": statement, "parameters": parameters, "format": output, "facts": dict(reply or {})}
        job = _Job(serving_file, data_files, request, limits, client)
        future, has_expired = self._enqueue(job), False

        def expire() -> None:
            nonlocal has_expired
            has_expired = future.cancel()

        waiting = asyncio.get_running_loop().call_later(limits.waiting_seconds, expire)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if has_expired:
                raise busy(limits, f"the statement waited {limits.waiting_seconds:g} s in the queue") from None
            with self._lock:
                job.is_abandoned = True
                if job.worker is not None:
                    job.worker.kill()
            raise
        finally:
            waiting.cancel()

    def close(self) -> None:
        """Stop all workers, those that are starting as well; running and waiting statements fail."""
        with self._lock:
            self._is_closed = True
            workers = [*self._idle, *([self._spare] if self._spare else [])]
            # All at once, as the system takes a while to end each.
            for worker in (*self._running, *workers):
                worker.kill()
            self._idle, self._spare = [], None
        self._threads.shutdown(wait=False)
        for worker in workers:
            worker.close()

    def _enqueue(self, job: _Job) -> Future[SqlResult]:
        """Let a statement wait for a worker; raise SqlProblem."""
        if self._is_closed:
            raise unavailable()
        limits, client = self.limits, job.client
        try:
            self._results.take(client)
        except NoPlace as full:
            whose = ("to your address", CLIENT) if full.is_of_client else ("", BUSY)
            raise busy(limits, f"{full.count} results are being made or sent {whose[0]}".rstrip(), whose[1]) from None
        try:
            future = self._threads.submit(client, partial(self._run, job))
        except (NoPlace, UsedUp) as refusal:
            self._results.leave(client)
            raise _refused(limits, refusal) from None
        future.add_done_callback(partial(self._leave_without_result, client))
        return future

    def _leave_without_result(self, client: str | None, future: Future[SqlResult]) -> None:
        if future.cancelled() or future.exception() is not None:
            self._results.leave(client)

    def _run(self, job: _Job) -> SqlResult:
        """Run a statement in a worker and wait for it; raise SqlProblem."""
        handle, name = tempfile.mkstemp(prefix="losslake-sql-")
        result = Path(name).open("rb", buffering=0)  # noqa: SIM115 - closed with the result
        Path(name).unlink()  # so that a kill leaves nothing: that of a draft is private
        try:
            worker = self._acquire(job.serving_file, job.data_files)
            try:
                with self._lock:
                    job.worker = worker
                    if job.is_abandoned:
                        worker.kill()
                with tempfile.TemporaryFile(buffering=0) as spooled:
                    reply = worker.run(job.request, spooled.fileno(), handle, job.limits)
            finally:
                with self._lock:
                    job.worker = None
                self._release_worker(worker)
            return SqlResult(result, reply, partial(self._results.leave, job.client))
        except (OSError, KeyError, ValueError, TypeError) as error:
            result.close()
            _log.error("a worker for SQL reported a result that makes no sense: %s", error)
            raise unavailable() from None
        except BaseException:
            result.close()
            raise
        finally:
            os.close(handle)

    def _acquire(self, serving_file: Path, data_files: DataFiles) -> Worker:
        """Return a worker for this release, exclusive to the caller."""
        with self._lock:
            idle = next((worker for worker in self._idle if worker.release == serving_file), None)
            if idle is not None:
                self._idle.remove(idle)
                if idle.is_usable():
                    self._running.add(idle)
                    return idle
            failure = self._failures.get(serving_file)
            seconds_left = failure.seconds_left() if failure is not None else 0.0
            if seconds_left <= 0:
                spare, self._spare = self._spare, None
        if idle is not None:
            idle.close()
        if failure is not None and seconds_left > 0:
            raise replace(failure.problem, retry_after=math.ceil(seconds_left))
        return self._start_worker(spare, serving_file, data_files)

    def _start_worker(self, spare: Worker | None, serving_file: Path, data_files: DataFiles) -> Worker:
        """Start a worker for this release; raise SqlProblem, after which the next start has to wait."""
        worker: Worker | None = None
        try:
            worker = spare or Worker(self._program)
            with self._lock:
                self._running.add(worker)
                if self._is_closed:
                    worker.kill()
            self._start_spare()
            worker.open(serving_file, data_files, self.limits)
        except SqlProblem as problem:
            with self._lock:
                self._failures[serving_file] = _StartFailure.after(self._failures.get(serving_file), problem)
            if worker is not None:
                self._release_worker(worker)
            raise
        with self._lock:
            self._failures.pop(serving_file, None)
        return worker

    def _release_worker(self, worker: Worker) -> None:
        """Keep a worker for reuse unless it was killed; stop the longest idle one if there are too many."""
        with self._lock:
            self._running.discard(worker)
            if worker.is_usable() and worker.release is not None and not self._is_closed:
                self._idle.append(worker)
            surplus = [worker] if worker not in self._idle else []
            if len(self._idle) > self.limits.workers:
                surplus.append(self._idle.pop(0))
        for other in surplus:
            other.close()
        self._start_spare()

    def _start_spare(self) -> None:
        """Start a spare worker, unless there is one or workers fail at their start."""
        with self._lock, suppress(SqlProblem):
            if self._spare is None and not self._is_closed and not self._failures:
                self._spare = Worker(self._program)


@dataclass(frozen=True)
class _StartFailure:
    """The last failure to start a worker for a release. No other is started for `seconds`, which double each time."""

    problem: SqlProblem
    seconds: float
    at: float

    @classmethod
    def after(cls, earlier: _StartFailure | None, problem: SqlProblem) -> _StartFailure:
        """Return the failure after an earlier one; those of concurrent starts count once."""
        if earlier is not None and earlier.seconds_left() > 0:
            return earlier
        seconds = min(2 * earlier.seconds, _LONGEST_WAIT) if earlier is not None else _FIRST_WAIT
        return cls(problem, seconds, time.monotonic())

    def seconds_left(self) -> float:
        """Return the seconds until the next start."""
        return self.at + self.seconds - time.monotonic()


@dataclass(eq=False)
class _Job:
    """A queued or running statement; `worker`: the one that runs it."""

    serving_file: Path
    data_files: DataFiles
    request: Mapping[str, Any]
    limits: SqlLimits
    client: str | None
    worker: Worker | None = None
    is_abandoned: bool = False


def _refused(limits: SqlLimits, refusal: NoPlace | UsedUp) -> SqlProblem:
    if isinstance(refusal, UsedUp):
        seconds = math.ceil(refusal.seconds)
        why = f"statements from your address ran {limits.client_seconds:g} s a minute, the limit sql_client_seconds"
        return SqlProblem(CLIENT, f"{why}: try again in {seconds} s", retry_after=seconds)
    if refusal.is_of_client:
        return busy(limits, f"{refusal.count} statements from your address are running or waiting", CLIENT)
    return busy(limits, f"{limits.workers} statements are running and {limits.waiting} are waiting")


def _check_length(statement: str, parameters: Parameters, limits: SqlLimits) -> None:
    for what, text, max_bytes in (
        ("statement has", statement, limits.statement_bytes),
        ("parameters have", json.dumps(parameters, ensure_ascii=False), limits.parameter_bytes),
    ):
        try:
            length = len(text.encode())
        except UnicodeEncodeError:
            raise SqlProblem(errors.ERROR, "the statement or a parameter is not valid Unicode: send UTF-8") from None
        if length > max_bytes:
            raise SqlProblem(errors.NOT_ALLOWED, f"the {what} {length:,} bytes: the maximum is {max_bytes:,}")

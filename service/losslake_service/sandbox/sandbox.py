"""The SQL sandbox: a few worker processes with a short queue."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
import math
import os
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from losslake_service.sandbox import errors
from losslake_service.sandbox.confinement import Confinement
from losslake_service.sandbox.errors import SqlLimits, SqlProblem, busy, unavailable
from losslake_service.sandbox.results import SqlResult
from losslake_service.sandbox.shares import ClientShares
from losslake_service.sandbox.statement import Parameters
from losslake_service.sandbox.workers import PROGRAM, DataFiles, Worker

# Seconds between starts of workers that fail, in the beginning and at most.
_FIRST_WAIT = 1.0
_LONGEST_WAIT = 60.0
_log = logging.getLogger(__name__)


class SqlSandbox:
    """Runs statements in confined worker processes. Create one per process, and close it.

    A worker serves a single release. A spare worker, loaded but not yet confined to a release, is ready to replace one
    that was killed. After a worker failed to start, requests for its release fail at once for a while. Of the waiting
    statements, the next one is that of the client that used the fewest seconds.
    """

    def __init__(self, limits: SqlLimits | None = None, program: str = PROGRAM) -> None:
        """Create the sandbox. program: the module that a worker runs."""
        self.limits = limits or SqlLimits()
        self._program = program
        # Workers end with the thread that started them, so these threads must live as long as the sandbox.
        self._threads = concurrent.futures.ThreadPoolExecutor(self.limits.workers, "sql")
        # Reentrant, as a result that nobody closed may be collected while it is held.
        self._lock = threading.RLock()
        self._idle: list[Worker] = []
        self._running: set[Worker] = set()
        self._spare: Worker | None = None
        self._failures: dict[Path, _StartFailure] = {}
        self._waiting: list[_Job] = []
        self._shares = ClientShares(self.limits)
        self._pending = 0
        self._open_results = 0
        self._is_closed = False

    async def start(self, serving_file: Path, data_files: DataFiles) -> Confinement:
        """Start the workers for a release; log and return their confinement. Raise SqlProblem."""
        with self._lock:
            if self._is_closed:
                raise unavailable()
            acquire = partial(self._acquire, serving_file, data_files)
            starting = [self._threads.submit(acquire) for _ in range(self.limits.workers)]
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
        self._enqueue(job)
        has_expired = False

        def expire() -> None:
            nonlocal has_expired
            has_expired = job.future.cancel()

        waiting = asyncio.get_running_loop().call_later(limits.waiting_seconds, expire)
        try:
            return await asyncio.wrap_future(job.future)
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
            waiting = [*self._waiting]
            workers = [*self._idle, *([self._spare] if self._spare else [])]
            # All at once, as the system takes a while to end each.
            for worker in (*self._running, *workers):
                worker.kill()
            self._idle, self._spare = [], None
            self._threads.shutdown(wait=False, cancel_futures=True)
        for job in waiting:
            job.future.cancel()
        for worker in workers:
            worker.close()

    def _enqueue(self, job: _Job) -> None:
        """Let a statement wait for a worker; raise SqlProblem."""
        limits = self.limits
        with self._lock:
            if self._is_closed:
                raise unavailable()
            self._shares.check(job.client)
            if self._pending >= limits.workers + limits.waiting:
                raise busy(limits, f"{limits.workers} statements are running and {limits.waiting} are waiting")
            if self._open_results >= limits.open_results:
                raise busy(limits, f"{limits.open_results} results are being sent")
            self._pending += 1
            self._shares.change(job.client, statements=1)
            self._waiting.append(job)
            job.future.add_done_callback(lambda _: self._on_done(job))
            self._threads.submit(self._run_waiting)

    def _on_done(self, job: _Job) -> None:
        with self._lock:
            self._pending -= 1
            self._shares.change(job.client, statements=-1)
            if job in self._waiting:
                self._waiting.remove(job)

    def _run_waiting(self) -> None:
        """Run statements until none waits that may run: the end of one may let another of its client run."""
        while (job := self._next()) is not None:
            started = time.monotonic()
            try:
                result: SqlResult | BaseException = self._run(job)
            except BaseException as error:  # noqa: BLE001  # the request gets it
                result = error
            with self._lock:
                self._shares.change(job.client, running=-1)
                self._shares.charge(job.client, time.monotonic() - started)
            if isinstance(result, BaseException):
                job.future.set_exception(result)
            else:
                job.future.set_result(result)
            del job, result

    def _next(self) -> _Job | None:
        """Return the statement to run now, if any."""
        with self._lock:
            jobs = [job for job in self._waiting if self._shares.may_run(job.client)]
            for job in sorted(jobs, key=lambda job: self._shares.used_seconds(job.client)):
                self._waiting.remove(job)
                if job.future.set_running_or_notify_cancel():
                    self._shares.change(job.client, running=1)
                    return job
        return None

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
            self._count_results(job.client, 1)
            return SqlResult(result, reply, partial(self._count_results, job.client, -1))
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
            if failure is None or failure.seconds_left() <= 0:
                spare, self._spare = self._spare, None
        if idle is not None:
            idle.close()
        if failure is not None and failure.seconds_left() > 0:
            raise replace(failure.problem, retry_after=math.ceil(failure.seconds_left()))
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

    def _count_results(self, client: str | None, change: int) -> None:
        with self._lock:
            self._open_results += change
            self._shares.change(client, results=change)


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
    future: concurrent.futures.Future[SqlResult] = field(default_factory=concurrent.futures.Future)
    worker: Worker | None = None
    is_abandoned: bool = False


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

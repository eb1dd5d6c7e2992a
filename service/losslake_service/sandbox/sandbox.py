"""Strangers' SQL: a few workers, a short queue before them, and every limit a problem with a name."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
import tempfile
import threading
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from losslake_service.sandbox import errors
from losslake_service.sandbox.confinement import Confinement
from losslake_service.sandbox.errors import SqlLimits, SqlProblem, busy, unavailable
from losslake_service.sandbox.spool import SqlResult
from losslake_service.sandbox.statement import Parameters
from losslake_service.sandbox.workers import PROGRAM, DataFiles, Worker

_log = logging.getLogger(__name__)


class SqlSandbox:
    """Runs statements, each in a confined worker process; to be made once in a process, and closed.

    A worker stays with one release. One more is kept ready, loaded but not yet confined to a release, to take the place
    of one that was killed.
    """

    def __init__(self, limits: SqlLimits | None = None, program: str = PROGRAM) -> None:
        """
        Args:
            program: the module that a worker runs.
        """
        self.limits = limits or SqlLimits()
        self._program = program
        # Workers die with the thread that started them, so these threads live as long as the sandbox.
        self._threads = concurrent.futures.ThreadPoolExecutor(self.limits.workers, "sql")
        self._changing = threading.Lock()
        self._idle: list[Worker] = []
        self._running: set[Worker] = set()
        self._spare: Worker | None = None
        self._pending = 0
        self._open_results = 0
        self._is_closed = False

    async def start(self, serving_file: Path, data_files: DataFiles) -> Confinement:
        """Have workers ready for a release; returns, and logs, what confines them. Raises SqlProblem."""

        starting = (self._threads.submit(self._take, serving_file, data_files) for _ in range(self.limits.workers))
        started = await asyncio.gather(*map(asyncio.wrap_future, starting), return_exceptions=True)
        for worker in started:
            if isinstance(worker, Worker):
                self._give_back(worker)
        for worker in started:
            if isinstance(worker, BaseException):
                raise worker
            confinement = worker.confinement
        _log.info("SQL is confined: %s", "; ".join(confinement.in_force))
        for missing in confinement.missing:
            _log.warning("SQL is not confined by %s", missing)
        return confinement

    async def run(
        self,
        serving_file: Path,
        data_files: DataFiles,
        statement: str,
        parameters: Parameters = None,
        most_rows: int | None = None,
    ) -> SqlResult:
        """Run one statement of a stranger on a release; cancelling kills its worker.

        Args:
            serving_file: the release's DuckDB file.
            data_files: the folder that holds its Parquet files, all below which may be read, or who gives ranges.
            statement: SQL of any kind: it is refused if need be.
            parameters: values as JSON has them, by position or by name.
            most_rows: as many are taken, where that is fewer than the limit.

        Returns:
            The whole result; close it.

        Raises:
            SqlProblem: when it is refused, fails or meets a limit.
        """
        limits = self.limits
        _check_length(statement, parameters, limits)
        if most_rows is not None and most_rows < limits.result_rows:
            limits = replace(limits, result_rows=most_rows)
        job = _Job(serving_file, data_files, statement, parameters, limits)
        future = self._enqueue(job)
        has_expired = False

        def expire() -> None:
            nonlocal has_expired
            has_expired = future.cancel()

        waiting = asyncio.get_running_loop().call_later(limits.waiting_seconds, expire)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if has_expired:
                raise busy(limits, f"the statement waited {limits.waiting_seconds:g} s for its turn") from None
            with self._changing:
                job.is_abandoned = True
                if job.worker is not None:
                    job.worker.kill()
            raise
        finally:
            waiting.cancel()

    def close(self) -> None:
        """End every worker; statements that run or wait fail."""
        with self._changing:
            self._is_closed = True
            for worker in self._running:
                worker.kill()
            workers = [*self._idle, *([self._spare] if self._spare else [])]
            self._idle, self._spare = [], None
        for worker in workers:
            worker.discard()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _enqueue(self, job: _Job) -> concurrent.futures.Future[SqlResult]:
        limits = self.limits
        with self._changing:
            if self._is_closed:
                raise unavailable()
            if self._pending >= limits.workers + limits.waiting:
                raise busy(limits, f"{limits.workers} statements run and {limits.waiting} wait already")
            if self._open_results >= limits.open_results:
                raise busy(limits, f"{limits.open_results} results are being sent already")
            self._pending += 1
            future = self._threads.submit(self._run, job)
        future.add_done_callback(self._done)
        return future

    def _done(self, _: concurrent.futures.Future[SqlResult]) -> None:
        with self._changing:
            self._pending -= 1

    def _run(self, job: _Job) -> SqlResult:
        """Have a worker run a statement, and wait; raises SqlProblem."""
        file = cast(BinaryIO, tempfile.TemporaryFile(buffering=0))  # noqa: SIM115  # the result keeps it open
        try:
            worker = self._take(job.serving_file, job.data_files)
            try:
                with self._changing:
                    job.worker = worker
                    if job.is_abandoned:
                        worker.kill()
                facts = worker.ask(job.statement, job.parameters, file.fileno(), job.limits)
            finally:
                with self._changing:
                    job.worker = None
                self._give_back(worker)
            self._count_results(1)
            return SqlResult(file, facts, partial(self._count_results, -1))
        except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
            file.close()
            _log.error("a worker for SQL wrote a result that can't be read: %s", error)
            raise unavailable() from None
        except BaseException:
            file.close()
            raise

    def _take(self, serving_file: Path, data_files: DataFiles) -> Worker:
        """A worker for this release, for the caller alone."""
        with self._changing:
            found = next((worker for worker in self._idle if worker.release == serving_file), None)
            if found is not None:
                self._idle.remove(found)
                if found.is_usable():
                    self._running.add(found)
                    return found
            fresh, self._spare = self._spare, None
        if found is not None:
            found.discard()
        worker = fresh or Worker(self._program)
        with self._changing:
            self._running.add(worker)
        self._have_a_spare()
        try:
            worker.open(serving_file, data_files, self.limits)
        except SqlProblem:
            self._give_back(worker)
            raise
        return worker

    def _give_back(self, worker: Worker) -> None:
        """Keep a worker for later, unless it was killed; the one that was idle longest makes room."""
        with self._changing:
            self._running.discard(worker)
            if worker.is_usable() and worker.release is not None and not self._is_closed:
                self._idle.append(worker)
            dropped = [worker] if worker not in self._idle else []
            if len(self._idle) > self.limits.workers:
                dropped.append(self._idle.pop(0))
        for other in dropped:
            other.discard()
        self._have_a_spare()

    def _have_a_spare(self) -> None:
        with self._changing:
            if self._spare is None and not self._is_closed:
                self._spare = Worker(self._program)

    def _count_results(self, change: int) -> None:
        with self._changing:
            self._open_results += change


@dataclass(eq=False)
class _Job:
    """One statement on its way through a thread of the sandbox; `worker`: the one that runs it now."""

    serving_file: Path
    data_files: DataFiles
    statement: str
    parameters: Parameters
    limits: SqlLimits
    worker: Worker | None = None
    is_abandoned: bool = False


def _check_length(statement: str, parameters: Parameters, limits: SqlLimits) -> None:
    for what, text, most in (
        ("statement has", statement, limits.statement_bytes),
        ("parameters have", json.dumps(parameters, ensure_ascii=False), limits.parameter_bytes),
    ):
        try:
            length = len(text.encode())
        except UnicodeEncodeError:
            raise SqlProblem(errors.ERROR, "the statement or a parameter holds half a character: send UTF-8") from None
        if length > most:
            raise SqlProblem(errors.NOT_ALLOWED, f"the {what} {length:,} bytes: at most {most:,} are taken")

"""SQL statements of clients: a sandbox that starts and stops with the application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from weakref import WeakKeyDictionary

from fastapi import Request

from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake_schema.errors import LossLakeError
from losslake_service.operation.clients import client_of, unless_left
from losslake_service.operation.metrics import Metrics, count_outcome
from losslake_service.sandbox.errors import SqlLimits, SqlProblem
from losslake_service.sandbox.results import SqlResult
from losslake_service.sandbox.sandbox import SqlSandbox
from losslake_service.sandbox.statement import Parameters
from losslake_service.sandbox.workers import DataFiles, data_files_of
from losslake_service.settings import Settings

RETRY_SECONDS = 1.0
_log = logging.getLogger(__name__)


class SqlStatements:
    """Runs the statements of requests; counts them, and cancels them when the client disconnects.

    starts_at_once: start the workers with the application; otherwise the first statement starts them, and waits.
    """

    def __init__(
        self, settings: Settings, releases: Releases, metrics: Metrics, *, starts_at_once: bool = True
    ) -> None:
        self.limits = SqlLimits(
            seconds=settings.sql_seconds,
            memory_mb=settings.sql_memory_mb,
            result_mb=settings.sql_result_mb,
            result_rows=settings.sql_result_rows,
            workers=settings.sql_workers,
            waiting=settings.sql_waiting,
            client_seconds=settings.sql_client_seconds,
        )
        self._sandbox = SqlSandbox(self.limits)
        self._releases = releases
        self._data_files: WeakKeyDictionary[ReleaseView, DataFiles] = WeakKeyDictionary()
        self._outcomes = metrics.sql_statements
        self._failure = "its workers are starting" if starts_at_once else ""
        self._is_stopping = asyncio.Event()

    def check(self) -> None:
        """Raise LossLakeError if the workers are to start with the application, and haven't."""
        if self._failure:
            raise LossLakeError(self._failure)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Run the workers."""
        warming = asyncio.create_task(self._warm_up())
        try:
            yield
        finally:
            self._is_stopping.set()
            await asyncio.to_thread(self._sandbox.close)
            await warming

    async def _warm_up(self) -> None:
        """Start the workers, if they are to start; retry until it works, as a lake may get its first release later."""
        while self._failure and not self._is_stopping.is_set():
            try:
                view = await asyncio.to_thread(self._releases.view)
                await self._sandbox.start(view.serving_file, await self._data_files_of(view))
            except LossLakeError as error:
                if str(error) != self._failure and not self._is_stopping.is_set():
                    _log.warning("SQL is not available yet: %s", error)
                self._failure = str(error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._is_stopping.wait(), RETRY_SECONDS)
            else:
                self._failure = ""

    async def _data_files_of(self, view: ReleaseView) -> DataFiles:
        """Return the data files of a release for the workers; cached while the release is open."""
        data_files = self._data_files.get(view)
        if data_files is None:
            release = await asyncio.to_thread(self._releases.lake.find_release, view.number)
            assert release is not None
            data_files = await asyncio.to_thread(data_files_of, self._releases.lake, release)
            self._data_files[view] = data_files
        return data_files

    async def run(
        self,
        request: Request | None,
        view: ReleaseView,
        statement: str,
        parameters: Parameters = None,
        max_rows: int | None = None,
        output: str = "arrow",
    ) -> SqlResult:
        """Return the result of a statement, which the caller closes. Raise SqlProblem and ClientDisconnect.

        request: of the waiting client; its body must have been read. None for a client of this process, to whom no
        limit per client applies. max_rows: if less than the service's limit.
        output: the format of the result, one of `results.OUTPUTS`.
        """
        data_files = await self._data_files_of(view)
        facts, client = {"release": view.number}, client_of(request.scope) if request is not None else None
        run = self._sandbox.run(view.serving_file, data_files, statement, parameters, max_rows, output, facts, client)
        running = asyncio.create_task(run)
        with count_outcome(self._outcomes):
            try:
                return await unless_left(request, running)
            finally:
                if running.cancel():
                    with suppress(asyncio.CancelledError, SqlProblem):
                        await running

"""Strangers' SQL in an application: a sandbox that starts and ends with it, and statements that run there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from weakref import WeakKeyDictionary

from fastapi import FastAPI, Request

from losslake.questions.release_view import ReleaseView
from losslake.questions.releases import Releases
from losslake_schema.errors import LossLakeError
from losslake_service.operation.metrics import Metrics
from losslake_service.sandbox.errors import AskerLeft, SqlLimits, SqlProblem
from losslake_service.sandbox.sandbox import SqlSandbox
from losslake_service.sandbox.spool import SqlResult
from losslake_service.sandbox.statement import Parameters
from losslake_service.sandbox.workers import DataFiles, data_files_of
from losslake_service.settings import Settings

SECONDS_BETWEEN_TRIES = 1.0
_ANSWERED, _LEFT = "answered", "left"

_log = logging.getLogger(__name__)


class SqlStatements:
    """Runs statements for requests: counted, and ended when nobody waits for them any more."""

    def __init__(self, settings: Settings, releases: Releases, metrics: Metrics) -> None:
        self.limits = SqlLimits(
            seconds=settings.sql_seconds,
            memory_mb=settings.sql_memory_mb,
            result_mb=settings.sql_result_mb,
            result_rows=settings.sql_result_rows,
            workers=settings.sql_workers,
            waiting=settings.sql_waiting,
        )
        self._sandbox = SqlSandbox(self.limits)
        self._releases = releases
        self._data_files: WeakKeyDictionary[ReleaseView, DataFiles] = WeakKeyDictionary()
        self._outcomes = metrics.sql_statements
        self._trouble = "its workers are being started"
        self._is_stopping = asyncio.Event()

    def check(self) -> None:
        """Raise LossLakeError unless workers could be started."""
        if self._trouble:
            raise LossLakeError(self._trouble)

    @asynccontextmanager
    async def while_running(self, _: FastAPI) -> AsyncIterator[None]:
        """Have workers ready while the application runs."""
        warming = asyncio.create_task(self._warm_up())
        try:
            yield
        finally:
            # Workers that are just being started are waited for: to kill them would look like a fault in the log.
            self._is_stopping.set()
            await warming
            await asyncio.to_thread(self._sandbox.close)

    async def _warm_up(self) -> None:
        """Try until it works: a lake may get its first release later."""
        while self._trouble and not self._is_stopping.is_set():
            try:
                view = await asyncio.to_thread(self._releases.view)
                await self._sandbox.start(view.serving_file, await self._data_files_of(view))
            except LossLakeError as error:
                if str(error) != self._trouble:
                    _log.warning("SQL can't be offered yet: %s", error)
                self._trouble = str(error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._is_stopping.wait(), SECONDS_BETWEEN_TRIES)
            else:
                self._trouble = ""

    async def _data_files_of(self, view: ReleaseView) -> DataFiles:
        """Return the data files of a release, as workers read them; found once while the release is open."""
        known = self._data_files.get(view)
        if known is None:
            release = await asyncio.to_thread(self._releases.lake.release_ever, view.number)
            assert release is not None
            known = self._data_files.setdefault(view, data_files_of(self._releases.lake, release))
        return known

    async def run(
        self,
        request: Request,
        view: ReleaseView,
        statement: str,
        parameters: Parameters = None,
        most_rows: int | None = None,
    ) -> SqlResult:
        """Return the result of a statement on a release; close it. Raises SqlProblem and AskerLeft.

        request: the one that waits, whose body was read. most_rows: where fewer are wanted than the limit.
        """
        data_files = await self._data_files_of(view)
        run = self._sandbox.run(view.serving_file, data_files, statement, parameters, most_rows)
        running, leaving = asyncio.create_task(run), asyncio.create_task(_left(request))
        try:
            await asyncio.wait((running, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                raise AskerLeft
            result = running.result()
        except SqlProblem as problem:
            self._outcomes.labels(problem.kind).inc()
            raise
        except AskerLeft:
            self._outcomes.labels(_LEFT).inc()
            raise
        finally:
            leaving.cancel()
            if running.cancel():
                with suppress(asyncio.CancelledError, SqlProblem):
                    await running
        self._outcomes.labels(_ANSWERED).inc()
        return result


async def _left(request: Request) -> None:
    """Wait until the client closes its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass

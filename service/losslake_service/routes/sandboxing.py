"""The sandbox for SQL, kept by an application while it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI

from losslake.questions.releases import Releases
from losslake_schema.errors import LossLakeError
from losslake_service.sandbox.errors import SqlLimits
from losslake_service.sandbox.sandbox import SqlSandbox
from losslake_service.settings import Settings

SECONDS_BETWEEN_TRIES = 1.0

_log = logging.getLogger(__name__)


class KeptSandbox:
    """A sandbox that is warmed up when the application starts, and closed with it."""

    def __init__(self, settings: Settings, releases: Releases) -> None:
        self.sandbox = SqlSandbox(
            SqlLimits(
                seconds=settings.sql_seconds,
                memory_mb=settings.sql_memory_mb,
                result_mb=settings.sql_result_mb,
                result_rows=settings.sql_result_rows,
                workers=settings.sql_workers,
                waiting=settings.sql_waiting,
            )
        )
        self._releases = releases
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
            await asyncio.to_thread(self.sandbox.close)

    async def _warm_up(self) -> None:
        """Try until it works: a lake may get its first release later."""
        while self._trouble and not self._is_stopping.is_set():
            try:
                view = await asyncio.to_thread(self._releases.view)
                await self.sandbox.start(view.serving_file, view.data_files)
            except LossLakeError as error:
                if str(error) != self._trouble:
                    _log.warning("SQL can't be offered yet: %s", error)
                self._trouble = str(error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._is_stopping.wait(), SECONDS_BETWEEN_TRIES)
            else:
                self._trouble = ""

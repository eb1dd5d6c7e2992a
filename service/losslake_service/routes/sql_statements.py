"""Strangers' statements on their way into the sandbox: counted, and ended when nobody waits for them any more."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from fastapi import Request

from losslake.questions.release_view import ReleaseView
from losslake_service.operation.metrics import Metrics
from losslake_service.sandbox.errors import AskerLeft, SqlLimits, SqlProblem
from losslake_service.sandbox.sandbox import SqlSandbox
from losslake_service.sandbox.spool import SqlResult
from losslake_service.sandbox.statement import Parameters

_ANSWERED, _LEFT = "answered", "left"


class SqlStatements:
    """Runs statements for requests."""

    def __init__(self, sandbox: SqlSandbox, metrics: Metrics) -> None:
        self._sandbox = sandbox
        self._outcomes = metrics.sql_statements

    @property
    def limits(self) -> SqlLimits:
        """What a statement may take."""
        return self._sandbox.limits

    async def run(
        self,
        request: Request,
        view: ReleaseView,
        statement: str,
        parameters: Parameters = None,
        most_rows: int | None = None,
    ) -> SqlResult:
        """The result of a statement on a release; close it. Raises SqlProblem and AskerLeft.

        request: the one that waits, whose body was read. most_rows: where fewer are wanted than the limit.
        """
        run = self._sandbox.run(view.serving_file, view.data_files, statement, parameters, most_rows)
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

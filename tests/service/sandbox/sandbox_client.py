"""A client of a sandbox, for tests."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest

from losslake.index.serving import serving_file
from losslake.lake.lake import Lake
from losslake_service.sandbox.errors import SqlLimits, SqlProblem
from losslake_service.sandbox.kernel_filters import has_seccomp, landlock_version
from losslake_service.sandbox.results import SqlResult
from losslake_service.sandbox.sandbox import SqlSandbox
from losslake_service.sandbox.statement import Parameters
from losslake_service.sandbox.workers import data_files_of

T = TypeVar("T")
# Little of all but time: on a busy machine any statement may take long.
SMALL = SqlLimits(
    seconds=60,
    memory_mb=400,
    result_mb=4,
    result_rows=10_000,
    workers=2,
    waiting=4,
    waiting_seconds=60,
    client_seconds=0,
)
ENDLESS = "SELECT sum(x * y) FROM range(1_000_000) AS t(x), range(1_000_000) AS u(y)"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines")
with_seccomp = pytest.mark.skipif(sys.platform != "linux" or not has_seccomp(), reason="needs seccomp")
with_landlock = pytest.mark.skipif(sys.platform != "linux" or not landlock_version(), reason="needs Landlock")
UNCHECKED_WORKER = "tests.service.sandbox.unchecked_worker"
PYTHON_WORKER = "tests.service.sandbox.python_worker"


def table_of(result: SqlResult) -> pa.Table:
    """Return a result in Arrow."""
    return pa.ipc.open_stream(result.path.read_bytes()).read_all()


class SandboxClient:
    """A sandbox over a lake, to be asked in plain calls."""

    def __init__(self, lake: Lake, limits: SqlLimits = SMALL, program: str | None = None) -> None:
        self.lake = lake
        self.file = serving_file(lake, lake.release())
        self.data_files = data_files_of(lake, lake.release())
        self.sandbox = SqlSandbox(limits) if program is None else SqlSandbox(limits, program)

    async def rows(self, statement: str, parameters: Parameters = None) -> list[dict[str, Any]]:
        with await self.sandbox.run(self.file, self.data_files, statement, parameters) as result:
            return list(table_of(result).to_pylist())

    async def problem(self, statement: str, parameters: Parameters = None) -> SqlProblem:
        with pytest.raises(SqlProblem) as raised:
            await self.rows(statement, parameters)
        return raised.value

    def __call__(self, statement: str, parameters: Parameters = None) -> list[dict[str, Any]]:
        return now(self.rows(statement, parameters))

    def fails(self, statement: str, parameters: Parameters = None) -> SqlProblem:
        return now(self.problem(statement, parameters))

    def outcome(self, statement: str) -> object:
        """The rows, or the problem."""
        try:
            return self(statement)
        except SqlProblem as problem:
            return problem


def now(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def state_of(folder: Path) -> dict[str, str]:
    """The sha256 of every file below."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

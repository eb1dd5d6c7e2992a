"""A worker that fails, or ends, although it reached no limit is an error of the service, and not a limit of memory."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from losslake_service.sandbox import errors
from losslake_service.sandbox.workers import FAILED
from tests.servers.processes import wait_until
from tests.service.sandbox.sandbox_client import SandboxClient, now


def test_an_error_of_a_workers_own_code_is_logged_with_its_traceback(
    python_sandbox: SandboxClient, failed_workers: list[str]
) -> None:
    for statement, error in (("[][0]", "IndexError"), ("int('x')", "ValueError"), ("None + 1", "TypeError")):
        problem = python_sandbox.fails(statement)
        assert (problem.kind, errors.KINDS[problem.kind][0]) == (errors.INTERNAL, 500)
        assert error not in problem.detail
        (message,) = failed_workers
        assert message.startswith(f"{FAILED}: Traceback")
        assert f"\n{error}: " in message
        failed_workers.clear()
    assert python_sandbox("1 + 1") == [{"value": "2"}]


@pytest.mark.parametrize(
    ("statement", "report"),
    [
        ("os._exit(3)", "exit status 3: "),
        ("os.write(2, b'first\\nthe last words\\n') and os._exit(4)", "exit status 4: the last words"),
        ("os.abort()", "exit status -6: "),
        ("ctypes.string_at(0)", "exit status -11: "),
        ("os.close(3) or __import__('time').sleep(100)", "exit status None: "),
    ],
)
def test_an_end_that_no_limit_explains_is_logged_with_the_last_line_that_the_worker_wrote(
    python_sandbox: SandboxClient, failed_workers: list[str], statement: str, report: str
) -> None:
    assert python_sandbox.fails(statement).kind == errors.INTERNAL
    assert failed_workers == [f"{FAILED}: {report}"]
    failed_workers.clear()
    assert python_sandbox("1 + 1") == [{"value": "2"}]


def test_an_abort_for_lack_of_memory_is_the_memory_limit(python_sandbox: SandboxClient) -> None:
    problem = python_sandbox.fails("os.write(2, b'what():  std::bad_alloc') and os.abort()")
    assert problem.kind == errors.MEMORY
    assert "most likely because it needs more than 400 MB" in problem.detail


def test_a_worker_that_the_kernel_kills_is_the_memory_limit(python_sandbox: SandboxClient) -> None:
    async def both() -> None:
        await python_sandbox.rows("1 + 1")  # a worker is ready
        running = asyncio.create_task(python_sandbox.problem("__import__('time').sleep(1000)"))
        workers = python_sandbox.sandbox._running
        await asyncio.to_thread(wait_until, lambda: bool(workers), "a worker runs the statement")
        for worker in tuple(workers):  # the thread of a killed one takes it out
            os.kill(worker._process.pid, signal.SIGKILL)
        assert (await running).kind == errors.MEMORY

    now(both())


def test_a_worker_that_writes_much_to_standard_error_goes_on(python_sandbox: SandboxClient) -> None:
    for _ in range(20):
        python_sandbox.outcome("os.write(2, b'x' * 50_000)")
    assert python_sandbox("1 + 1") == [{"value": "2"}]

"""One client can't take all places for statements and results, nor more than its seconds a minute."""

from __future__ import annotations

import asyncio

import pytest

from losslake_service.sandbox import errors
from losslake_service.sandbox.errors import SqlProblem
from losslake_service.sandbox.results import SqlResult
from tests.service.sandbox.sandbox_client import ENDLESS, SandboxClient, now


async def run(query: SandboxClient, client: str, statement: str = "SELECT 1 AS a") -> SqlResult:
    return await query.sandbox.run(query.file, query.data_files, statement, client=client)


def test_statements_of_one_client_leave_workers_to_others(query: SandboxClient) -> None:
    async def crowd() -> None:
        greedy = [asyncio.create_task(run(query, "a", ENDLESS)) for _ in range(4)]
        await asyncio.sleep(0)  # each asks
        # Of six places one client has three, and of two workers one.
        assert [task.done() for task in greedy] == [False, False, False, True]
        assert isinstance(problem := greedy[3].exception(), SqlProblem)
        assert problem.kind == errors.CLIENT
        (await run(query, "b")).close()
        assert not greedy[1].done()
        for task in greedy[:3]:
            task.cancel()

    now(crowd())


@pytest.mark.slow
def test_results_that_are_being_sent_count_until_they_are_closed(query: SandboxClient) -> None:
    async def crowd() -> None:
        held = [await run(query, "c") for _ in range(query.sandbox.limits.open_results // 2)]
        with pytest.raises(SqlProblem, match="32 results are being made or sent to your address"):
            await run(query, "c")
        held.pop().close()
        held.append(await run(query, "c"))
        for result in held:
            result.close()

    now(crowd())

"""One client can't take all places for statements and results, nor more than its seconds a minute."""

from __future__ import annotations

import asyncio

import pytest

from losslake_service.sandbox import errors, shares
from losslake_service.sandbox.errors import SqlLimits, SqlProblem
from losslake_service.sandbox.results import SqlResult
from losslake_service.sandbox.shares import ClientShares
from tests.service.sandbox.sandbox_client import ENDLESS, SandboxClient, now


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def refusal(held: ClientShares, client: str | None) -> SqlProblem | None:
    try:
        held.check(client)
    except SqlProblem as problem:
        return problem
    return None


def test_one_client_has_at_most_half_of_the_places() -> None:
    held = ClientShares(SqlLimits(workers=4, waiting=6, open_results=8))
    for number in range(4):
        assert refusal(held, "a") is None
        assert held.may_run("a") == (number < 2)
        held.change("a", statements=1, running=1)
    assert "4 results" not in str(refusal(held, "a"))
    held.change("a", statements=-4, running=-4)
    assert len(held) == 0
    held.change("a", results=4)
    assert "4 results are being sent to your address" in str(refusal(held, "a"))
    assert refusal(held, "b") is refusal(held, None) is None


def test_seconds_of_a_client_come_back_within_a_minute() -> None:
    clock = Clock()
    held = ClientShares(SqlLimits(client_seconds=30), clock)
    held.charge("a", 20)
    assert refusal(held, "a") is None
    held.charge("a", 20)
    problem = refusal(held, "a")
    assert problem is not None
    assert "30 s a minute, the limit sql_client_seconds: try again in 21 s" in problem.detail
    assert problem.retry_after == 21
    assert errors.KINDS[problem.kind][0] == 429
    assert refusal(held, "b") is None
    clock.now += 21
    assert refusal(held, "a") is None
    assert held.used_seconds("a") == pytest.approx(29.5)
    clock.now += 60
    assert held.used_seconds("a") == 0


def test_without_the_limit_and_for_nobody_seconds_arent_counted() -> None:
    for limits, client in ((SqlLimits(client_seconds=0), "a"), (SqlLimits(), None)):
        held = ClientShares(limits)
        held.charge(client, 1000)
        assert refusal(held, client) is None
        assert len(held) == 0


def test_memory_of_clients_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "MAX_CLIENTS", 100)
    held = ClientShares(SqlLimits())
    for number in range(1000):
        held.change(f"client {number}", statements=1)
        held.charge(f"client {number}", 1)
        held.change(f"client {number}", statements=-1)
    assert len(held) == 100


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
        with pytest.raises(SqlProblem, match="32 results are being sent to your address"):
            await run(query, "c")
        held.pop().close()
        held.append(await run(query, "c"))
        for result in held:
            result.close()

    now(crowd())

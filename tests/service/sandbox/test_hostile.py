"""Statements that take too much are stopped at a limit, and others are answered meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

import pytest
from _pytest.mark import ParameterSet

from losslake.lake.lake import Lake
from losslake_service.sandbox import errors
from losslake_service.sandbox.errors import SqlLimits
from tests.servers.processes import wait_until
from tests.service.sandbox.sandbox_client import ENDLESS, SMALL, SandboxClient, now

TOO_MUCH = {errors.TIME, errors.MEMORY}
ORDINARY = "SELECT count(*) AS n FROM result_at('val/classification_error', 0.3)"

MEMORY = [
    "SELECT repeat('x', 2_000_000_000) AS a",
    "SELECT length(lpad('x', 2_000_000_000, 'y')) AS a",
    "SELECT length(printf('%2000000000d', 1)) AS a",
    "SELECT len(range(2_000_000_000)) AS a",
    "SELECT unnest(range(400_000_000)) AS a",
    "SELECT string_agg(repeat('x', 1_000_000), '') AS a FROM range(2000)",
    "SELECT list(x) AS a FROM range(400_000_000) AS t(x)",
    "SELECT count(*) FROM (SELECT DISTINCT x, x::VARCHAR FROM range(400_000_000) AS t(x))",
    "SELECT repeat(repeat('x', 1_000_000), x::INT) AS a FROM range(1, 4000) AS t(x)",
    "SELECT repeat('x', 40_000_000) AS a FROM range(100)",
]
TIME = [
    "SELECT sum(x * y) FROM range(1_000_000) AS t(x), range(1_000_000) AS u(y)",
    "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
    "SELECT list_reduce(range(20_000_000), lambda x, y: x + y) AS a",
    "SELECT levenshtein(repeat('a', 200_000), repeat('b', 200_000)) AS a",
    "SELECT sum(length(md5(repeat('x', 1_000_000 + x::INT)))) FROM range(1_000_000) AS t(x)",
    "SELECT max(levenshtein(md5(x::VARCHAR), md5(y::VARCHAR))) FROM range(100_000) AS t(x), range(100_000) AS u(y)",
    "WITH "
    + ", ".join(f"t{n} AS (SELECT * FROM t{n - 1} a, t{n - 1} b)" if n else "t0 AS (SELECT 1)" for n in range(25))
    + " SELECT count(*) FROM t24",
]


def first_in_make_test(statements: list[str], name: str) -> list[ParameterSet]:
    """Return the statements as parameters: one of them in `make test`, all in `make slow`."""
    return [
        pytest.param(statement, marks=[] if statement is statements[0] else pytest.mark.slow, id=f"{name}-{number}")
        for number, statement in enumerate(statements)
    ]


@pytest.mark.parametrize("statement", first_in_make_test(MEMORY, "memory"))
def test_statement_over_the_memory_limit_is_stopped_and_others_succeed(query: SandboxClient, statement: str) -> None:
    async def both() -> None:
        hostile = asyncio.create_task(query.problem(statement))
        for _ in range(3):
            assert await query.rows(ORDINARY) == [{"n": 8}]
        problem = await hostile
        assert problem.kind in TOO_MUCH, problem.detail
        assert ("60 s" if problem.kind == errors.TIME else "400 MB") in problem.detail

    now(both())


@pytest.mark.parametrize("statement", first_in_make_test(TIME, "time"))
def test_others_succeed_beside_a_statement_that_takes_long(query: SandboxClient, statement: str) -> None:
    async def both() -> None:
        hostile = asyncio.create_task(query.problem(statement))
        for _ in range(3):
            assert await query.rows(ORDINARY) == [{"n": 8}]
        hostile.cancel()

    now(both())


@pytest.mark.parametrize("statement", first_in_make_test(TIME, "time"))
def test_statement_over_the_time_limit_is_stopped(hurried: SandboxClient, statement: str) -> None:
    problem = hurried.fails(statement)
    assert problem.kind in TOO_MUCH, problem.detail
    assert ("0.6 s" if problem.kind == errors.TIME else "400 MB") in problem.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT repeat('x', 400_000_000) AS a",
        "SELECT length(repeat('x', 400_000_000)) + length(lpad('x', 400_000_000, 'y')) AS a",
        "SELECT length(repeat('x', 4_000_000_000)) AS a",
        "SELECT repeat('x', 40_000_000) AS a FROM range(100)",
        "SELECT list(range(1000)) AS a FROM range(1_000_000)",
        "SELECT array_to_string(range(30_000_000), ',') AS a",
    ],
)
def test_lack_of_memory_anywhere_in_a_worker_is_the_memory_limit(lake: Lake, statement: str) -> None:
    client = SandboxClient(lake, SqlLimits(seconds=1000, workers=1))
    assert client.fails(statement).kind == errors.MEMORY
    client.sandbox.close()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT repeat('x', 10_000) AS a FROM range(1_000_000_000)",
        "FROM range(1_000_000_000_000)",
        "FROM measurements m, measurements n",
    ],
)
def test_huge_result_is_truncated(query: SandboxClient, statement: str) -> None:
    async def size() -> int:
        with await query.sandbox.run(query.file, query.data_files, statement) as result:
            assert result.truncated is not None
            return result.size

    assert now(size()) <= 4_100_000


@pytest.mark.slow
def test_full_queue_refuses_at_once_and_recovers(lake: Lake) -> None:
    client = SandboxClient(lake, SMALL)
    n_places = SMALL.workers + SMALL.waiting

    async def crowd() -> None:
        tasks = [asyncio.create_task(client.problem(ENDLESS)) for _ in range(60)]
        problems = await asyncio.gather(*tasks[n_places:])
        assert not any(task.done() for task in tasks[:n_places])
        assert {problem.kind for problem in problems} == {errors.BUSY}
        assert all(problem.retry_after for problem in problems)
        for task in tasks[:n_places]:
            task.cancel()
        await asyncio.wait(tasks)
        assert await client.rows("SELECT 1 AS a") == [{"a": 1}]

    now(crowd())
    client.sandbox.close()


def test_waiting_in_the_queue_times_out(lake: Lake) -> None:
    client = SandboxClient(lake, replace(SMALL, workers=1, waiting_seconds=0.2))

    async def two() -> None:
        first = asyncio.create_task(client.rows(ENDLESS))
        await asyncio.sleep(0)  # it asks first
        problem = await client.problem("SELECT 1")
        assert problem.kind == errors.BUSY
        assert "waited 0.2 s" in problem.detail
        first.cancel()

    now(two())
    client.sandbox.close()


@pytest.mark.slow
def test_cancelled_statement_frees_its_worker(lake: Lake) -> None:
    """Or else the next one would wait for it in vain."""
    client = SandboxClient(lake, replace(SMALL, workers=1, seconds=1000))

    async def leave() -> None:
        await client.rows("SELECT 1")  # the worker has started
        gone = asyncio.create_task(client.rows("SELECT levenshtein(repeat('a', 900_000), repeat('b', 900_000)) AS a"))
        running = partial(wait_until, lambda: bool(client.sandbox._running), "a worker runs the statement")
        await asyncio.to_thread(running)
        gone.cancel()
        assert await client.rows("SELECT 1 AS a") == [{"a": 1}]

    now(leave())
    client.sandbox.close()

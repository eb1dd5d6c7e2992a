"""Turns: of the requests of a token, and of the threads that write."""

from __future__ import annotations

import asyncio
from functools import partial
from threading import Thread

import pytest

from losslake_contributions.intake.piece_routes import MOST_WAITING, Turns
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.store.database import Turn
from tests.servers.processes import wait_until


def test_requests_of_a_token_are_handled_one_after_the_other() -> None:
    asyncio.run(_handle_one_after_the_other())


async def _handle_one_after_the_other() -> None:
    turns, running, most = Turns(), 0, 0
    done: list[int] = []

    async def handle(token: str, number: int) -> None:
        nonlocal running, most
        async with turns.of(token):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            done.append(number)
            running -= 1

    await asyncio.gather(*(handle("one", number) for number in range(5)))
    assert (most, done) == (1, [*range(5)])
    await asyncio.gather(*(handle(token, 0) for token in ("one", "two", "three")))
    assert most == 3, "those of different tokens don't wait for each other"


def test_too_many_waiting_requests_of_a_token_are_refused() -> None:
    asyncio.run(_refuse_too_many())


async def _refuse_too_many() -> None:
    turns, end = Turns(), asyncio.Event()

    async def hold(token: str) -> None:
        async with turns.of(token):
            await end.wait()

    waiting = [asyncio.create_task(hold("one")) for _ in range(MOST_WAITING + 1)]
    await asyncio.sleep(0)
    with pytest.raises(ContributionError, match="wait already") as refused:
        await hold("one")
    assert (refused.value.status, refused.value.retry_after) == (429, 1)
    other = asyncio.create_task(hold("two"))
    end.set()
    await asyncio.gather(other, *waiting)
    await hold("one")


def test_threads_write_in_the_order_in_which_they_came() -> None:
    turn = Turn()
    done: list[int] = []

    def write(number: int) -> None:
        with turn:
            done.append(number)

    def is_waiting(number: int) -> bool:
        return turn.n_waiting == number + 1

    with turn:
        threads = [Thread(target=write, args=(number,)) for number in range(5)]
        for number, thread in enumerate(threads):
            thread.start()
            wait_until(partial(is_waiting, number), "the thread waits")
    for thread in threads:
        thread.join()
    assert done == [*range(5)]

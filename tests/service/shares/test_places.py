"""Places for expensive work are bounded, and shared fairly among clients."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from functools import partial

import pytest

from losslake_service.shares.allowances import MINUTE, Allowance
from losslake_service.shares.places import FairThreads, NoPlace, Places, UsedUp
from tests.service.operation.conftest import Clock


class Gate:
    """Work that waits until the gate is open; `order`: of those that began."""

    def __init__(self) -> None:
        self.is_open = threading.Event()
        self.order: list[str] = []
        self.began = threading.Semaphore(0)

    def work(self, name: str) -> str:
        self.order.append(name)
        self.began.release()
        assert self.is_open.wait(60)
        return name


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.is_open.set()


def test_places_are_limited_in_all_and_for_each_client() -> None:
    places = Places(3, 2)
    places.take("a")
    places.take("a")
    with pytest.raises(NoPlace) as full:
        places.take("a")
    assert (full.value.is_of_client, full.value.count) == (True, 2)
    places.take(None)
    with pytest.raises(NoPlace) as full:
        places.take("b")
    assert (full.value.is_of_client, full.value.count) == (False, 3)
    for client in ("a", "a", None):
        places.leave(client)
    assert len(places) == 0


@pytest.mark.parametrize(("most", "half"), [(1, 1), (2, 1), (5, 2), (64, 32)])
def test_a_client_has_half_of_the_places_by_default_and_at_least_one(most: int, half: int) -> None:
    places = Places(most)
    for _ in range(half):
        places.take("a")
    with pytest.raises(NoPlace) as full:
        places.take("a")
    assert (full.value.is_of_client, full.value.count) == (True, half)


def test_one_client_has_half_of_the_threads_and_of_the_queue(gate: Gate) -> None:
    threads = FairThreads("test", 4, 6)
    greedy = [threads.submit("a", partial(gate.work, f"a{n}")) for n in range(5)]
    with pytest.raises(NoPlace) as full:
        threads.submit("a", partial(gate.work, "a5"))
    assert full.value.is_of_client
    others = [threads.submit("b", partial(gate.work, "b")), threads.submit(None, partial(gate.work, "c"))]
    for _ in range(4):
        assert gate.began.acquire(timeout=60)
    assert sorted(gate.order) == ["a0", "a1", "b", "c"], "three of a wait, though they came before"
    gate.is_open.set()
    assert [each.result(60) for each in (*greedy, *others)] == ["a0", "a1", "a2", "a3", "a4", "b", "c"]
    threads.shutdown()


def test_a_full_queue_refuses_and_a_cancelled_request_leaves_it(gate: Gate) -> None:
    threads = FairThreads("test", 1, 2)
    threads.submit(None, partial(gate.work, "a"))
    assert gate.began.acquire(timeout=60)
    waiting = [threads.submit(name, partial(gate.work, name)) for name in "bc"]
    with pytest.raises(NoPlace) as full:
        threads.submit("d", partial(gate.work, "d"))
    assert not full.value.is_of_client
    assert waiting[0].cancel()
    last = threads.submit("d", partial(gate.work, "d"))
    gate.is_open.set()
    assert (last.result(60), gate.order) == ("d", ["a", "c", "d"])
    threads.shutdown()


def test_who_used_the_least_is_next_and_seconds_are_limited(gate: Gate) -> None:
    clock = Clock()
    seconds = Allowance(30, MINUTE, clock=clock)
    threads = FairThreads("test", 1, 10, seconds)
    for client, used in (("a", 20), ("b", 10), ("c", 31)):
        seconds.charge(client, used)
    threads.submit(None, partial(gate.work, "first"))
    assert gate.began.acquire(timeout=60)
    results = [threads.submit(client, partial(gate.work, client)) for client in "abd"]
    with pytest.raises(UsedUp) as refusal:
        threads.submit("c", partial(gate.work, "c"))
    assert refusal.value.seconds == pytest.approx(2)
    gate.is_open.set()
    for each in results:
        each.result(60)
    assert gate.order == ["first", "d", "b", "a"]
    threads.shutdown()


def test_seconds_and_errors_belong_to_who_asked() -> None:
    clock = Clock()
    seconds = Allowance(30, MINUTE, clock=clock)
    threads = FairThreads("test", 1, 10, seconds, clock=clock)

    def fail() -> None:
        clock.now += 12
        raise ValueError("as tested")

    with pytest.raises(ValueError, match="as tested"):
        threads.submit("a", fail).result(60)
    assert seconds.used("a") == pytest.approx(12)
    threads.shutdown()


def test_shutdown_cancels_what_waits(gate: Gate) -> None:
    threads = FairThreads("test", 1, 10)
    running = threads.submit(None, partial(gate.work, "a"))
    assert gate.began.acquire(timeout=60)
    waiting: Future[str] = threads.submit("b", partial(gate.work, "b"))
    threads.shutdown(wait=False)
    with pytest.raises(CancelledError):
        waiting.result(60)
    assert threads.submit("b", partial(gate.work, "b")).cancelled()
    gate.is_open.set()
    assert running.result(60) == "a"

"""Strangers' SQL leaves the service to its neighbours."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from tests.attacks.neighbours import (
    HEALTH,
    PROXIED,
    SCALING,
    SQL,
    Seen,
    measure_sql,
    neighbours,
    send_sql,
    wait_until_ready,
)
from tests.servers.processes import wait_until
from tests.service.running import Running, result_files, served

pytestmark = [pytest.mark.slow, pytest.mark.attack]
GIGABYTE = 10**9
LISTS = "SELECT range(1000) FROM range(1000000)"
TINY_INTEGERS = "SELECT list_resize([1::TINYINT], 10000000, 1::TINYINT) FROM range(100)"
NAMELESS = ("FROM ''", "DESCRIBE ''", "SUMMARIZE ''", "FROM trials JOIN '' ON true")
# Thirty megabytes, of which the kernel buffers less than five.
LONG_RESULT = "SELECT repeat('x', 1000) AS a FROM range(30000)"


@pytest.fixture
def running(lake: Lake, tmp_path: Path) -> Iterator[Running]:
    with served(tmp_path, lake=str(lake.folder), sql_enabled=True, **PROXIED) as found:
        wait_until_ready(found)
        yield found


def check(seen: Seen) -> None:
    assert not seen.failures
    assert seen.quantile(HEALTH, 1) <= 1
    # Beside other tests of this run, another process may have the core.
    assert seen.quantile(SCALING, 0.99) < (0.5 if "PYTEST_XDIST_WORKER" in os.environ else 0.1)
    assert seen.service_bytes < 2 * GIGABYTE


@pytest.mark.parametrize(
    ("statement", "clients"), [(LISTS, 16), (TINY_INTEGERS, 6)], ids=["lists of integers", "lists of tiny integers"]
)
def test_large_lists_as_json_whose_clients_leave_leave_neighbours_alone(
    running: Running, statement: str, clients: int
) -> None:
    with neighbours(running, f"{clients} x {statement}, left after 5 s") as seen:
        sockets = [send_sql(running, statement, f"203.0.113.{number}") for number in range(clients)]
        time.sleep(5)
        assert result_files(running)
        began = time.perf_counter()
        for client in sockets:
            client.close()
        wait_until(lambda: not result_files(running), "no statement runs or waits")
        work_ended = time.perf_counter() - began
        status, seconds = measure_sql(running)
    print(f"all work of those who left ended after {work_ended:.2f} s")
    check(seen)
    assert work_ended < 1
    assert status == 200
    # The workers of those who left were killed, and others have started.
    assert seconds < 15


def test_statements_that_name_no_table_leave_neighbours_alone(running: Running) -> None:
    """A worker that fails costs another start, for which others wait."""
    over = threading.Event()
    statuses: list[int] = []

    def attack(number: int) -> None:
        while not over.is_set():
            statement = NAMELESS[len(statuses) % len(NAMELESS)]
            statuses.append(measure_sql(running, f"203.0.113.{number}", statement)[0])

    attackers = [threading.Thread(target=attack, args=(number,)) for number in range(4)]
    with neighbours(running, "4 clients with empty names of tables", with_sql=True) as seen:
        for attacker in attackers:
            attacker.start()
        time.sleep(8)
        over.set()
        for attacker in attackers:
            attacker.join()
    print(f"{len(statuses)} statements, answered {sorted(set(statuses))}")
    check(seen)
    assert set(statuses) == {422}
    assert not seen.refused
    assert seen.quantile(SQL, 1) < 2


def read_nothing(running: Running, address: Callable[[int], str]) -> list[socket.socket]:
    """Open 132 connections, about as fast as the service makes their results, so that these are as many as allowed."""
    sockets = []
    for number in range(132):
        sockets.append(send_sql(running, LONG_RESULT, address(number), ".csv"))
        time.sleep(0.1)
    return sockets


def test_slow_readers_from_one_address_dont_keep_others_out(running: Running) -> None:
    with neighbours(running, "132 connections of one client that reads nothing", with_sql=True) as seen:
        sockets = read_nothing(running, lambda _: "203.0.113.1")
        time.sleep(5)
    for client in sockets:
        client.close()
    check(seen)
    assert not seen.refused
    assert seen.quantile(SQL, 1) < 5


def test_slow_readers_from_many_addresses_lose_their_connections(running: Running) -> None:
    with neighbours(running, "132 clients that read nothing", with_sql=True) as seen:
        sockets = read_nothing(running, lambda number: f"203.0.113.{number}")
        time.sleep(25)
    for client in sockets:
        client.close()
    check(seen)
    # All connections are open after 14 s; ten seconds later none of these clients has a result.
    assert not seen.refused or seen.refused[-1] < 30

"""A statement ends within a second of its client, whatever it is doing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import httpx
import psutil
import pytest

from losslake.lake.lake import Lake
from tests.attacks.neighbours import PROXIED, ask_sql, send_sql, wait_until_ready
from tests.service.running import Running, served

pytestmark = pytest.mark.slow
ENDLESS = "SELECT sum(x * y) FROM range(1_000_000) AS t(x), range(1_000_000) AS u(y)"
# Read within half a second, and formatted for more than ten.
LISTS = "SELECT range(1000) FROM range(1000000)"


@pytest.fixture(scope="module")
def running(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = {"sql_enabled": True, "sql_workers": 1, "sql_seconds": 60, **PROXIED}
    with served(tmp_path_factory.mktemp("left"), lake=str(lake.folder), **settings) as found:
        wait_until_ready(found)
        yield found


def left(running: Running) -> int:
    """Return how many statements were left by their clients."""
    found = re.search(
        r'losslake_sql_statements_total\{outcome="left"\} (\d+)', httpx.get(f"{running.url}/metrics").text
    )
    return int(found[1]) if found else 0


def busy_workers(running: Running) -> list[psutil.Process]:
    """Return the workers that take processor time."""
    workers = psutil.Process(running.process.pid).children(recursive=True)
    busy = []
    for worker in workers:
        with suppress(psutil.Error):
            if worker.cpu_percent(0.1) > 20:
                busy.append(worker)
    return busy


def within_a_second(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 1
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(("statement", "seconds"), [(ENDLESS, 1), (LISTS, 2)], ids=["running", "being formatted"])
def test_work_of_a_client_that_left_ends_within_a_second(running: Running, statement: str, seconds: float) -> None:
    before = left(running)
    client = send_sql(running, statement, "203.0.113.1")
    time.sleep(seconds)
    (worker,) = busy_workers(running)
    client.close()
    within_a_second(lambda: left(running) == before + 1 and not worker.is_running())
    assert ask_sql(running)[0] == 200


def test_statement_that_waits_leaves_the_queue_with_its_client(running: Running) -> None:
    before = left(running)
    first = send_sql(running, ENDLESS, "203.0.113.1")
    time.sleep(0.5)
    waiting = [send_sql(running, "SELECT 1", f"203.0.113.{number}") for number in range(2, 18)]
    time.sleep(0.5)
    assert ask_sql(running)[0] == 503
    for client in waiting:
        client.close()
    within_a_second(lambda: left(running) == before + 16)
    second = send_sql(running, "SELECT 1", "203.0.113.99")
    first.close()
    assert second.recv(12) == b"HTTP/1.1 200"
    second.close()


def test_kernel_drops_what_a_client_leaves_unread(running: Running) -> None:
    """A response of one message is complete for the service before its client reads it."""
    client = send_sql(running, "SELECT repeat('x', 200_000) AS a", "203.0.113.1", ".csv")
    port = client.getsockname()[1]

    def has_connection() -> bool:
        connections = psutil.Process(running.process.pid).net_connections("tcp")
        return any(connection.raddr and connection.raddr.port == port for connection in connections)

    time.sleep(5)
    assert has_connection()
    end = time.monotonic() + 45
    while has_connection():
        assert time.monotonic() < end
        time.sleep(0.5)
    client.close()

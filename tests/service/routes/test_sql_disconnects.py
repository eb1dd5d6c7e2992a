"""A statement ends with its client, whatever it is doing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psutil
import pytest

from losslake.lake.lake import Lake
from tests.attacks.neighbours import PROXIED, measure_sql, send_sql, wait_until_ready
from tests.servers.processes import SECONDS, wait_until
from tests.service.running import Running, metric, result_files, served, wait_until_in_flight

pytestmark = pytest.mark.slow
ENDLESS = "SELECT sum(x * y) FROM range(1_000_000) AS t(x), range(1_000_000) AS u(y)"
# Read much sooner than formatted.
LISTS = "SELECT range(1000) FROM range(1000000)"


@pytest.fixture(scope="module")
def running(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = {"sql_enabled": True, "sql_workers": 1, "sql_seconds": 1000, "sql_client_seconds": 0, **PROXIED}
    with served(tmp_path_factory.mktemp("left"), lake=str(lake.folder), **settings) as found:
        wait_until_ready(found)
        yield found


def left(running: Running) -> float:
    """Return how many statements were left by their clients."""
    return metric(running, 'losslake_sql_statements_total{outcome="left"}')


def is_being_formatted(running: Running) -> bool:
    return any(file.stat().st_size for file in result_files(running))


def is_running(running: Running) -> bool:
    return bool(result_files(running))


@pytest.mark.parametrize(
    ("statement", "has_begun"), [(ENDLESS, is_running), (LISTS, is_being_formatted)], ids=["running", "being formatted"]
)
def test_work_of_a_client_that_left_ends(
    running: Running, statement: str, has_begun: Callable[[Running], bool]
) -> None:
    before = left(running)
    client = send_sql(running, statement, "203.0.113.1")
    wait_until(lambda: has_begun(running), "the statement runs")
    workers = psutil.Process(running.process.pid).children(recursive=True)
    client.close()
    wait_until(lambda: left(running) == before + 1, "the service knows that the client left")
    wait_until(lambda: not all(worker.is_running() for worker in workers), "the worker ends")
    assert measure_sql(running)[0] == 200


@pytest.mark.parametrize("n_requests", [1, 2, 10])
@pytest.mark.parametrize("has_begun", [False, True], ids=["at once", "while it runs"])
def test_work_of_a_client_that_sent_more_requests_ends(running: Running, has_begun: bool, n_requests: int) -> None:
    before = left(running)
    more = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * n_requests
    client = send_sql(running, ENDLESS, "203.0.113.1", more=b"" if has_begun else more)
    wait_until(lambda: is_running(running), "the statement runs")
    if has_begun:
        client.sendall(more)
    client.close()
    wait_until(lambda: left(running) == before + 1, "the service knows that the client left")
    wait_until(lambda: not is_running(running), "the statement ends")


def test_statement_that_waits_leaves_the_queue_with_its_client(running: Running) -> None:
    before = left(running)
    first = send_sql(running, ENDLESS, "203.0.113.1")
    wait_until(lambda: is_running(running), "the statement runs")
    waiting = [send_sql(running, "SELECT 1", f"203.0.113.{number}") for number in range(2, 18)]
    wait_until_in_flight(running, 17)
    for client in waiting:
        client.close()
    wait_until(lambda: left(running) == before + 16, "the service knows that the clients left")
    second = send_sql(running, "SELECT 1", "203.0.113.99")
    first.close()
    assert second.recv(12) == b"HTTP/1.1 200"
    second.close()


def test_kernel_drops_what_a_client_leaves_unread(running: Running) -> None:
    """A response of one message is complete for the service before its client reads it."""
    name = 'losslake_sql_statements_total{outcome="answered"}'
    before = metric(running, name)
    client = send_sql(running, "SELECT repeat('x', 200_000) AS a", "203.0.113.1", ".csv")
    port = client.getsockname()[1]

    def has_connection() -> bool:
        connections = psutil.Process(running.process.pid).net_connections("tcp")
        return any(connection.raddr and connection.raddr.port == port for connection in connections)

    wait_until(lambda: metric(running, name) == before + 1, "the statement is answered")
    assert has_connection()
    wait_until(lambda: not has_connection(), "the connection is dropped", 3 * SECONDS)
    client.close()

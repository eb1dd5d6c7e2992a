"""Ctrl-C stops a statement at any moment: before it starts, while it runs, however often it comes; what is a result."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from threading import Event
from typing import cast

import duckdb
import pytest

from losslake.client.client import Client
from losslake.client.service import Service
from losslake_cli.sql.query_output import Output
from losslake_cli.sql.remote_session import RemoteSession
from losslake_cli.sql.session import LocalSession, Query, add_caret, run_in_thread
from losslake_schema.errors import LossLakeError
from tests.servers.processes import SECONDS

ENDLESS = "SELECT count(*) FROM range(1000000) a, range(10000000) b"


@pytest.mark.parametrize(
    ("place", "notes"),
    [
        ((1, 1), ["LINE 1: ab", "        ^"]),
        ((2, 4), ["LINE 2: cde", "           ^"]),
        *(((line, column), []) for line, column in ((0, 1), (3, 1), (1, 0), (1, 4))),
    ],
)
def test_caret_is_below_a_place_in_the_statement_and_nowhere_else(place: tuple[int, int], notes: list[str]) -> None:
    failure = LossLakeError("wrong")
    add_caret(failure, "ab\ncde", *place)
    assert getattr(failure, "__notes__", []) == notes


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """Collect no garbage: Hypothesis is called at each collection, and an interrupt raised there is lost."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def press_ctrl_c(times: int = 1) -> None:
    for _ in range(times):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("times", [1, 3])
def test_ctrl_c_before_a_statement_starts_stops_it(connection: duckdb.DuckDBPyConnection, times: int) -> None:
    session = LocalSession(connection, "a release")
    (query,) = session.queries(ENDLESS)

    def work(stop: Event) -> None:
        press_ctrl_c(times)
        assert stop.wait(SECONDS)
        with query.rows():
            pytest.fail("the statement was not stopped")

    with pytest.raises(KeyboardInterrupt):
        session.run_interruptible(work)
    assert connection.execute("SELECT 42").fetchall() == [(42,)]


def test_ctrl_c_during_a_cancellation_does_not_prevent_it() -> None:
    cancelled = Event()

    def work(_: Event) -> None:
        press_ctrl_c()
        assert cancelled.wait(SECONDS)

    def cancel() -> None:
        press_ctrl_c()
        cancelled.set()

    with pytest.raises(KeyboardInterrupt):
        run_in_thread(work, cancel)


def test_ctrl_c_during_the_cleanup_of_a_remote_statement_does_not_prevent_it(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    is_closed = False

    def work(_: Event) -> None:
        nonlocal is_closed
        try:
            press_ctrl_c()
        finally:
            press_ctrl_c()
            is_closed = True

    with Client() as client, pytest.raises(KeyboardInterrupt):
        RemoteSession(client, Service(client, "http://127.0.0.1:1"), 1, connection).run_interruptible(work)
    assert is_closed


def test_ctrl_c_stops_no_job_that_ignores_it(connection: duckdb.DuckDBPyConnection) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        LocalSession(connection, "a release").run_interruptible(lambda _: press_ctrl_c())
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_next_ctrl_c_raises_as_before(connection: duckdb.DuckDBPyConnection) -> None:
    LocalSession(connection, "a release").run_interruptible(lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        press_ctrl_c()


@pytest.mark.parametrize("format_", ["table", "csv", "json", "parquet"])
def test_a_statement_that_was_stopped_before_it_starts_is_not_run(format_: str) -> None:
    stop = Event()
    stop.set()
    output = Output("table", None, 40)
    output.redirect(format_, None)  # type: ignore[arg-type]
    with pytest.raises(LossLakeError, match="stopped"):
        output.write(cast(Query, None), stop)


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ('SELECT 1 AS "Count"', ["Count"]),
        ("PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)", ["1"]),
        ("SET VARIABLE a = 1", None),
        ("CREATE OR REPLACE TEMP TABLE a AS SELECT 1", None),
    ],
)
def test_duckdb_s_count_or_success_of_a_statement_without_rows_is_no_result(
    connection: duckdb.DuckDBPyConnection, statement: str, names: list[str] | None
) -> None:
    (query,) = LocalSession(connection, "a release").queries(statement)
    with query.rows() as rows:
        assert (rows and [*rows.names, *rows.batches][:-1]) == names
    with query.arrow() as arrow:
        assert (arrow and arrow.schema.names) == names

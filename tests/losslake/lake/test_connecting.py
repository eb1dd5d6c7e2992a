"""Retries while the database is unavailable; permanent errors are raised at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.orm import Session

from losslake.lake.connecting import SECONDS_TO_WAIT_FOR_THE_DATABASE, engine_of, patient, with_retries
from losslake.lake.lake import Lake
from losslake_schema.database import LedgerEntry
from losslake_schema.migrating import migrate
from tests.servers.postgresql import PostgreSQL, postgresql_server
from tests.servers.processes import SECONDS


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    """Yield a server that these tests may stop."""
    with postgresql_server() as server:
        yield server


@pytest.fixture(scope="module")
def engine(server: PostgreSQL) -> Iterator[Engine]:
    made = engine_of(make_url(server.new_database()))
    migrate(made)
    yield made
    made.dispose()


def one(engine: Engine) -> object:
    with engine.connect() as connection:
        return connection.execute(text("SELECT 1")).scalar()


@pytest.mark.slow
def test_retries_outlast_a_restart_of_the_database(server: PostgreSQL, engine: Engine) -> None:
    assert one(engine) == 1
    server.kill()
    returning = threading.Timer(0.5, server.start)
    returning.start()
    try:
        assert with_retries(lambda: one(engine), SECONDS) == 1
    finally:
        returning.join()


@pytest.mark.slow
def test_a_database_that_stays_away_raises_after_the_time_limit(server: PostgreSQL, engine: Engine) -> None:
    server.stop()
    try:
        with pytest.raises(OperationalError):
            with_retries(lambda: one(engine), 0.3)
    finally:
        server.start()


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        ("SELECT nothing_like_it", ProgrammingError, '"nothing_like_it" does not exist'),
        ("INSERT INTO losslake_release_snapshots VALUES (1, 'x', 1)", IntegrityError, "violates foreign key"),
    ],
)
def test_permanent_errors_are_not_retried(engine: Engine, statement: str, kind: type[DBAPIError], message: str) -> None:
    attempts = 0

    def work() -> None:
        nonlocal attempts
        attempts += 1
        with engine.begin() as connection:
            connection.execute(text(statement))

    with pytest.raises(kind, match=message):
        with_retries(work, 20)
    assert attempts == 1


def test_errors_of_sqlite_are_not_retried() -> None:
    engine, attempts = engine_of(make_url("sqlite:////nowhere/at/all.db")), []

    def work() -> object:
        attempts.append(1)
        return one(engine)

    with pytest.raises(OperationalError, match="unable to open database file"):
        with_retries(work, 20)
    assert len(attempts) == 1


def test_a_connection_to_sqlite_keeps_at_most_256_kib_of_pages(tmp_path: Path) -> None:
    made = engine_of(make_url(f"sqlite:///{tmp_path}/some.db"))
    with made.connect() as one, made.connect() as other:
        assert [each.exec_driver_sql("PRAGMA cache_size").scalar_one() for each in (one, other)] == [-256, -256]
    made.dispose()


def test_both_engines_of_a_lake_wait_the_same_time_for_a_lock_of_sqlite(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    for waiting in (lake.engine, lake.catalog.engine):
        with waiting.connect() as connection:
            milliseconds = connection.execute(text("PRAGMA busy_timeout")).scalar()
        assert milliseconds == 1000 * SECONDS_TO_WAIT_FOR_THE_DATABASE


@pytest.mark.parametrize("url", ["sqlite:////lake/catalog.db?timeout=5", "postgresql://host/name?connect_timeout=3"])
def test_the_time_to_wait_that_a_url_states_is_kept(url: str) -> None:
    assert patient(make_url(url)) == make_url(url)


def test_times_are_read_in_utc_in_any_session_time_zone(engine: Engine) -> None:
    moment = datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=UTC)
    entry = LedgerEntry(offered_at=moment, source="a", path="", format="csv", outcome="ingested")
    with Session(engine) as session:
        session.execute(text("SET TIME ZONE 'Asia/Tokyo'"))
        session.add(entry)
        session.flush()
        session.expire(entry)
        assert entry.offered_at == moment
        assert entry.offered_at.utcoffset() == timedelta(0)


def test_nul_characters_in_text_of_logs_are_escaped(engine: Engine) -> None:
    entry = LedgerEntry(
        offered_at=datetime.now(UTC), source="a\0b", path="c\0", format="csv", outcome="quarantined", reason="\0"
    )
    with Session(engine) as session:
        session.add(entry)
        session.flush()
        session.expire(entry)
        assert (entry.source, entry.path, entry.reason) == ("a\\x00b", "c\\x00", "\\x00")

"""A lake in PostgreSQL and a bucket is what one in a folder is, also while its servers fail and others ingest."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine

from losslake.index.serving import open_release
from losslake.lake import connecting
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError
from tests.ingest.offers import TrialOffer, study_files, unpacked
from tests.losslake.lake.clock import Clock
from tests.servers.failing_proxy import failing_proxy
from tests.servers.postgresql import PostgreSQL, postgresql_server
from tests.servers.s3 import S3

BATCH_SIZES = (16, 64)


@pytest.fixture(scope="module")
def database() -> Iterator[PostgreSQL]:
    """A server that these tests may stop."""
    with postgresql_server() as server:
        yield server


@pytest.fixture
def elsewhere(database: PostgreSQL, s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URLs of a lake that isn't there yet."""
    s3.let_in(monkeypatch, tmp_path / "cache")
    return f"{database.new_database()} {s3.new_warehouse()}"


def logs(folder: Path, *batch_sizes: int) -> Path:
    files = {
        path: data for b in batch_sizes for path, data in study_files({1: TrialOffer(), 2: TrialOffer()}, b).items()
    }
    return unpacked(folder, files)


def counts(lake: Lake) -> tuple[object, ...]:
    connection = open_release(lake, lake.release())
    try:
        found = connection.execute(
            "SELECT count(*), list_sort(list(value)), (SELECT count(*) FROM trials) FROM measurements"
        ).fetchone()
    finally:
        connection.close()
    assert found is not None
    return found


@pytest.mark.slow
def test_remote_lake_holds_the_same_as_a_folder(elsewhere: str, tmp_path: Path) -> None:
    here, there = Lake.create(tmp_path / "here"), Lake.create(elsewhere)
    offer = logs(tmp_path / "logs", *BATCH_SIZES)
    for lake in (here, there):
        ingest(lake, [offer])
    assert counts(there) == counts(here)
    assert there.release().content_digest == here.release().content_digest
    assert verify(there, there.release()).problems == ()
    ingest(there, [offer])
    assert [release.number for release in there.releases()] == [1]


def _ingest_alone(lake: str, offer: Path) -> None:
    ingest(Lake.create(lake), [offer])


@pytest.mark.slow
def test_concurrent_ingests_of_several_processes_all_publish(elsewhere: str, tmp_path: Path) -> None:
    offers = [logs(tmp_path / f"logs{b}", b) for b in (1, 2, 4)]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_ingest_alone, args=(elsewhere, offer), daemon=True) for offer in offers]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    lake = Lake.open(elsewhere)
    releases = list(reversed(lake.releases()))
    assert [release.number for release in releases] == [1, 2, 3]
    assert [release.n_studies for release in releases] == [1, 2, 3]
    assert [release.created_at for release in releases] == sorted(release.created_at for release in releases)
    assert verify(lake, releases[-1]).problems == ()


@contextmanager
def answer_lost_once(database: PostgreSQL, statement_part: str) -> Iterator[list[str]]:
    """Cut the connection of the first commit of such a statement before its answer; yield the statements cut off."""
    lost: list[str] = []

    def note(connection: Connection, _: object, statement: str, *__: object) -> None:
        if statement_part in statement:
            connection.info["statement"] = statement

    def cut(connection: Connection) -> None:
        statement = connection.info.pop("statement", None)
        if statement and not lost:
            lost.append(statement)
            session = connection.connection.driver_connection
            assert session is not None
            session.commit()
            session.execute("SELECT 1")  # a transaction, so that the second commit asks the server
            with database.connect(autocommit=True) as administrator:
                # With a time in milliseconds, it returns when the connection has ended.
                administrator.execute("SELECT pg_terminate_backend(%s, 60000)", (session.info.backend_pid,))

    event.listen(Engine, "before_cursor_execute", note)
    event.listen(Engine, "commit", cut)
    try:
        yield lost
    finally:
        event.remove(Engine, "before_cursor_execute", note)
        event.remove(Engine, "commit", cut)


@pytest.mark.slow
def test_a_commit_whose_answer_is_lost_is_published_once(elsewhere: str, tmp_path: Path, database: PostgreSQL) -> None:
    lake = Lake.create(elsewhere)
    with answer_lost_once(database, "INSERT INTO losslake_releases") as lost:
        ingest(lake, [logs(tmp_path / "logs", 16)])
    assert len(lost) == 1
    assert [release.number for release in lake.releases()] == [1]
    assert [entry.outcome for entry in lake.ledger() if entry.path] == ["ingested"]


@pytest.mark.slow
@pytest.mark.parametrize("statement", ["INSERT INTO iceberg_tables", "UPDATE iceberg_tables"])
def test_a_table_commit_whose_answer_is_lost_keeps_its_files(
    elsewhere: str, tmp_path: Path, database: PostgreSQL, statement: str
) -> None:
    with answer_lost_once(database, statement) as lost:
        lake = Lake.create(elsewhere)
        for batch_size in (16, 64):
            ingest(lake, [logs(tmp_path / f"{batch_size}", batch_size)])
    assert len(lost) == 1
    release = lake.release()
    assert release.number == 2
    rows = Counter[str]()
    for file in lake.files(release):
        rows[file.table] += file.rows
    assert {
        name: lake.table(name).scan(snapshot_id=number).count() for name, number in release.snapshots.items()
    } == rows


@pytest.mark.slow
def test_newest_release_has_its_snapshots_when_another_is_published_meanwhile(elsewhere: str, tmp_path: Path) -> None:
    lake = Lake.create(elsewhere)
    ingest(lake, [logs(tmp_path / "first", 16)])
    waiting = [logs(tmp_path / "second", 64)]

    def publish_another(*statement: object) -> None:
        if waiting and "losslake_release_snapshots" in str(statement[2]):
            ingest(Lake.open(elsewhere), [waiting.pop()])

    event.listen(lake.engine, "before_cursor_execute", publish_another)
    newest = lake.newest_release()
    assert not waiting
    assert newest is not None
    assert newest.snapshots == lake.release(newest.number).snapshots != {}


@pytest.mark.slow
def test_ingest_and_reader_wait_for_a_restarting_database(
    elsewhere: str, tmp_path: Path, database: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = StartingClock(database)
    monkeypatch.setattr(connecting, "time", clock)
    lake = Lake.create(elsewhere)
    database.stop()
    ingest(lake, [logs(tmp_path / "logs", 16)])
    assert clock.n_starts == 1
    database.stop()
    assert verify(lake, lake.release()).problems == ()
    assert clock.n_starts == 2


class StartingClock(Clock):
    """A clock that starts the database, if it is stopped, while someone waits for it."""

    def __init__(self, database: PostgreSQL) -> None:
        super().__init__()
        self.n_starts = 0
        self._database = database

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if not self._database.processes:
            self._database.start()
            self.n_starts += 1


@pytest.mark.slow
def test_failed_store_requests_are_retried(
    elsewhere: str, tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    with failing_proxy(s3.port, share=0.1, seed=1) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
        lake = Lake.create(elsewhere)
        ingest(lake, [logs(tmp_path / "logs", *BATCH_SIZES)])
        assert verify(lake, lake.release()).problems == ()
        assert proxy.failed.total() > 0


def test_missing_lake_in_the_bucket_is_a_one_line_error(elsewhere: str) -> None:
    with pytest.raises(LossLakeError, match=r"there is no lake in postgresql.* s3://"):
        Lake.open(elsewhere)

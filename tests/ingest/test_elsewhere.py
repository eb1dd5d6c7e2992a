"""A lake in PostgreSQL and a bucket is what one in a folder is, also while its servers fail and others ingest."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Connection

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError
from tests.ingest.offers import TrialOffer, study_files, unpacked
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


def test_it_holds_what_a_folder_would(elsewhere: str, tmp_path: Path) -> None:
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
def test_ingests_of_several_processes_at_once_all_land_one_after_the_other(elsewhere: str, tmp_path: Path) -> None:
    offers = [logs(tmp_path / f"logs{b}", b) for b in (1, 2, 4)]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_ingest_alone, args=(elsewhere, offer)) for offer in offers]
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


@pytest.mark.slow
def test_a_commit_whose_answer_is_lost_is_published_once(elsewhere: str, tmp_path: Path, database: PostgreSQL) -> None:
    lake = Lake.create(elsewhere)
    lost: list[int] = []

    def lose_the_answer(connection: Connection) -> None:
        if not lost and connection.info.get("published"):
            lost.append(1)
            connection.connection.commit()
            with database.connect(autocommit=True) as administrator:
                administrator.execute("SELECT pg_terminate_backend(%s)", (connection.info["published"],))
            time.sleep(0.2)

    def note(connection: Connection, _: object, statement: str, *__: object) -> None:
        if "INSERT INTO losslake_releases" in statement:
            connection.info["published"] = connection.connection.driver_connection.info.backend_pid  # type: ignore[union-attr]

    event.listen(lake.engine, "before_cursor_execute", note)
    event.listen(lake.engine, "commit", lose_the_answer)
    ingest(lake, [logs(tmp_path / "logs", 16)])
    assert lost == [1]
    assert [release.number for release in lake.releases()] == [1]
    assert [entry.outcome for entry in lake.ledger() if entry.path] == ["ingested"]


@pytest.mark.slow
def test_a_database_that_restarts_in_the_middle_is_waited_for(
    elsewhere: str, tmp_path: Path, database: PostgreSQL
) -> None:
    lake = Lake.create(elsewhere)
    database.stop()
    returning = threading.Timer(0.7, database.start)
    returning.start()
    try:
        ingest(lake, [logs(tmp_path / "logs", 16)])
    finally:
        returning.join()
    assert verify(lake, lake.release()).problems == ()


@pytest.mark.slow
def test_a_store_that_fails_one_request_in_ten_is_asked_again(
    elsewhere: str, tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    with failing_proxy(s3.port, share=0.1, seed=1) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
        lake = Lake.create(elsewhere)
        ingest(lake, [logs(tmp_path / "logs", *BATCH_SIZES)])
        assert verify(lake, lake.release()).problems == ()
        assert proxy.failed.total() > 0


def test_no_lake_in_the_bucket_is_told_in_a_line(elsewhere: str) -> None:
    with pytest.raises(LossLakeError, match=r"there is no lake in postgresql.* s3://"):
        Lake.open(elsewhere)

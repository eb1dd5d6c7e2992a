"""Readers of a lake wait for a database that restarts, as long as they can."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from losslake.lake import connecting
from losslake.lake.lake import SECONDS_TO_ANSWER, Lake, _check_folder
from losslake.lake.location import location_of
from losslake_schema.errors import LossLakeError
from tests.losslake.lake.clock import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock of all retries."""
    clock = Clock()
    monkeypatch.setattr(connecting, "time", clock)
    return clock


def query_once(lake: Lake, clock: Clock, answers_at: float) -> str:
    """Ask a database that refuses connections up to a time."""

    def query(_: Session) -> str:
        if clock.seconds < answers_at:
            raise OperationalError("connect", {}, ConnectionRefusedError())
        return "answered"

    return lake.read(query)


def test_a_reader_waits_as_long_as_an_ingest_for_a_database_that_restarts(tmp_path: Path, clock: Clock) -> None:
    lake = Lake.create(tmp_path / "lake")
    assert lake.seconds_to_read == connecting.SECONDS_TO_WRITE
    assert query_once(lake, clock, 59) == "answered"
    began = clock.seconds
    with pytest.raises(OperationalError, match="ConnectionRefusedError"):
        query_once(lake, clock, 500)
    assert clock.seconds - began == pytest.approx(connecting.SECONDS_TO_WRITE)


def test_whoever_has_to_answer_soon_waits_five_seconds(tmp_path: Path, clock: Clock) -> None:
    lake = Lake(location_of(tmp_path), SECONDS_TO_ANSWER)
    assert query_once(lake, clock, 4.9) == "answered"
    began = clock.seconds
    with pytest.raises(OperationalError, match="ConnectionRefusedError"):
        query_once(lake, clock, 50)
    assert clock.seconds - began == pytest.approx(SECONDS_TO_ANSWER)


def test_a_reader_that_waits_says_so_once(tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    lake = Lake(location_of(tmp_path))
    with caplog.at_level(logging.WARNING):
        query_once(lake, clock, 1)
        assert caplog.messages == []
        query_once(lake, clock, 50)
    assert caplog.messages == ["the lake's database doesn't answer: trying for up to 60 s"]


def test_readers_of_a_lake_in_sqlite_do_not_wait_for_a_commit(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    with lake.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_a_folder_in_which_another_process_has_just_begun_a_lake_has_no_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begun(folder: Path) -> Iterator[Path]:
        (folder / "catalog.db").touch()
        return iter([folder / "catalog.db"])

    with monkeypatch.context() as changes:
        changes.setattr(Path, "iterdir", begun)
        _check_folder(tmp_path)
    (tmp_path / "catalog.db").rename(tmp_path / "mine.db")
    with pytest.raises(LossLakeError, match="contains other files and is not a lake"):
        _check_folder(tmp_path)

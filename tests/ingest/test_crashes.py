"""Killed at any moment, or two at once: the last release stays whole, the work can be finished, nothing is doubled."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.release import Release
from losslake_schema.tables import TABLES
from tests.forked import Forked
from tests.ingest.offers import Files, TrialOffer, study_files, tar_bytes, unpacked, written


def many_studies(number: float, count: int = 6) -> Files:
    rows = [f"{step},{1 / (number + step)!r}" for step in range(300)]
    return {
        p: d
        for b in range(count)
        for p, d in study_files({t: TrialOffer(rows=rows) for t in range(1, 8)}, 2**b).items()
    }


def ingest_into(lake: Path, offer: Path) -> None:
    ingest(Lake.create(lake), [offer])


def whole_release(lake: Lake) -> tuple[int, str]:
    """Read the newest release entirely and check it against its own counts."""
    release = lake.release()
    connection = open_release(lake, release)
    counted = connection.execute(
        "SELECT (SELECT count(*) FROM measurements), (SELECT count(*) FROM trials), (SELECT count(*) FROM studies)"
    ).fetchone()
    connection.close()
    assert counted == (release.n_measurements, release.n_trials, release.n_studies)
    return release.number, release.content_digest


@pytest.mark.parametrize(("release", "statement"), [(1, "INSERT INTO iceberg_tables"), (2, "UPDATE iceberg_tables")])
def test_kill_before_the_commit_publishes_nothing_in_any_table(tmp_path: Path, release: int, statement: str) -> None:
    lake = Lake.create(tmp_path / "lake")
    for number in range(1, release):
        ingest(lake, [unpacked(tmp_path / f"{number}", study_files({1: TrialOffer()}, number))])
    newest, versions = lake.newest_release(), lake.table_versions()
    logs = unpacked(tmp_path / "logs", study_files({1: TrialOffer()}, 64))
    statements: list[str] = []

    def kill(_: Session) -> None:
        raise KeyboardInterrupt

    def note(_: object, __: object, statement: str, *___: object) -> None:
        statements.append(statement)

    event.listen(lake.engine, "before_cursor_execute", note)
    event.listen(Session, "before_commit", kill)
    try:
        with pytest.raises(KeyboardInterrupt):
            ingest(lake, [logs])
    finally:
        event.remove(Session, "before_commit", kill)
    assert [each for each in statements if each.startswith("INSERT INTO losslake_releases")]
    assert len([each for each in statements if each.startswith(statement)]) == len(TABLES)
    assert (lake.newest_release(), lake.table_versions()) == (newest, versions)
    ingest(lake, [logs])
    assert lake.release().number == release
    assert_iceberg_is_at(lake, lake.release())


def assert_iceberg_is_at(lake: Lake, release: Release) -> None:
    """Check that `main` and the tag of the release are its snapshot in every table."""
    for name, snapshot in release.snapshots.items():
        metadata = lake.table(name).metadata
        assert metadata.current_snapshot_id == metadata.refs[f"release-{release.number}"].snapshot_id == snapshot
    assert lake.table("measurements").scan().count() == release.n_measurements


@pytest.mark.usefixtures("lakes_are_created")
def test_next_run_recovers_from_a_kill_while_creating_a_lake(tmp_path: Path) -> None:
    statements: list[str] = []

    def kill(_: object, __: object, statement: str, *___: object) -> None:
        statements.append(statement)
        if len(statements) == last:
            raise KeyboardInterrupt

    undisturbed = tables_of(Lake.create(tmp_path / "undisturbed"))
    event.listen(Engine, "before_cursor_execute", kill)
    try:
        for last in count(1):
            folder = tmp_path / f"lake{last}"
            statements.clear()
            with suppress(KeyboardInterrupt):
                Lake.create(folder)
            assert tables_of(Lake.create(folder)) == undisturbed
            if len(statements) < last:
                break
    finally:
        event.remove(Engine, "before_cursor_execute", kill)
    assert [each for each in statements if each.startswith("INSERT INTO iceberg_namespace_properties")]
    ingest(Lake.open(folder), [unpacked(tmp_path / "logs", study_files({1: TrialOffer()}, 64))])
    assert whole_release(Lake.open(folder))[0] == 1


def tables_of(lake: Lake) -> set[Sequence[object]]:
    """The tables and indexes of a lake's database."""
    return set(lake.rows("SELECT name, sql FROM sqlite_master"))


@pytest.mark.slow
@pytest.mark.parametrize("kills", [8, pytest.param(80, marks=pytest.mark.fuzz)])
def test_killed_at_any_moment_leaves_the_last_release_whole_and_a_second_run_finishes(
    tmp_path: Path, kills: int
) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "first", study_files({1: TrialOffer()}, 4096))])
    undisturbed = Lake.create(tmp_path / "undisturbed")
    ingest(undisturbed, [tmp_path / "first"])
    assert Forked(print).wait() == 0  # starts the server that forks
    started = time.monotonic()
    process = Forked(ingest_into, undisturbed.folder, written(tmp_path / "offer.tar", tar_bytes(many_studies(1.0))))
    assert process.wait() == 0
    longest = time.monotonic() - started
    chance = random.Random(7)
    killed, newest = 0, 1
    while killed < kills:
        offer = written(tmp_path / "offer.tar", tar_bytes(many_studies(newest + killed + 1.0)))
        process = Forked(ingest_into, lake.folder, offer)
        time.sleep(chance.uniform(0, longest * 0.8))
        if process.is_running():
            killed += 1
        else:
            longest /= 2  # it was measured while the machine was busier
        process.kill()
        assert process.wait() in (0, -signal.SIGKILL)
        before, newest = newest, whole_release(lake)[0]
        assert newest in (before, before + 1)
    for finished in (lake, undisturbed):
        ingest(finished, [offer])
    assert lake.release().n_studies == 1 + 6
    assert whole_release(lake)[1] == whole_release(undisturbed)[1]
    assert_iceberg_is_at(lake, lake.release())


def test_two_concurrent_ingests_both_publish(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    offers = [
        written(
            tmp_path / f"{name}.tar", tar_bytes({p.replace("root", name): d for p, d in many_studies(1.0, 3).items()})
        )
        for name in ("one", "two", "three")
    ]
    processes = [Forked(ingest_into, lake.folder, offer) for offer in offers]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert [release.number for release in lake.releases()] == [3, 2, 1]
    whole_release(lake)
    assert lake.release().n_trials == 3 * 3 * 7
    assert lake.table("trials").scan().count() == 3 * 3 * 7
    for name in TABLES:
        assert set(lake.table(name).metadata.refs) == {"main", "release-1", "release-2", "release-3"}
    assert_iceberg_is_at(lake, lake.release())


@pytest.mark.parametrize("processes", [3])
def test_a_lake_may_be_made_by_several_processes_at_once(tmp_path: Path, processes: int) -> None:
    offer = written(tmp_path / "a.tar", tar_bytes(study_files({1: TrialOffer()})))
    running = [Forked(ingest_into, tmp_path / "lake", offer) for _ in range(processes)]
    assert [process.wait() for process in running] == [0] * processes
    assert whole_release(Lake.open(tmp_path / "lake"))[0] == 1

"""Killed at every write, or with every write failing: nothing is lost or doubled, and every state has an exit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from losslake.lake.lake import Lake
from losslake_cli.changes.erase import erase_completely
from losslake_contributions.intake.cleaning import delete_orphans
from losslake_contributions.intake.silence import end_silent_runs
from losslake_contributions.people.tokens import authenticate
from losslake_contributions.review.acceptance import accept_reviewed
from losslake_contributions.review.archive import spool_files, stored_run
from losslake_contributions.review.review import Reviews
from losslake_contributions.review.submissions import find_any, return_to_contributor, withdraw
from losslake_contributions.store.database import Database
from losslake_ingest.run import ingest
from tests.contributions.conftest import ADA, serving
from tests.contributions.crash_points import CrashPoints, cases
from tests.contributions.review import test_erasure as erasure
from tests.contributions.review.test_acceptance import REWOUND, check_stored
from tests.contributions.spooled_runs import SpooledRun, rows
from tests.servers.postgresql import PostgreSQL

Check = Callable[[int], None]
# Of hundreds of writes, most are those of Iceberg's files, eight times the same.
EACH_WRITE = pytest.mark.parametrize(
    "are_all",
    [
        pytest.param(False, marks=pytest.mark.slow, id="first and last of those alike"),
        pytest.param(True, marks=pytest.mark.fuzz, id="all writes"),
    ],
)


def disturb_everywhere(
    crash: CrashPoints, check: Check, are_all: bool = True, only: Callable[[str], bool] = lambda _: True
) -> None:
    """Disturb an operation at its writes, and check the lake each time; print the counts.

    check: gets a number that grows. are_all: at each write, else at the first and last of those that are alike. only:
    the kinds of writes.
    """
    crash.keep()
    points = crash.points()
    check(0)
    for number, (point, how) in enumerate(cases([each for each in points if only(each.kind)], are_all)):
        crash.disturb(point, how)
        try:
            check(number)
        except Exception as error:
            raise AssertionError(f"{how} at {point}: {crash.failure()}") from error
        assert not [path for path in (crash.watched / "tmp").rglob("*") if path.is_file()], "private files are left"
    done = ", ".join(f"{count} {name}" for name, count in sorted(crash.counts.items()))
    print(f"{crash.operation.__name__}: {len(points)} writes found, {done}, lost 0, doubled 0, without exit 0")
    assert crash.counts["kills"] + crash.counts["failed writes"] > 5


def accept_submission(location: str, name: str) -> None:
    database = Database.open(Lake.open(location))
    accept_reviewed(database, Reviews(database), name, "me")


def silence(location: str) -> None:
    end_silent_runs(Database.open(Lake.open(location)), timedelta(0))


def erase_trial(location: str) -> None:
    erase_completely(Lake.open(location), [erasure.TRIAL], "a court's order", "the operator")


def publish_runs(location: str, runs: str) -> None:
    ingest(Lake.open(location), [runs])


def lake_in(folder: Path) -> Lake:
    (folder / "watched").mkdir()
    return Lake.create(folder / "watched" / "lake")


def on_postgresql(postgresql: PostgreSQL, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Lake, dict[str, Any]]:
    """A lake with its database in PostgreSQL, and what its crash points need."""
    (folder / "watched").mkdir()
    monkeypatch.setenv("LOSSLAKE_CACHE", str(folder / "watched" / "cache"))
    url = postgresql.new_database()
    lake = Lake.create(f"{url} file://{folder / 'watched' / 'files'}")
    return lake, {"postgresql": postgresql, "database": make_url(url).database}


def of_database(kind: str) -> bool:
    return kind in ("statement", "commit")


class Acceptances:
    """A submission of two runs whose review is made; what may be done after its acceptance was disturbed."""

    def __init__(self, lake: Lake) -> None:
        self.location = str(lake)
        self.runs = [SpooledRun(segments=dict(REWOUND)), SpooledRun(batch_size=128)]
        with serving(lake) as service:
            ada = service.sender("Ada", ADA)
            self.token = ada.token
            self.name = ada.submitted(*self.runs)
            reviewer = service.sender("Rea", None, "review")
            assert reviewer.review(self.name).status_code == 200
        lake.engine.dispose()

    def check(self, number: int) -> None:
        """Check that the submission is accepted with all of its runs, or waits without any; then decide."""
        lake = Lake.open(self.location)
        database = Database.open(lake)
        is_stored = lake.newest_release() is not None
        assert find_any(database, self.name).state == ("accepted" if is_stored else "submitted")
        decisions: list[Callable[[], object]] = [
            lambda: accept_reviewed(database, Reviews(database), self.name, "me"),
            lambda: return_to_contributor(database, "me", self.name, "later"),
            lambda: withdraw(database, authenticate(database, f"Bearer {self.token}"), self.name),
        ]
        decisions[0 if is_stored else number % 3]()
        if is_stored or number % 3 == 0:
            assert find_any(database, self.name).release == 1
            assert len(lake.releases()) == 1
            check_stored(lake, *self.runs)
        else:
            assert lake.newest_release() is None
        Reviews(database).forget_decided()
        assert not list((lake.folder / "drafts").glob(f"{self.name}*"))
        assert delete_orphans(database, timedelta(0)) == 0
        for run in self.runs:
            assert lines_held(database, run) == {path: run.data(path) for path in run.segments}
        lake.engine.dispose()


def lines_held(database: Database, run: SpooledRun) -> dict[str, bytes]:
    """The JSON lines of the segments of a run, by path, as an acceptance would read them."""
    files = spool_files(database, stored_run(database, run.id, "CC-BY-4.0"))
    return {file.path: file.read() for file in files if file.path.endswith(".jsonl")}


@EACH_WRITE
@pytest.mark.timeout(3600)
def test_acceptance(tmp_path: Path, are_all: bool) -> None:
    made = Acceptances(lake_in(tmp_path))
    disturb_everywhere(CrashPoints(tmp_path, accept_submission, (made.location, made.name)), made.check, are_all)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_acceptance_in_postgresql(postgresql: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, server = on_postgresql(postgresql, tmp_path, monkeypatch)
    made = Acceptances(lake)
    crash = CrashPoints(tmp_path, accept_submission, (made.location, made.name), **server)
    disturb_everywhere(crash, made.check, only=of_database)


class Silences:
    """A run that fell silent: a whole segment, and pieces of two more."""

    def __init__(self, lake: Lake) -> None:
        self.location = str(lake)
        self.run = SpooledRun(
            segments={f"0001/{number:06d}.jsonl": rows(range(number, number + 9)) for number in (1, 2, 3)}
        )
        whole, *begun = self.run.segments
        with serving(lake) as service:
            ada = service.sender("Ada", ADA)
            ada.create(self.run)
            ada.put(self.run, whole)
            assert ada.live(*(self.run.piece(path) for path in begun)).status_code == 200
        lake.engine.dispose()

    def check(self, _: int) -> None:
        """Check that the run can be finished with every line."""
        lake = Lake.open(self.location)
        database = Database.open(lake)
        end_silent_runs(database, timedelta(0))
        assert lines_held(database, self.run) == {path: self.run.data(path) for path in self.run.segments}
        delete_orphans(database, timedelta(0))
        assert len(list(lake.store.list_files("contributions"))) == len(self.run.segments)
        assert end_silent_runs(database, timedelta(0)) == 0
        lake.engine.dispose()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_silence(tmp_path: Path) -> None:
    made = Silences(lake_in(tmp_path))
    disturb_everywhere(CrashPoints(tmp_path, silence, (made.location,)), made.check)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_silence_in_postgresql(postgresql: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, server = on_postgresql(postgresql, tmp_path, monkeypatch)
    made = Silences(lake)
    disturb_everywhere(CrashPoints(tmp_path, silence, (made.location,), **server), made.check, only=of_database)


@EACH_WRITE
@pytest.mark.timeout(3600)
def test_erasure(tmp_path: Path, are_all: bool) -> None:
    made = erasure.make(lake_in(tmp_path))
    location = str(made.lake)

    def check(_: int) -> None:
        erase_trial(location)
        lake = Lake.open(location)
        assert erasure.found(lake.folder) == set()
        check_stored(lake, made.other)
        database = Database.open(lake)
        assert (find_any(database, made.accepted).state, find_any(database, made.copied).state) == (
            "accepted",
            "returned",
        )
        assert lines_held(database, made.other) == {path: made.other.data(path) for path in made.other.segments}
        lake.engine.dispose()

    disturb_everywhere(CrashPoints(tmp_path, erase_trial, (location,)), check, are_all)


@EACH_WRITE
@pytest.mark.timeout(3600)
def test_publishing(tmp_path: Path, are_all: bool) -> None:
    lake = lake_in(tmp_path)
    location, folder = str(lake), tmp_path / "watched" / "runs"
    first, second = SpooledRun(segments=dict(REWOUND)), SpooledRun(batch_size=128)
    ingest(lake, [first.write(tmp_path / "first").parent])
    second.write(folder)
    lake.engine.dispose()

    def check(_: int) -> None:
        lake = Lake.open(location)
        is_published = len(lake.releases()) == 2
        check_stored(lake, first, *([second] if is_published else []))
        ingest(lake, [folder])
        assert len(lake.releases()) == 2
        check_stored(lake, first, second)
        lake.engine.dispose()

    disturb_everywhere(CrashPoints(tmp_path, publish_runs, (location, str(folder))), check, are_all)

"""Trainings, clients, senders, the service and acceptances are killed, the network cuts and repeats: nothing is lost.

Every measurement that was acknowledged, and that no later attempt supersedes, is in the accepted release exactly once,
in order. What is in the spools is read by a few lines of plain Python.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_contributions.intake.segment_files import read_segment
from losslake_contributions.intake.segments import held_segments, segment_of
from losslake_contributions.intake.segments import lines_of as pieces_of
from losslake_contributions.review.submissions import list_submissions
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import HeldSegment, OpenSegment, Piece
from tests.contributions.campaign import Campaign
from tests.contributions.spooled_runs import Rows, remaining, same
from tests.contributions.stored import stored_curves
from tests.forked import Forked


@pytest.fixture(autouse=True)
def temporary_files_go_with_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is killed leave its temporary files where the test's own are."""
    assert Forked(print).wait() == 0  # starts the server that forks, whose socket needs a short path
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def lines_of(place: Path) -> dict[str, Rows]:
    """The whole lines of each segment of a spool."""
    segments: dict[str, Rows] = {}
    for path in sorted(place.glob("*/*.jsonl")):
        whole, _, _ = path.read_bytes().rpartition(b"\n")
        segments[path.relative_to(place).as_posix()] = [json.loads(line) for line in whole.split(b"\n") if line]
    return segments


def check_nothing_lost(lake: Lake, folder: Path, trainings: int) -> None:
    spools = {path.parent.name: lines_of(path.parent) for path in folder.glob("*/run.json")}
    spools = {name: segments for name, segments in spools.items() if any(segments.values())}
    stored = stored_curves(lake)
    assert sorted(stored) == sorted(spools)
    assert len(spools) >= trainings * 0.9
    for name, segments in spools.items():
        expected = remaining(segments)
        assert stored[name].keys() == expected.keys()
        for metric, points in expected.items():
            assert [step for step, _ in stored[name][metric]] == [step for step, _ in points]
            pairs = zip(stored[name][metric], points, strict=True)
            assert all(same(value, wanted) for (_, value), (_, wanted) in pairs)
    database = Database.open(lake)
    states = [each.state for each in list_submissions(database).submissions]
    assert set(states) == {"accepted"}
    for name, segments in spools.items():
        held = database.read(partial(held_segments, run=name))
        assert [segment.path for segment in held] == sorted(segments)


@dataclass
class GrowingRuns:
    """The runs as far as the service holds them. acknowledged: bytes of segments that it has held so far, by path."""

    lake: Lake
    folder: Path
    acknowledged: dict[str, int] = field(default_factory=dict)

    def check(self) -> None:
        """Check that everything held is the beginning of what was recorded, and that no segment has become shorter."""
        sizes: dict[str, int] = {}
        database = Database.open(self.lake)
        for path, data in database.read(self._held):
            assert (self.folder / path).read_bytes().startswith(data), path
            sizes[path] = max(len(data), sizes.get(path, 0))
        shorter = {path: size for path, size in self.acknowledged.items() if sizes.get(path, 0) < size}
        assert not shorter, f"of {sizes}"
        self.acknowledged = sizes

    def _held(self, session: Session) -> list[tuple[str, bytes]]:
        """The path below the folder, and the bytes, of whole, partial and open segments."""
        held = []
        for row in session.scalars(select(HeldSegment)):
            data = read_segment(self.lake, row.path, row.sha256)
            held.append((f"{row.contribution}/{segment_of(row).path}", data))
        for part in session.scalars(select(OpenSegment)):
            begins = "" if part.from_step is None else f"-from-{part.from_step}"
            path = f"{part.contribution}/{part.attempt:04d}{begins}/{part.n:06d}.jsonl"
            data = pieces_of(session, part.contribution, part.attempt, part.n)
            assert len(data) == part.bytes
            held.append((path, data))
        return held


def live_campaign(lake: Lake, folder: Path, trainings: int, seed: int, pace: float = 1.0) -> Campaign:
    campaign = Campaign(lake, folder, trainings, seed, True, GrowingRuns(lake, folder).check, pace)
    campaign.run()
    return campaign


def check_nothing_open(lake: Lake) -> None:
    """No pieces remain of runs that were accepted."""
    database = Database.open(lake)
    for kind in (OpenSegment, Piece):
        assert database.read(lambda session, kind=kind: session.scalars(select(kind)).all()) == []  # type: ignore[misc]


def told(campaign: Campaign) -> str:
    return (
        f"{campaign.faults} faults: {campaign.cuts} connections cut, {campaign.repeats} sent again, "
        f"{campaign.silences} runs silent, killed: {dict(campaign.killed)}"
    )


# The small ones are short, so that no run falls silent.
SIZES = pytest.mark.parametrize(
    ("trainings", "pace"), [(1, 0.2), pytest.param(4, 1.0, marks=pytest.mark.slow)], ids=["small", "usual pace"]
)


@SIZES
def test_a_few_trainings_are_stored_exactly_once(empty_lake: Lake, tmp_path: Path, trainings: int, pace: float) -> None:
    Campaign(empty_lake, tmp_path / "runs", trainings, seed=1, pace=pace).run()
    check_nothing_lost(empty_lake, tmp_path / "runs", trainings)


@SIZES
def test_a_few_live_trainings_are_stored_exactly_once(
    empty_lake: Lake, tmp_path: Path, trainings: int, pace: float
) -> None:
    live_campaign(empty_lake, tmp_path / "runs", trainings, seed=1, pace=pace)
    check_nothing_lost(empty_lake, tmp_path / "runs", trainings)
    check_nothing_open(empty_lake)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_trainings_are_stored_exactly_once(empty_lake: Lake, tmp_path: Path) -> None:
    seed = int(os.environ.get("LOSSLAKE_TEST_SEED", "2"))
    campaign = Campaign(empty_lake, tmp_path / "runs", 200, seed)
    campaign.run()
    print(told(campaign))
    files = (tmp_path / "runs").glob("*.calls")
    calls = [pair for path in files for pair in json.loads(path.read_text())]
    for what, seconds in zip(("calls of log", "empty loops of 2 µs"), zip(*calls, strict=True), strict=True):
        took = sorted(1e6 * each for each in seconds)
        print(
            f"{len(took):,} {what}: {took[len(took) // 2]:,.0f} µs median, {took[-len(took) // 1000]:,.0f} "
            f"99.9th percentile, {took[-1]:,.0f} longest, {sum(each > 1000 for each in took)} above 1 ms"
        )
    print(f"{empty_lake.release().n_measurements:,} measurements in {len(empty_lake.releases())} releases")
    check_nothing_lost(empty_lake, tmp_path / "runs", 200)
    assert campaign.cuts > 20
    assert campaign.repeats > 5
    assert min(campaign.killed[each] for each in ("training", "service", "client")) > 5


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_live_trainings_with_five_hundred_faults_are_stored_exactly_once(empty_lake: Lake, tmp_path: Path) -> None:
    seed = int(os.environ.get("LOSSLAKE_TEST_SEED", "2"))
    campaign = live_campaign(empty_lake, tmp_path / "runs", 120, seed)
    print(told(campaign))
    print(f"{empty_lake.release().n_measurements:,} measurements in {len(empty_lake.releases())} releases")
    check_nothing_lost(empty_lake, tmp_path / "runs", 120)
    check_nothing_open(empty_lake)
    assert campaign.faults >= 500
    assert campaign.cuts > 100
    assert min(campaign.killed[each] for each in ("training", "service", "client", "sender")) > 5
    assert min(campaign.repeats, campaign.silences) > 5

"""Maintenance after any history keeps listed releases intact and deletes unneeded files."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from losslake.index.maintenance import clean
from losslake.lake import iceberg
from losslake.lake.lake import Lake
from losslake.lake.retention import to_unlist, unlist
from losslake.lake.store.folder import FolderStore
from losslake_ingest.releases import compaction
from losslake_ingest.releases.compaction import compact
from tests.forked import Forked
from tests.losslake.index.maintenance.lakes import (
    content,
    ingest_study,
    ingest_study_killed,
    needed,
    policy,
    problems,
    stored,
)

GRACE = timedelta(hours=1)
Contents = dict[int, list[tuple[object, ...]]]


def contents(lake: Lake) -> Contents:
    return {release.number: content(lake, release) for release in lake.releases()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in range(2, 30))])
def test_maintenance_after_any_history_leaves_listed_releases_unchanged(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(compaction, "_pays", lambda _: chance.random() < 0.5)
    lake = Lake.create(tmp_path / "lake")
    ingest_study(lake, tmp_path / "first", 1.0)
    previous = contents(lake)
    for step in range(10):
        what = chance.choice(("take in", "take in", "killed", "unlist", "compact", "maintain", "maintain"))
        value, batch_size = chance.uniform(1, 2), chance.choice((8, 16))
        if what == "take in":
            ingest_study(lake, tmp_path / f"logs{step}", value, batch_size)
        elif what == "killed":
            ingest_study_killed(lake, tmp_path / f"killed{step}", value, batch_size)
        elif what == "unlist":
            unlist(lake, to_unlist(lake, chance.randint(1, 3), []))
        elif what == "compact":
            compact(lake)
        else:
            clean(lake, policy())
            assert stored(lake) == needed(lake)
        now = contents(lake)
        assert {number: said for number, said in now.items() if number in previous} == {
            number: said for number, said in previous.items() if number in now
        }
        assert max(previous) in now
        previous = now
    clean(lake, policy())
    assert stored(lake) == needed(lake)
    assert problems(lake) == []


def maintained(folder: Path, steps: int | None = None) -> None:
    """Run all of maintenance; stop it before that many changes of files or catalog, if given."""
    left = steps

    def counted(method: Callable[..., object]) -> Callable[..., object]:
        def counting(*arguments: object, **named: object) -> object:
            nonlocal left
            left = left - 1 if left is not None else None
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(*arguments, **named)

        return counting

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "_pays", bool)
        for place, name in ((FolderStore, "put"), (iceberg, "stage"), (iceberg, "publish"), (Path, "unlink")):
            patch.setattr(place, name, counted(getattr(place, name)))
        lake = Lake.open(folder)
        compact(lake)
        unlist(lake, to_unlist(lake, 2, []))
        clean(lake, policy())


@pytest.mark.parametrize("kills", [pytest.param(6, marks=pytest.mark.slow), pytest.param(60, marks=pytest.mark.fuzz)])
def test_maintenance_killed_at_any_moment_leaves_listed_releases_intact(tmp_path: Path, kills: int) -> None:
    lake = Lake.create(tmp_path / "lake")
    chance = random.Random(3)
    ends = []
    for attempt in range(kills):
        ingest_study(lake, tmp_path / f"logs{attempt}", attempt + 1.0)
        before = contents(lake)
        process = Forked(maintained, lake.folder, chance.randint(1, 60))
        ends.append(process.wait())
        assert problems(lake) == []
        assert {number: said for number, said in contents(lake).items() if number in before}.items() <= before.items()
    assert ends.count(-signal.SIGKILL) >= kills // 2
    assert set(ends) <= {-signal.SIGKILL, 0}
    maintained(lake.folder)
    assert stored(lake) == needed(lake)
    assert problems(lake) == []


def left_behind(lake: Lake, name: str, age: timedelta) -> Path:
    """Write a data file that nothing needs, as a killed ingest does, some time ago."""
    path = lake.folder / "warehouse" / "losslake" / "trials" / "data" / f"{name}.parquet"
    path.write_bytes(b"left behind")
    then = time.time() - age.total_seconds()
    os.utime(path, (then, then))
    return path


def ingest_some(folder: Path, logs: Path, count: int) -> None:
    for number in range(count):
        ingest_study(Lake.open(folder), logs / str(number), number + 2.0, 64)


@pytest.mark.slow
def test_maintenance_during_an_ingest_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_pays", bool)
    lake = Lake.create(tmp_path / "lake")
    ingest_study(lake, tmp_path / "first", 1.0)
    process = Forked(ingest_some, lake.folder, tmp_path / "logs", 4)
    young = left_behind(lake, "young", timedelta(0))
    rounds = 0
    while process.is_running() or rounds < 2:
        old = left_behind(lake, f"old{rounds}", 2 * GRACE)
        clean(lake, policy(GRACE))
        assert (old.exists(), young.exists()) == (False, True)
        compact(lake)
        rounds += 1
    assert process.wait() == 0
    assert {release.notes for release in lake.releases()} == {"", "compacted"}
    assert sum(release.notes == "" for release in lake.releases()) == 1 + 4
    assert problems(lake) == []
    clean(lake, policy())
    assert stored(lake) == needed(lake)

"""Killed at any moment, or two at once: the last release stays whole, the work can be finished, nothing is doubled."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ingest.run import ingest
from schema import iceberg
from schema.lake import Lake
from schema.serving import open_release
from tests.ingest.offers import Files, TrialOffer, study_files, tar_bytes, unpacked, written

INGEST = """
import sys
from pathlib import Path
from ingest.run import ingest
from schema.lake import Lake
print("go", flush=True)
ingest(Lake.create(sys.argv[1]), [Path(sys.argv[2])])
"""
KILLS = 20


def many_studies(value: float, count: int = 6) -> Files:
    rows = [f"{step},{value / (1 + step)!r}" for step in range(300)]
    return {
        p: d
        for b in range(count)
        for p, d in study_files({t: TrialOffer(rows=rows) for t in range(1, 8)}, 2**b).items()
    }


def start(lake: Path, offer: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", INGEST, str(lake), str(offer)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"go\n"
    return process


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


def test_a_kill_between_the_release_and_iceberg_s_main_is_made_good_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake.create(tmp_path / "lake")
    logs = unpacked(tmp_path / "logs", study_files({1: TrialOffer()}, 64))
    with monkeypatch.context() as killing:
        killing.setattr(iceberg, "settle", killed)
        with pytest.raises(KeyboardInterrupt):
            ingest(lake, [logs])
    assert lake.table("measurements").scan().to_arrow().num_rows == 0
    assert lake.release().n_measurements > 0
    ingest(lake, [logs])
    assert lake.table("measurements").scan().to_arrow().num_rows == lake.release().n_measurements


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_killed_at_any_moment_leaves_the_last_release_whole_and_a_second_run_finishes(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "first", study_files({1: TrialOffer()}, 4096))])
    offer = written(tmp_path / "offer.tar", tar_bytes(many_studies(1.0)))
    undisturbed = Lake.create(tmp_path / "undisturbed")
    ingest(undisturbed, [tmp_path / "first"])
    started = time.monotonic()
    process = start(undisturbed.folder, offer)
    assert process.wait() == 0
    longest = time.monotonic() - started
    expected = whole_release(undisturbed)
    chance = random.Random(7)
    killed = 0
    for _ in range(KILLS):
        process = start(lake.folder, offer)
        time.sleep(chance.uniform(0, longest * 0.8))
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert whole_release(lake)[0] in (1, 2)
    assert killed >= KILLS // 4
    ingest(lake, [offer])
    assert whole_release(lake) == expected
    assert lake.table("measurements").scan().to_arrow().num_rows == lake.release().n_measurements


def test_two_ingests_at_once_both_land(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    offers = [
        written(
            tmp_path / f"{name}.tar", tar_bytes({p.replace("root", name): d for p, d in many_studies(1.0, 3).items()})
        )
        for name in ("one", "two", "three")
    ]
    processes = [start(lake.folder, offer) for offer in offers]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert [release.number for release in lake.releases()] == [3, 2, 1]
    whole_release(lake)
    assert lake.release().n_trials == 3 * 3 * 7
    table = lake.table("trials")
    assert table.scan().to_arrow().num_rows == 3 * 3 * 7
    assert not [ref for ref in table.metadata.refs if ref.startswith("ingest-")]


@pytest.mark.parametrize("processes", [3])
def test_a_lake_may_be_made_by_several_processes_at_once(tmp_path: Path, processes: int) -> None:
    offer = written(tmp_path / "a.tar", tar_bytes(study_files({1: TrialOffer()})))
    running = [start(tmp_path / "lake", offer) for _ in range(processes)]
    assert [process.wait() for process in running] == [0] * processes
    assert whole_release(Lake.open(tmp_path / "lake"))[0] == 1

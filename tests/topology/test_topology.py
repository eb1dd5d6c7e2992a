"""A lake in PostgreSQL and a bucket, two replicas behind nginx, two ingests at once, and what fails in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.run import ingest
from tests.ingest.offers import TrialOffer, study_files, tar_bytes, written
from tests.servers.processes import wait_until
from tests.servers.s3 import S3
from tests.topology.load import Load, Read, steady_load
from tests.topology.processes import Replica, Topology, topology

WORKLOAD = "shelf/mnist/cnn/sgd"
METRIC = "val/classification_error"
STATEMENTS = (
    "SELECT count(*), min(value), max(value), max(step) FROM measurements",
    "SELECT batch_size, trial_id, status FROM trials ORDER BY ALL",
    f"SELECT * FROM result_at('{METRIC}', 0.3) ORDER BY ALL",
)
SHARE_THAT_FAILS = 0.05
SECONDS = 90
SECONDS_INTO_AN_INGEST = 0.4
TRIES = 3


def archive(folder: Path, batch_sizes: Sequence[int]) -> Path:
    """Studies of these batch sizes: six trials of forty evaluations each."""
    files: dict[str, bytes] = {}
    for batch_size in batch_sizes:
        trials = {
            trial: TrialOffer(rows=[f"{step},{1 / (1 + step * trial / batch_size):.6f}" for step in range(0, 400, 10)])
            for trial in range(1, 7)
        }
        files |= study_files(trials, batch_size, WORKLOAD)
    return written(folder / f"{'-'.join(map(str, batch_sizes))}.tar.bz2", tar_bytes(files, "w:bz2"))


def rounds(folder: Path, count: int) -> list[tuple[Path, Path]]:
    """Two archives for each round: what both offer must not be doubled, nor what only one does be lost."""
    return [
        (archive(folder, [2, 10 * number, 10 * number + 1]), archive(folder, [2, 10 * number, 10 * number + 2]))
        for number in range(1, count + 1)
    ]


def reads(url: str) -> list[Read]:
    """Questions of every kind about release 1, and its files, whole and in part."""
    listed = httpx.get(f"{url}/v1/releases/1/files").json()["rows"]
    files = [(f"/data/1/{row['path']}", row["bytes"]) for row in listed if row["table"] in ("measurements", "trials")]
    return [
        *(Read("file", path) for path, _ in files),
        *(Read("part of a file", path, part=(size // 3, size // 2)) for path, size in files),
        *(Read("sql", "/v1/sql", sql) for sql in STATEMENTS),
        *(Read("scaling", f"/v1/scaling?release=1&workload={WORKLOAD}&metric={METRIC}&target={t}") for t in (0.1, 0.3)),
        *(Read("curves", f"/v1/curves?release=1&study={WORKLOAD}/{batch_size}") for batch_size in (2, 4)),
        Read("trials", "/v1/trials?release=1&limit=100"),
        Read("page", "/workloads", is_of_a_release=False),
    ]


def contents(lake: Lake) -> tuple[object, ...]:
    """What a lake's newest release has in it, whatever its files are."""
    release = lake.release()
    connection = open_release(lake, release)
    try:
        curves = connection.execute(
            "SELECT batch_size, trial_id, list(value ORDER BY step) FROM measurements GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    finally:
        connection.close()
    return release.content_digest, release.n_trials, release.n_measurements, curves


def offer_both(running: Topology, archives: tuple[Path, Path], meanwhile: Callable[[], None]) -> list[str]:
    """Two ingests at once; one that says that it couldn't is started again, as people do. Gives what those said."""
    started = [(path, running.start_ingest(path.stem, path)) for path in archives]
    time.sleep(SECONDS_INTO_AN_INGEST)
    meanwhile()
    gave_up = []
    for path, process in started:
        for _ in range(TRIES):
            if process.wait(SECONDS) == 0:
                break
            said = running.complaint(path.stem)
            assert said.startswith("losslake: "), said
            gave_up.append(said)
            process = running.start_ingest(path.stem, path)
        else:
            assert process.wait(SECONDS) == 0, running.complaint(path.stem)
    return gave_up


def newest(replica: Replica) -> int:
    release = replica.get("/v1/workloads").json()["release"]
    assert isinstance(release, int)
    return release


def wait_until_noticed(running: Topology, number: int) -> None:
    """Return when both replicas answer from a release or a later one."""
    what = f"both replicas answer from release {number}"
    wait_until(lambda: min(map(newest, running.replicas)) >= number, what, SECONDS)


def drive(running: Topology, offered: Sequence[tuple[Path, Path]]) -> list[str]:
    """Two ingests at once, again and again, while the database or a replica fails; what those said that gave up."""
    gave_up: list[str] = []
    for number, archives in enumerate(offered):
        failing = running.replicas[number // 2 % 2]
        gave_up += offer_both(running, archives, failing.kill if number % 2 else running.database.restart)
        if number % 2:
            failing.start()
            wait_until(failing.is_ready, "the replica that was killed is ready again", SECONDS)
        wait_until_noticed(running, Lake.open(running.lake).release().number)
    return gave_up


def check_releases(lake: Lake, load: Load) -> None:
    """Numbers and times without gap or tie, all of them whole, and never seen otherwise than they are."""
    releases = lake.releases()
    assert [release.number for release in releases] == list(range(len(releases), 0, -1))
    for later, earlier in pairwise(releases):
        assert later.created_at > earlier.created_at
    for release in releases:
        assert verify(lake, release).problems == ()
    digests = {release.number: release.content_digest for release in releases}
    for seen in load.releases:
        assert [row["release"] for row in seen] == sorted((row["release"] for row in seen), reverse=True)
        for row in seen:
            assert row["content_digest"] == digests[row["release"]]


@pytest.mark.parametrize(
    "n_rounds", [pytest.param(2, marks=pytest.mark.slow), pytest.param(12, marks=pytest.mark.long)]
)
def test_no_read_fails_and_no_trial_is_lost_or_doubled_whatever_fails(tmp_path: Path, s3: S3, n_rounds: int) -> None:
    first = archive(tmp_path, [2, 4])
    offered = rounds(tmp_path, n_rounds)
    alone = Lake.create(tmp_path / "alone")
    ingest(alone, [first, *(path for both in offered for path in both)])
    with topology(tmp_path, s3, seed=n_rounds) as running:
        assert running.start_ingest("first", first).wait(SECONDS) == 0, running.complaint("first")
        running.start_replicas()
        load = Load(running.url, reads(running.url), per_second=12)
        load.learn()
        running.store.share = SHARE_THAT_FAILS
        with steady_load(load, clients=2):
            gave_up = drive(running, offered)
        running.store.share = 0.0
        print(load.summary())
        print(f"{running.store.failed.total()} of {running.store.requests} requests of the store failed")
        print(f"{len(gave_up)} ingests gave up: {gave_up}")
        assert load.failed == []
        assert load.wrong == []
        lake = Lake.open(running.lake)
        assert contents(lake) == contents(alone)
        check_releases(lake, load)

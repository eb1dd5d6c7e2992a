"""A new release is answered from without a restart; old ones stay; threads share them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake.lake.retention import unlist
from losslake.questions import scaling
from losslake.questions.release.errors import UnknownName
from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from losslake_schema.names import Workload
from losslake_service.app import create_app
from tests.archives import write_workload
from tests.losslake.questions.views import answer_to
from tests.made_up_lake import ERROR
from tests.oracle import Row
from tests.servers.processes import wait_until

SMALL = Workload("small", "mnist", "cnn", "sgd")


@pytest.fixture
def growing(tmp_path: Path, small_archive: Path) -> Lake:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [small_archive])
    return lake


def publish_a_better_trial(lake: Lake, folder: Path, name: str = "next", steps: int = 5) -> None:
    rows = [Row(8, 1, "COMPLETE", 0, 0.9), Row(8, 1, "COMPLETE", steps, 0.2)]
    ingest(lake, [write_workload(folder / name, "mnist/cnn/sgd", {ERROR: rows})], Request(collection="small"))


def wait_for(releases: Releases, number: int) -> None:
    """Ask until the newest release has this number, as it is answered from when it is open and not before."""
    wait_until(lambda: releases.view().number == number, f"release {number} is answered from")


def test_unlisted_release_is_not_answered(growing: Lake, tmp_path: Path) -> None:
    app = create_app(growing)
    client = TestClient(app)
    url = f"/v1/scaling?workload={SMALL}&metric={ERROR}&target=0.3&release=1"
    publish_a_better_trial(growing, tmp_path)
    app.state.releases.refresh()
    assert client.get(url).status_code == 200
    unlist(growing, [1])
    app.state.releases.refresh()
    assert client.get(url.replace("0.3", "0.25")).status_code == 404
    assert [row["release"] for row in client.get("/v1/releases").json()["rows"]] == [2]


def test_new_release_is_served_without_a_restart_beside_the_old_one(growing: Lake, tmp_path: Path) -> None:
    app = create_app(growing)
    client = TestClient(app)
    url = f"/v1/scaling?workload={SMALL}&metric={ERROR}&target=0.3"
    before = client.get(url).json()
    assert (before["release"], before["rows"][0]["steps"]) == (1, 10)
    publish_a_better_trial(growing, tmp_path)
    app.state.releases.refresh()
    after = client.get(url).json()
    assert (after["release"], after["rows"][0]["steps"]) == (2, 5)
    assert client.get(f"{url}&release=1").json() == before
    assert client.get(f"{url}&release=2").json() == after


@pytest.mark.slow
def test_newest_release_is_found_without_reading_the_catalog(growing: Lake, tmp_path: Path) -> None:
    releases = Releases(growing)
    assert releases.cached_view() is None
    assert releases.view().number == 1
    publish_a_better_trial(growing, tmp_path)
    assert releases.view().number == 1
    assert releases.cached_view(2) is None
    assert releases.view(2).number == 2
    assert releases.cached_view(2) is releases.view(2)
    assert releases.refresh().number == releases.view().number == 2


def fewest_steps(releases: Releases) -> list[object]:
    found: list[object] = (
        answer_to(scaling.QUESTION, releases.view(), Selection((SMALL,), ERROR), Goal(0.3)).table()["steps"].to_pylist()
    )
    return found


@pytest.mark.slow
def test_unreadable_release_is_logged_once_and_the_previous_one_answers(
    growing: Lake, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    releases = Releases(growing, seconds_between_looks=0.02)
    releases.start()
    serving = growing.folder / "serving"
    looks = 0
    refresh = releases.refresh

    def counted() -> ReleaseView:
        nonlocal looks
        looks += 1
        return refresh()

    def troubles() -> list[str]:
        return [line for line in caplog.messages if "can't look" in line]

    try:
        assert fewest_steps(releases) == [10]
        serving.rename(tmp_path / "away")
        serving.write_text("in the way")
        publish_a_better_trial(growing, tmp_path)
        wait_until(lambda: bool(troubles()), "the trouble is logged")
        monkeypatch.setattr(releases, "refresh", counted)
        wait_until(lambda: looks > 2, "there are more looks")
        assert fewest_steps(releases) == [10]
        serving.unlink()
        wait_for(releases, 2)
    finally:
        releases.stop()
    assert len(troubles()) == 1


def test_stopping_waits_for_a_release_that_is_being_opened(growing: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    releases = Releases(growing, seconds_between_looks=0.01)
    releases.start()
    view = releases.view()
    is_opening, may_go_on = threading.Event(), threading.Event()

    def opening() -> ReleaseView:
        is_opening.set()
        may_go_on.wait(60)
        return view

    monkeypatch.setattr(releases, "refresh", opening)
    assert is_opening.wait(60)
    stopping = threading.Thread(target=releases.stop)
    stopping.start()
    stopping.join(0.5)
    assert stopping.is_alive()
    may_go_on.set()
    stopping.join(60)
    assert not stopping.is_alive()


def test_concurrent_requests_open_a_release_once(growing: Lake) -> None:
    releases = Releases(growing)
    with ThreadPoolExecutor(8) as pool:
        views = list(pool.map(releases.view, [1] * 32))
    assert len(set(map(id, views))) == 1


@pytest.mark.slow
def test_least_recently_used_releases_are_closed(growing: Lake, tmp_path: Path) -> None:
    publish_a_better_trial(growing, tmp_path)
    publish_a_better_trial(growing, tmp_path, "third", 3)
    releases = Releases(growing, most_open=2)
    first, second = releases.view(1), releases.view(2)
    assert releases.view(1) is first
    releases.view(3)
    assert releases.view(1) is first
    assert releases.view(2) is not second
    assert answer_to(scaling.QUESTION, second, Selection((SMALL,), ERROR), Goal(0.3)).table()["steps"].to_pylist() == [
        5
    ]


def test_an_unknown_release_has_the_nearest_as_near_matches(growing: Lake) -> None:
    with pytest.raises(UnknownName) as caught:
        Releases(growing).view(12)
    assert caught.value.near_matches == ("1",)


@pytest.mark.slow
def test_threads_get_complete_answers_during_publishing(growing: Lake, tmp_path: Path) -> None:
    releases = Releases(growing, seconds_between_looks=0.01)
    releases.start()
    selection = Selection((SMALL,), ERROR)
    expected = {1: 10, 2: 5, 3: 3}
    done = threading.Event()

    def query_repeatedly() -> set[int]:
        seen = set()
        while not done.is_set():
            answer = answer_to(scaling.QUESTION, releases.view(), selection, Goal(0.3))
            release = answer.facts["release"]
            assert answer.table()["steps"].to_pylist() == [expected[release]]
            seen.add(release)
        return seen

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(query_repeatedly) for _ in range(4)]
        try:
            publish_a_better_trial(growing, tmp_path)
            publish_a_better_trial(growing, tmp_path, "third", 3)
            wait_for(releases, 3)
        finally:
            done.set()
            releases.stop()
        seen = set.union(*(future.result() for future in asking))
    assert seen <= {1, 2, 3}

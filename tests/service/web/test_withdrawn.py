"""Pages of old releases say which of their trials were withdrawn later; answers stay the same to the last byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake.lake.notices import read_notices
from losslake.questions.release.releases import Releases
from losslake_cli.changes.erase import erase_completely
from losslake_ingest.releases.withdrawal import restore, withdraw
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.ingest.offers import TrialOffer, study_files, unpacked
from tests.servers.processes import wait_until
from tests.service.web.reading import Page

HOSTILE = "wrong <script>alert(1)</script> & 'data'"
WORKLOAD = "shelf/mnist/cnn/sgd"
SHOWN = (f"/studies/{WORKLOAD}/8", f"/trials/{WORKLOAD}/8/2", f"/workloads/{WORKLOAD}")
UNTOUCHED = (f"/studies/{WORKLOAD}/16", f"/trials/{WORKLOAD}/8/1", "/workloads/shelf/mnist/mlp/sgd")


def trials(*numbers: int) -> dict[int, TrialOffer]:
    return {number: TrialOffer(rows=("0,0.9", f"10,0.{number}")) for number in numbers}


def made_lake(folder: Path) -> Lake:
    lake = Lake.create(folder / "lake")
    files = study_files(trials(1, 2, 3), 8, WORKLOAD) | study_files(trials(1), 16, WORKLOAD)
    ingest(lake, [unpacked(folder / "logs", files | study_files(trials(1), 8, "shelf/mnist/mlp/sgd"))])
    return lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return made_lake(tmp_path)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service over a lake of which a trial was withdrawn."""
    lake = made_lake(tmp_path_factory.mktemp("withdrawn"))
    withdraw(lake, [f"{WORKLOAD}/8/2"], HOSTILE, "me")
    with TestClient(without_sql(lake)) as client:
        yield client


@pytest.mark.parametrize("path", SHOWN)
def test_pages_of_old_releases_say_what_was_withdrawn_when_and_why(client: TestClient, path: str) -> None:
    text = client.get(f"{path}?release=1").text
    page = Page(text)
    assert "1 trial of this page was withdrawn" in text
    assert f"<code>{WORKLOAD}/8/2</code>" in text
    assert "in release 2 and later" in text
    assert "<script>alert" not in text
    assert "wrong &lt;script&gt;" in text
    assert "/releases/2" in page.links
    assert "me" not in text.partition("Reason:")[2].partition("<p>")[0].split()


def test_the_page_of_an_old_release_says_it_and_that_of_the_newest_does_not(client: TestClient) -> None:
    assert "was withdrawn" in client.get("/releases/1").text
    assert "was withdrawn" not in client.get("/releases/2").text


@pytest.mark.parametrize("path", UNTOUCHED)
def test_other_pages_say_nothing(client: TestClient, path: str) -> None:
    assert "withdrawn</strong>" not in client.get(f"{path}?release=1").text
    assert "withdrawn</strong>" not in client.get(path).text


def test_the_list_says_what_was_withdrawn_and_from_which_release_on(client: TestClient) -> None:
    answer = client.get("/v1/withdrawn")
    (row,) = answer.json()["rows"]
    assert (row["trial"], row["kind"], row["reason"]) == (f"{WORKLOAD}/8/2", "withdrawn", HOSTILE)
    assert (row["release_without"], row["by"], row["digest"]) == (2, "", "")
    assert "immutable" not in answer.headers["cache-control"]
    assert client.get("/v1/withdrawn?release_without_min=3").json()["rows"] == []
    assert len(client.get("/v1/withdrawn?release_without_min=2").json()["rows"]) == 1


def test_withdrawals_appear_while_the_service_runs_and_change_no_answer(lake: Lake) -> None:
    paths = (
        f"/v1/trials?release=1&study={WORKLOAD}/8",
        f"/v1/curves?release=1&trial={WORKLOAD}/8/3",
        "/v1/cite?release=1",
    )
    with TestClient(without_sql(lake, seconds_between_looks=0.05)) as client:
        page = f"{SHOWN[0]}?release=1"
        first = client.get(page)
        assert first.headers["cache-control"] == "public, no-cache"
        before = [(client.get(path).content, client.get(path).headers["etag"]) for path in paths]
        withdraw(lake, [f"{WORKLOAD}/8/2", f"{WORKLOAD}/8/3"], "wrong", "me")
        wait_until(lambda: "2 trials of this page were withdrawn" in client.get(page).text, "the notice")
        again = client.get(page, headers={"if-none-match": first.headers["etag"]})
        assert again.status_code == 200
        known = client.get(page, headers={"if-none-match": again.headers["etag"]})
        assert known.status_code == 304
        assert [(client.get(path).content, client.get(path).headers["etag"]) for path in paths] == before


def test_restored_trials_have_no_notice(lake: Lake) -> None:
    withdraw(lake, [f"{WORKLOAD}/8/2", f"{WORKLOAD}/8/3"], "wrong", "me")
    restore(lake, [f"{WORKLOAD}/8/3"], "right", "me")
    assert [notice.trial for notice in read_notices(lake)] == [f"{WORKLOAD}/8/2"]


def test_trials_that_came_later_are_not_named_on_earlier_releases(lake: Lake, tmp_path: Path) -> None:
    ingest(lake, [unpacked(tmp_path / "more", study_files(trials(1, 2), 32, WORKLOAD))])
    withdraw(lake, [f"{WORKLOAD}/32/2"], "wrong", "me")
    with TestClient(without_sql(lake)) as client:
        assert "withdrawn</strong>" not in client.get("/releases/1").text
        assert "withdrawn</strong>" in client.get("/releases/2").text


def test_withdrawals_are_known_before_the_files_of_the_newest_release_are_built(lake: Lake) -> None:
    """A page of an older release, which doesn't wait for these, would lack them."""
    withdraw(lake, [f"{WORKLOAD}/8/2"], "wrong", "me")
    releases = Releases(lake)
    releases.start()
    try:
        assert releases.notices.version
        assert releases.notices.of(lake.release(1)).all
    finally:
        releases.stop()


def test_tombstones_are_on_the_page_of_the_release_and_in_the_list(lake: Lake, tmp_path: Path) -> None:
    ingest(lake, [unpacked(tmp_path / "more", study_files(trials(1, 2), 32, WORKLOAD))])
    before = lake.release(1).content_digest
    erase_completely(lake, [f"{WORKLOAD}/8/2"], HOSTILE, "the <b>operator</b>")
    with TestClient(without_sql(lake)) as client:
        text = client.get("/releases/1").text
        Page(text)
        assert "Trials were erased from this release" in text
        assert before in text
        assert "<script>alert" not in text
        assert "<b>operator" not in text
        rows = client.get("/v1/withdrawn?kind=erased").json()["rows"]
        (digest,) = {row["digest"] for row in rows if row["trial"] == f"{WORKLOAD}/8/2"}
        assert len(digest) == 64
        assert {row["release_without"]: row["digest"] for row in rows if not row["trial"]}[1] == before
        assert client.get(f"/trials/{WORKLOAD}/8/2?release=1").status_code == 404
        assert client.get("/releases/1").text.count("withdrawn</strong>") == 0

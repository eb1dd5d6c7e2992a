"""`losslake download` of a whole or partial release, despite faults of network and server."""

from __future__ import annotations

import hashlib
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import httpx
import pytest

from losslake.client.client import Client, RemoteError
from losslake.client.fetching import RemoteFile, fetch_all
from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from losslake_schema.contributors import Contributor
from tests.cli.conftest import Run
from tests.cli.web import FOREVER, Fault, Web, running
from tests.forked import start_command
from tests.ingest.offers import TrialOffer, study_files, unpacked
from tests.ingest.stored_rows import stored_rows
from tests.servers.processes import SECONDS, wait_until

pytestmark = pytest.mark.slow

ROWS = [f"{step},{1 / (1 + step)!r}" for step in range(0, 3000, 3)]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Create two releases: mnist at two batch sizes and a collection with a slash; then one added, one replaced."""
    folder = tmp_path_factory.mktemp("origin")
    trials = {1: TrialOffer(rows=ROWS), 2: TrialOffer(rows=["0,0.8", "10,nan"], status="INFEASIBLE")}
    first = study_files(trials, 8) | study_files(trials, 16) | study_files(trials, 8, "root/deep/cifar/cnn/adam")
    lake = Lake.create(folder / "lake")
    ingest(lake, [unpacked(folder / "one", first)], notes="the first one")
    second = study_files(trials, 32) | study_files({1: TrialOffer(rows=ROWS[:100])}, 16)
    ingest(lake, [unpacked(folder / "two", second)], notes="more")
    return lake


@pytest.fixture(scope="module")
def exported(origin: Lake, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes | Path]:
    web = Web()
    folder = tmp_path_factory.mktemp("exported")
    web.serve_release(origin, folder / "1", 1)
    web.serve_release(origin, folder / "2", 2)
    return web.served


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("losslake.client.client.FIRST_WAIT_S", 0.01)


@pytest.fixture
def web(exported: dict[str, bytes | Path]) -> Iterator[Web]:
    with running() as web:
        web.served.update(exported)
        yield web


def assert_whole(place: Path, number: int) -> None:
    lake = Lake.open(place)
    assert verify(lake, lake.release(number)).problems == ()


def rows_of(lake: Lake, number: int, query: str) -> list[tuple[object, ...]]:
    connection = open_release(lake, lake.release(number))
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def wait_for_requests(web: Web, path: str, count: int) -> None:
    """Wait until the server has received some requests of a path."""
    wait_until(
        lambda: sum(request.path.startswith(path) for request in web.requests) >= count, f"{count} requests of {path}"
    )


EVERYTHING = "SELECT * FROM measurements ORDER BY ALL"


@pytest.mark.parametrize("number", [1, 2])
def test_a_downloaded_release_has_the_same_number_and_content(
    losslake: Run, web: Web, origin: Lake, tmp_path: Path, number: int
) -> None:
    done = losslake("download", web.url, tmp_path / "lake", "--release", number)
    assert done.returncode == 0, done.stderr
    made, its_own = Lake.open(tmp_path / "lake").release(), origin.release(number)
    for name in ("number", "created_at", "notes", "content_digest", "n_studies", "n_trials", "n_measurements"):
        assert getattr(made, name) == getattr(its_own, name)
    assert_whole(tmp_path / "lake", number)
    downloaded = [(f.table, f.sha256, f.rows, f.study) for f in Lake.open(tmp_path / "lake").files(made)]
    assert sorted(downloaded, key=str) == sorted(
        [(f.table, f.sha256, f.rows, f.study) for f in origin.files(its_own)], key=str
    )
    there = rows_of(Lake.open(tmp_path / "lake"), number, EVERYTHING)
    assert str(there) == str(rows_of(origin, number, EVERYTHING))
    assert len(stored_rows(Lake.open(tmp_path / "lake"), "measurements")) == its_own.n_measurements
    assert not (tmp_path / "lake/downloading").exists()


def test_every_command_reads_what_was_downloaded(losslake: Run, web: Web, tmp_path: Path) -> None:
    place = tmp_path / "lake"
    assert losslake("download", web.url, place).returncode == 0
    for command in (["sql", "-c", "FROM trials"], ["steps"], ["verify"], ["releases"], ["ledger"]):
        done = losslake(*command, "--lake", place)
        assert done.returncode == 0, done.stderr
    assert losslake("export", tmp_path / "out", "--lake", place).returncode == 0


def test_a_partial_download_is_an_intact_lake(losslake: Run, web: Web, origin: Lake, tmp_path: Path) -> None:
    done = losslake("download", web.url, tmp_path / "lake", "--dataset", "mnist", "--batch-size", 8, "--batch-size", 16)
    assert done.returncode == 0, done.stderr
    assert_whole(tmp_path / "lake", 2)
    lake = Lake.open(tmp_path / "lake")
    assert lake.release().notes == f"part of release 2 of {web.url}: dataset mnist; batch_size 8, 16. more"
    assert lake.release().content_digest != origin.release().content_digest
    assert rows_of(lake, 2, "SELECT DISTINCT dataset, batch_size FROM trials ORDER BY ALL") == [
        ("mnist", 8),
        ("mnist", 16),
    ]
    part = rows_of(origin, 2, "FROM measurements WHERE dataset = 'mnist' AND batch_size <= 16 ORDER BY ALL")
    assert str(rows_of(lake, 2, EVERYTHING)) == str(part)
    assert rows_of(lake, 2, "SELECT collection FROM collections") == [("root",)]
    assert rows_of(lake, 2, "SELECT metric FROM metrics") == [("val/classification_error",)]
    assert len([a for a in web.requests if a.path.startswith("/data/")]) == 5 + 2 * 2


def test_an_empty_selection_is_reported_with_the_existing_values(losslake: Run, web: Web, tmp_path: Path) -> None:
    done = losslake("download", web.url, tmp_path / "lake", "--dataset", "mnst")
    assert done.returncode == 1
    assert "no study of release 2 has dataset mnst; it has dataset cifar, mnist" in done.stderr
    assert not (tmp_path / "lake").exists()


def test_a_newer_release_is_added_and_shares_files(losslake: Run, web: Web, tmp_path: Path) -> None:
    place = tmp_path / "lake"
    assert losslake("download", web.url, place, "--release", 1).returncode == 0
    web.requests.clear()
    assert losslake("download", web.url, place).returncode == 0
    again = [a.path for a in web.requests if "batch_size=8/" in a.path]
    assert again == []
    assert_whole(place, 1)
    assert_whole(place, 2)
    assert [release.number for release in Lake.open(place).releases()] == [2, 1]
    assert rows_of(Lake.open(place), 1, "SELECT count(*) FROM studies") == [(3,)]
    assert rows_of(Lake.open(place), 2, "SELECT count(*) FROM studies") == [(4,)]


def test_a_repeated_download_fetches_nothing(losslake: Run, web: Web, tmp_path: Path) -> None:
    assert losslake("download", web.url, tmp_path / "lake", "--dataset", "cifar").returncode == 0
    web.requests.clear()
    again = losslake("download", web.url, tmp_path / "lake", "--dataset", "cifar")
    assert again.returncode == 0
    assert "release 2 exists already" in again.stdout
    assert [a.path for a in web.requests if a.path.startswith("/data/")] == []


def test_a_conflicting_release_is_refused(losslake: Run, web: Web, tmp_path: Path) -> None:
    place = tmp_path / "lake"
    assert losslake("download", web.url, place).returncode == 0
    for arguments, says in (
        (("--release", "1"), "already has a newer release, 2"),
        (("--dataset", "mnist"), "already has another release 2"),
    ):
        done = losslake("download", web.url, place, *arguments)
        assert done.returncode == 1
        assert says in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert_whole(place, 2)


def test_a_lake_that_was_not_downloaded_is_refused(losslake: Run, web: Web, tmp_path: Path) -> None:
    ingest(Lake.create(tmp_path / "lake"), [unpacked(tmp_path / "own", study_files({1: TrialOffer()}))])
    done = losslake("download", web.url, tmp_path / "lake")
    assert done.returncode == 1
    assert "was not downloaded from" in done.stderr


FILE = "batch_size=8/part-0"


def test_transient_failures_are_retried(losslake: Run, web: Web, tmp_path: Path) -> None:
    web.faults = {
        "/v1/releases/2/files": Fault(times=2, drop_after=100),
        "records/collection=root/dataset=mnist": Fault(times=2, status=503, headers={"Retry-After": "0"}),
        "dataset=cifar": Fault(times=1, status=429),
        "batch_size=8": Fault(times=2, changed=lambda data: data[::-1]),
        "batch_size=16": Fault(times=1, drop_after=300, headers={"ETag": '"another"'}),
        "batch_size=32": Fault(times=4, drop_after=700),
    }
    done = losslake("download", web.url, tmp_path / "lake", "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert {fault.times for fault in web.faults.values()} == {0}
    assert_whole(tmp_path / "lake", 2)


def test_a_dropped_file_is_resumed(losslake: Run, web: Web, tmp_path: Path) -> None:
    web.faults[FILE] = Fault(times=1, drop_after=700)
    assert losslake("download", web.url, tmp_path / "lake", "--jobs", 1, "--batch-size", 8).returncode == 0
    resumed = [a.headers for a in web.requests if "Range" in a.headers]
    assert [headers["Range"] for headers in resumed] == ["bytes=700-"]
    assert "If-Range" in resumed[0]


def test_retry_after_is_honoured(losslake: Run, web: Web, tmp_path: Path) -> None:
    web.faults["/v1/releases"] = Fault(status=503, headers={"Retry-After": "1"})
    started = time.monotonic()
    assert losslake("download", web.url, tmp_path / "lake", "--dataset", "cifar").returncode == 0
    assert time.monotonic() - started >= 1  # at least: a slow machine only takes longer


@pytest.mark.parametrize(
    ("path", "fault", "says"),
    [
        (FILE, Fault(times=9, changed=lambda data: data[::-1]), "its sha256 differs from the one in the list"),
        (FILE, Fault(times=9, changed=lambda data: data + b"x"), "is longer than"),
        (FILE, Fault(times=9, status=404), "HTTP status 404"),
        (FILE, Fault(times=9, headers={"Content-Encoding": "gzip"}), "returns the encoding 'gzip'"),
        (
            FILE,
            Fault(times=9, status=302, headers={"Location": "ftp://127.0.0.1/x"}),
            "to a URL other than http:// or https://",
        ),
        (FILE, Fault(times=99, status=302, headers={"Location": "?again"}), "redirects"),
        ("/v1", Fault(times=9, status=503, headers={"Retry-After": "4000"}), "asks to wait 4,000 s"),
        (
            "/v1",
            Fault(times=9, status=422, body=b'{"detail": "no\\n such \\u001b[31m thing"}'),
            r"no such \x1b[31m thing",
        ),
        ("/v1", Fault(times=9, status=200, body=b"<html>"), "does not return JSON"),
        ("/v1", Fault(times=9, status=200, body=b"[" * 100_000), "does not return JSON"),
        ("/v1", Fault(times=9, status=200, body=b"[]"), "has no rows"),
    ],
)
def test_a_permanent_failure_is_one_line_and_publishes_nothing(
    losslake: Run, web: Web, tmp_path: Path, path: str, fault: Fault, says: str
) -> None:
    web.faults[path] = fault
    done = losslake("download", web.url, tmp_path / "lake", "--quiet")
    assert done.returncode == 1
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    if (tmp_path / "lake").exists():
        assert list(Lake.open(tmp_path / "lake").releases()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"path": "../../evil.parquet"},
        {"path": "/etc/evil.parquet"},
        {"path": "measurements/evil.parquet"},
        {"table": "evil"},
        {"table": "../evil"},
        {"collection": ".."},
        {"dataset": "a/b"},
        {"sha256": "x"},
        {"sha256": "../../../x"},
        {"bytes": -1},
        {"bytes": 2**60},
        {"bytes": "12"},
        {"rows": -1},
        {"batch_size": None},
    ],
    ids=str,
)
def test_a_hostile_list_is_refused_before_the_lake_is_created(
    losslake: Run, web: Web, tmp_path: Path, change: dict[str, object]
) -> None:
    web.change_list(2, lambda rows: next(r for r in rows if r["table"] == "measurements").update(change))
    done = losslake("download", web.url, tmp_path / "deep/down/lake")
    assert done.returncode == 1
    assert "returns an invalid row" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.rglob("*evil*")) == []
    assert not (tmp_path / "deep").exists()


def test_a_list_with_a_missing_file_is_refused(losslake: Run, web: Web, tmp_path: Path) -> None:
    web.change_list(2, lambda rows: rows.remove(next(r for r in rows if r["table"] == "records")))
    web.change_list(1, lambda rows: rows.remove(next(r for r in rows if r["table"] == "goals")))
    done = losslake("download", web.url, tmp_path / "lake", "--release", 1)
    assert "must list goals.parquet once" in done.stderr
    web.change_list(2, lambda rows: rows.remove(next(r for r in rows if r["table"] == "measurements")))
    done = losslake("download", web.url, tmp_path / "lake")
    assert done.returncode == 1
    assert "do not match its counts" in done.stderr


def test_bytes_with_the_listed_sha256_that_are_not_a_data_file_are_refused(
    losslake: Run, web: Web, tmp_path: Path
) -> None:
    def swap(rows: list[dict[str, object]]) -> None:
        row = next(r for r in rows if r["table"] == "records")
        row |= {"bytes": 4, "sha256": hashlib.sha256(b"evil").hexdigest()}
        web.served[f"/data/2/{row['path']}"] = b"evil"

    web.change_list(2, swap)
    done = losslake("download", web.url, tmp_path / "lake")
    assert done.returncode == 1
    assert "records of release 2" in done.stderr
    assert "is not a Parquet file" in done.stderr


def test_a_download_larger_than_the_free_space_is_refused_at_once(losslake: Run, web: Web, tmp_path: Path) -> None:
    web.change_list(2, lambda rows: rows[0].update(bytes=2**43))
    done = losslake("download", web.url, tmp_path / "lake")
    assert done.returncode == 1
    assert "has space for" in done.stderr


def test_the_same_command_finishes_a_download_killed_at_any_moment(losslake: Run, web: Web, tmp_path: Path) -> None:
    place = tmp_path / "lake"
    for path, served in (("/v1/releases/2/files", 0), ("/data/", 0), ("/data/", 1), ("/data/", 4)):
        web.requests.clear()
        web.faults = {path: Fault(times=served), path[1:]: Fault(times=10**6, pause_s=FOREVER)}
        process = start_command(["download", web.url, place, "--jobs", 2, "--quiet"], tmp_path / "complaint")
        wait_for_requests(web, path, served + 1)
        assert process.is_running()
        process.kill()
        process.wait()
        if (place / "lake.toml").exists():
            for release in Lake.open(place).releases():
                assert_whole(place, release.number)
    web.faults = {}
    assert losslake("download", web.url, place).returncode == 0
    assert_whole(place, 2)


def test_concurrent_downloads_do_not_interfere(losslake: Run, web: Web, tmp_path: Path) -> None:
    first_may_end = Event()
    web.faults["/data/"] = Fault(times=10**6, until=first_may_end)
    command = ["download", web.url, tmp_path / "lake", "--quiet"]
    first = start_command(command, tmp_path / "one.txt")
    wait_for_requests(web, "/data/", 1)
    second = start_command(command, tmp_path / "two.txt")
    assert second.wait(SECONDS) == 1
    assert "another download" in (tmp_path / "two.txt").read_text()
    first_may_end.set()
    assert first.wait(SECONDS) == 0
    assert_whole(tmp_path / "lake", 2)


@pytest.mark.parametrize("url", ["ftp://x", "x", "http://", "http://[", "https://h/?q=1", "http://127.0.0.1:1"])
def test_an_invalid_url_is_one_line(losslake: Run, tmp_path: Path, url: str) -> None:
    done = losslake("download", url, tmp_path / "lake")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "lake").exists()


def test_a_password_in_the_url_is_not_shown(losslake: Run, web: Web, tmp_path: Path) -> None:
    url = web.url.replace("http://", "http://me:hidden@")
    assert losslake("download", url, tmp_path / "lake").returncode == 0
    assert web.requests[0].headers["Authorization"].startswith("Basic ")
    assert web.requests[0].headers["User-Agent"].startswith("losslake/")
    ledger = losslake("ledger", "--format", "json", "--lake", tmp_path / "lake").stdout
    assert "hidden" not in ledger
    assert json.loads(ledger)[0]["source"] == web.url


def test_a_full_disk_is_reported_and_the_download_can_be_resumed(losslake: Run, web: Web, tmp_path: Path) -> None:
    data = next(data for path, data in web.served.items() if path.startswith("/data/2/measurements"))
    assert isinstance(data, Path)
    size = data.stat().st_size
    wanted = RemoteFile(
        httpx.URL(web.url + "/file"), size, hashlib.sha256(data.read_bytes()).hexdigest(), tmp_path / "file"
    )
    web.served["/file"] = data
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size - 100, before[1]))
    try:
        with Client() as client, pytest.raises(RemoteError, match=r"can't write .*/file \(File too large\)"):
            fetch_all(client, [wanted], tmp_path, 1, lambda _size, _files: None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with Client() as client:
        fetch_all(client, [wanted], tmp_path, 1, lambda _size, _files: None)
    assert (tmp_path / "file").read_bytes() == data.read_bytes()
    assert web.requests[-1].headers["Range"].startswith("bytes=")


def test_contributors_come_with_their_trials(losslake: Run, tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    for size, name in ((8, "Ann"), (16, "Bob")):
        logs = unpacked(tmp_path / name, study_files({1: TrialOffer()}, size))
        ingest(lake, [logs], Request(contributors=(Contributor(name),)))
    with running() as web:
        web.serve_release(lake, tmp_path / "exported", 2)
        losslake("download", web.url, tmp_path / "all")
        losslake("download", web.url, tmp_path / "part", "--batch-size", "8")
    query = "SELECT batch_size, name FROM contributors ORDER BY ALL"
    assert rows_of(Lake.open(tmp_path / "all"), 2, query) == [(8, "Ann"), (16, "Bob")]
    assert Lake.open(tmp_path / "all").release().content_digest == lake.release().content_digest
    assert rows_of(Lake.open(tmp_path / "part"), 2, query) == [(8, "Ann")]
    assert_whole(tmp_path / "all", 2)
    assert_whole(tmp_path / "part", 2)

"""`losslake ingest --url` and `losslake fetch` stream an archive and publish it only if it is complete."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import random
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from losslake.client.client import Client
from losslake.lake.lake import Lake
from losslake_cli.logs import remote_archive
from losslake_cli.logs.remote_archive import RemoteArchive
from losslake_ingest.run import ingest
from losslake_schema import registry
from tests.cli.conftest import Run
from tests.cli.web import Fault, Web, running
from tests.forked import start_command
from tests.ingest.offers import Files, TrialOffer, study_files, tar_bytes, unpacked, zip_bytes
from tests.servers.processes import SECONDS, wait_until

pytestmark = pytest.mark.slow

CHANCE = random.Random(3)
ROWS = [f"{step},{CHANCE.random()!r}" for step in range(2000)]
FILES: Files = study_files({t: TrialOffer(rows=ROWS) for t in range(1, 9)}, 8, "batch_science/mnist/cnn/sgd")
PLAIN = next(path for path in FILES if path.endswith("measurements.csv"))


ARCHIVES: dict[str, Callable[[Files], bytes]] = {
    "tar": tar_bytes,
    "tar.bz2": lambda files: bz2.compress(tar_bytes(files)),
    "tar.gz": lambda files: gzip.compress(tar_bytes(files)),
    "tar.xz": lambda files: lzma.compress(tar_bytes(files)),
    "tar.zst": lambda files: zstandard.ZstdCompressor().compress(tar_bytes(files)),
    "zip": zip_bytes,
}
BZIP2 = ARCHIVES["tar.bz2"](FILES)
SHA256 = hashlib.sha256(BZIP2).hexdigest()


@pytest.fixture(autouse=True)
def _small_chunks_and_short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_archive, "CHUNK", 8000)
    monkeypatch.setattr("losslake.client.client.FIRST_WAIT_S", 0.01)


@pytest.fixture
def web() -> Iterator[Web]:
    with running() as web:
        web.served["/a.tar.bz2"] = BZIP2
        yield web


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the content digest of the same files ingested from a folder."""
    folder = tmp_path_factory.mktemp("local")
    lake = Lake.create(folder / "lake")
    ingest(lake, [unpacked(folder / "logs", FILES)])
    return lake.release().content_digest


# One whose parts can be read from its end and one that streams in `make test`, all in `make slow`.
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in ("tar.bz2", "zip") else pytest.mark.slow) for kind in ARCHIVES]
)
def test_every_kind_of_archive_is_ingested_as_from_disk(
    losslake: Run, web: Web, tmp_path: Path, kind: str, digest: str
) -> None:
    data = ARCHIVES[kind](FILES)
    web.served[f"/x/logs.{kind}"] = data
    sha256 = hashlib.sha256(data).hexdigest()
    done = losslake("ingest", "--url", f"{web.url}/x/logs.{kind}", "--sha256", sha256, "--lake", tmp_path / "lake")
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    release = Lake.open(tmp_path / "lake").release()
    assert release.content_digest == digest
    assert [request.headers.get("Range") for request in web.requests] == [None]
    entries = Lake.open(tmp_path / "lake").ledger()
    assert [(e.source, e.sha256) for e in entries if not e.path] == [(f"{web.url}/x/logs.{kind}", sha256)]


def test_a_single_log_is_ingested(losslake: Run, web: Web, tmp_path: Path) -> None:
    web.served["/logs/run.jsonl"] = b'{"step": 1, "loss": 0.5}\n'
    done = losslake("ingest", "--url", f"{web.url}/logs/run.jsonl", "--dry-run", "--lake", tmp_path / "lake")
    assert "jsonl (1 file)" in done.stdout


def test_without_a_sha256_there_is_a_warning(losslake: Run, web: Web, tmp_path: Path) -> None:
    done = losslake("ingest", "--url", f"{web.url}/a.tar.bz2", "--lake", tmp_path / "lake", "--quiet")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "losslake: warning: the download is not verified: give --sha256 if its publisher states it"
    ]


def nothing_was_stored(lake: Path) -> bool:
    return not list(Lake.open(lake).releases()) and not list(lake.rglob("*.parquet"))


def test_bytes_with_another_sha256_are_not_stored(losslake: Run, web: Web, tmp_path: Path) -> None:
    sha256 = "0" * 64
    done = losslake("ingest", "--url", f"{web.url}/a.tar.bz2", "--sha256", sha256, "--lake", tmp_path, "--quiet")
    assert done.returncode == 1
    assert f"its sha256 is {SHA256}, not {sha256}" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert nothing_was_stored(tmp_path)


def test_a_rejected_archive_changes_nothing_in_the_lake(losslake: Run, web: Web, tmp_path: Path) -> None:
    command = ["ingest", "--url", f"{web.url}/a.tar.bz2", "--lake", tmp_path, "--quiet", "--sha256"]
    assert losslake(*command, SHA256).returncode == 0
    before = Lake.open(tmp_path).release()
    web.served["/a.tar.bz2"] = ARCHIVES["tar.bz2"](study_files({1: TrialOffer()}, 8, "batch_science/mnist/cnn/sgd"))
    assert losslake(*command, SHA256).returncode == 1
    assert Lake.open(tmp_path).release().content_digest == before.content_digest
    assert len(Lake.open(tmp_path).releases()) == 1


@pytest.mark.parametrize(
    "kind", [pytest.param("tar", marks=pytest.mark.slow), "tar.bz2", pytest.param("zip", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("has_ranges", [True, False])
def test_dropped_connections_are_resumed(
    losslake: Run, web: Web, tmp_path: Path, kind: str, has_ranges: bool, digest: str
) -> None:
    data = ARCHIVES[kind](FILES)
    web.served["/b"] = data
    web.faults["/b"] = Fault(times=3, drop_after=len(data) // 3, is_blind_to_ranges=not has_ranges)
    sha256 = hashlib.sha256(data).hexdigest()
    done = losslake("ingest", "--url", f"{web.url}/b", "--sha256", sha256, "--lake", tmp_path / "lake")
    assert done.returncode == 0, done.stderr
    assert Lake.open(tmp_path / "lake").release().content_digest == digest
    assert len([a for a in web.requests if "Range" in a.headers]) >= 2


def test_a_connection_that_keeps_dropping_stores_nothing(losslake: Run, web: Web, tmp_path: Path) -> None:
    web.faults["/a"] = Fault(times=1, drop_after=len(BZIP2) // 2)
    web.faults["a"] = Fault(times=99, drop_after=0)
    done = losslake(
        "ingest", "--url", f"{web.url}/a.tar.bz2", "--lake", tmp_path / "lake", "--sha256", SHA256, "--quiet"
    )
    assert done.returncode == 1
    assert "gave up after 6 tries" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert nothing_was_stored(tmp_path / "lake")


def test_an_archive_that_changes_during_the_download_stores_nothing(losslake: Run, web: Web, tmp_path: Path) -> None:
    web.faults["/a"] = Fault(times=1, drop_after=len(BZIP2) // 2)
    web.faults["a"] = Fault(times=99, headers={"ETag": '"new"'}, is_blind_to_ranges=True)
    done = losslake("ingest", "--url", f"{web.url}/a.tar.bz2", "--lake", tmp_path / "lake", "--quiet")
    assert done.returncode == 1
    assert "changed, or can't be resumed" in done.stderr
    assert nothing_was_stored(tmp_path / "lake")


def test_complete_trials_of_a_damaged_archive_are_stored(losslake: Run, web: Web, tmp_path: Path) -> None:
    two = FILES | study_files({1: TrialOffer(rows=ROWS)}, 16, "batch_science/mnist/cnn/sgd")
    cut = tar_bytes(two)[:-40_000]
    web.served["/cut.tar"] = cut
    sha256 = hashlib.sha256(cut).hexdigest()
    done = losslake("ingest", "--url", f"{web.url}/cut.tar", "--sha256", sha256, "--lake", tmp_path / "lake")
    assert done.returncode == 1
    assert "cut short" in done.stderr
    assert Lake.open(tmp_path / "lake").release().n_studies == 1


def test_chunks_that_are_fetched_again_must_have_the_same_bytes(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_archive, "CACHED_CHUNKS", 2)
    monkeypatch.setattr(remote_archive, "CHUNK", 1000)
    with Client() as client, RemoteArchive(client, f"{web.url}/a.tar.bz2") as archive:
        whole = archive.open().read()
        assert whole == BZIP2
        again = archive.open()
        again.seek(5000)
        assert again.read(3500) == BZIP2[5000:8500]
        archive.sha256()
        web.served["/a.tar.bz2"] = BZIP2[:6000] + bytes(len(BZIP2) - 6000)
        again.seek(1000)
        assert again.read(10_000) == BZIP2[1000:6000]
        with pytest.raises(Exception, match="changed during the download"):
            archive.sha256()


def test_a_remembered_archive_is_not_fetched_again(web: Web, tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    for promised, is_fetched in ((SHA256, True), (SHA256, False), (None, True)):
        with Client() as client, RemoteArchive(client, f"{web.url}/a.tar.bz2", promised) as archive:
            summary = ingest(lake, [archive])
            assert (len(archive._digests) * 8000 > len(BZIP2)) == is_fetched
    assert (summary.release, summary.trials_unchanged) == (1, 8)
    assert {entry.sha256 for entry in lake.ledger() if not entry.path} == {SHA256}


def test_the_stored_copy_of_a_zip_goes_with_its_archive(web: Web) -> None:
    web.served["/a.zip"] = zip_bytes(FILES)
    with Client() as client, RemoteArchive(client, f"{web.url}/a.zip") as archive:
        assert archive._stored is not None
        assert archive.open().read() == web.served["/a.zip"]
    assert archive._stored.closed


def test_only_a_few_chunks_are_cached(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_archive, "CHUNK", 500)
    with Client() as client, RemoteArchive(client, f"{web.url}/a.tar.bz2", SHA256) as archive:
        assert archive.sha256() == SHA256
        assert len(archive._cached) == remote_archive.CACHED_CHUNKS
        assert len(web.requests) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--url", "ftp://h/x"], "is not an http:// or https:// URL"),
        (["--url", "WEB/none"], "nothing at /none"),
        (["--url", "WEB/a.tar.bz2", "--sha256", "abc"], "64 hexadecimal digits"),
        (["x", "--sha256", "abc"], "--sha256 applies to --url only"),
        ([], "nothing to ingest"),
        (["https://h/x.tar"], "use --url for a file on the web"),
    ],
)
def test_an_invalid_option_is_one_line_and_creates_no_lake(
    losslake: Run, web: Web, tmp_path: Path, arguments: list[str], says: str
) -> None:
    done = losslake("ingest", *(a.replace("WEB", web.url) for a in arguments), "--lake", tmp_path / "lake")
    assert done.returncode == 1
    assert says in done.stderr.splitlines()[-1]
    assert not (tmp_path / "lake").exists()


def test_ctrl_c_stops_even_while_the_server_stalls(web: Web, tmp_path: Path) -> None:
    large = study_files({t: TrialOffer(rows=ROWS) for t in range(1, 250)}, 8, "batch_science/mnist/cnn/sgd")
    data = bz2.compress(tar_bytes(large), 1)
    web.serve_stalling("/a.tar.bz2", data)
    place, complaint = tmp_path / "lake", tmp_path / "complaint"
    process = start_command(["ingest", "--url", f"{web.url}/a.tar.bz2", "--lake", place], complaint)
    wait_until(lambda: len(web.requests) >= 2, "the download is resumed")
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == 130
    assert complaint.read_text().splitlines()[-1] == "losslake: stopped"
    assert not list(Lake.open(place).releases())


def test_fetch_lists_the_registered_archives(losslake: Run) -> None:
    done = losslake("fetch")
    assert "shallue2018" in done.stdout
    assert "https://storage.googleapis.com/batch_science_data/batch_science_data.tar.bz2" in done.stdout
    assert "6460ab86a6ab0f22a02e1c9b982e1ca31220bf41f669304ce86f14d19053f435" in done.stdout


def test_fetch_ingests_the_registered_archive_and_no_other_bytes(
    losslake: Run, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = losslake("fetch", "shallue2018", "--mirror", f"{web.url}/a.tar.bz2", "--lake", tmp_path, "--quiet")
    assert done.returncode == 1
    assert "not 6460ab86" in done.stderr
    assert nothing_was_stored(tmp_path)
    collection = replace(registry.collections()[0], archive_url=f"{web.url}/a.tar.bz2", archive_sha256=SHA256)
    monkeypatch.setattr(registry, "collections", lambda: (collection,))
    assert losslake("fetch", "shallue2018", "--lake", tmp_path).returncode == 0
    assert {
        s.study.workload.collection for s in Lake.open(tmp_path).files(Lake.open(tmp_path).release()) if s.study
    } == {"shallue2018"}


def test_fetch_of_an_unknown_name_lists_the_known_ones(losslake: Run) -> None:
    done = losslake("fetch", "shallue")
    assert done.returncode == 1
    assert "give shallue2018" in done.stderr

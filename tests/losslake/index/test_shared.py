"""What is made of a release is made by one machine, and fetched by the others from the store."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from losslake.index import serving, shared, workloads
from losslake.lake.lake import Lake
from losslake.lake.location import location_of
from losslake.lake.store.store import DataFile
from losslake.questions import scaling
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from losslake_ingest.run import ingest
from losslake_schema.names import Workload
from tests.ingest.offers import METRIC, TrialOffer, study_files, unpacked
from tests.losslake.questions.views import answer_to
from tests.servers.s3 import S3

SGD, ADAM = (Workload("root", "mnist", "cnn", optimizer) for optimizer in ("sgd", "adam"))


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory, s3: S3) -> Iterator[Lake]:
    """A lake of two workloads in a bucket, opened by the machine that made it."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as changes:
        s3.let_in(changes, folder / "cache")
        lake = Lake.create(f"sqlite:///{folder}/catalog.db {s3.new_warehouse()}")
        trials = {1: TrialOffer(), 2: TrialOffer(status="INCOMPLETE")}
        files = study_files(trials) | study_files(trials, 16) | study_files(trials, workload=str(ADAM))
        ingest(lake, [unpacked(folder / "logs", files)])
        opened(lake)
        yield lake


@pytest.fixture
def other(offered: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """The same lake on another machine, which has nothing of it."""
    monkeypatch.setenv("LOSSLAKE_CACHE", str(tmp_path))
    return Lake.open(str(offered))


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is made from now on, by name."""
    found: list[str] = []
    build, make = serving._build, workloads._Sources._make

    def build_noted(path: Path, lake: Lake, files: list[DataFile], earlier: Path | None) -> None:
        found.append("database")
        build(path, lake, files, earlier)

    def make_noted(sources: workloads._Sources, connection: duckdb.DuckDBPyConnection) -> None:
        found.append("workload")
        make(sources, connection)

    monkeypatch.setattr(serving, "_build", build_noted)
    monkeypatch.setattr(workloads._Sources, "_make", make_noted)
    return found


def opened(lake: Lake) -> ReleaseView:
    return ReleaseView.open(lake, lake.release())


def steps(view: ReleaseView, workload: Workload) -> list[object]:
    found: list[object] = (
        answer_to(scaling.QUESTION, view, Selection((workload,), METRIC), Goal(0.3)).table()["steps"].to_pylist()
    )
    return found


def kept(lake: Lake) -> set[str]:
    """The names of what lies on this machine, folders of workloads included."""
    serving_folder = lake.folder / "serving"
    return {path.name for path in [*serving_folder.glob("*"), *serving_folder.glob("*/*")] if path.name[0] != "."}


def shared_path(lake: Lake, ending: str) -> str:
    return next(file.path for file in lake.store.list_files("serving") if file.path.endswith(ending))


@pytest.mark.slow
def test_second_machine_builds_nothing_and_answers_the_same(offered: Lake, other: Lake, builds: list[str]) -> None:
    view = opened(other)
    assert steps(view, SGD) == steps(opened(offered), SGD) == [20, 20]
    assert steps(view, ADAM) == [20]
    assert builds == []
    assert kept(other) <= kept(offered)


def test_the_files_of_a_workload_are_fetched_when_they_are_asked_for(other: Lake) -> None:
    view = opened(other)
    assert not list((other.folder / "serving" / "workloads").glob("*"))
    steps(view, SGD)
    assert len(list((other.folder / "serving" / "workloads").glob("*"))) == 1


def test_damaged_file_in_the_store_is_rebuilt_and_uploaded(other: Lake, builds: list[str]) -> None:
    path = shared_path(other, ".duckdb.tar.zst")
    data = bytearray(other.store.read(path))
    data[len(data) // 2] ^= 1
    other.store.put(path, bytes(data))
    assert steps(opened(other), SGD) == [20, 20]
    assert builds == ["database"]
    assert bytes(other.store.read(path)) != bytes(data)


@pytest.mark.parametrize("name", ["../outside", "/outside", "inside"])
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_hostile_archive_writes_only_files_below_its_folder(tmp_path: Path, name: str, kind: bytes) -> None:
    packed, folder = tmp_path / "packed", tmp_path / "unpacked"
    member = tarfile.TarInfo(str(tmp_path / "outside") if name == "/outside" else name)
    member.type, member.linkname = kind, "../packed"
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(member)
    tar = pa.compress(content.getvalue(), codec="zstd", asbytes=True)
    packed.write_bytes(hashlib.sha256(tar).digest() + tar)
    if name == "inside" and kind in (tarfile.REGTYPE, tarfile.DIRTYPE):
        shared._unpack(packed, folder)
        assert [path.name for path in folder.iterdir()] == ["inside"]
    else:
        with pytest.raises(ValueError, match=r"outside of its folder|neither a file nor a folder"):
            shared._unpack(packed, folder)
        assert not list(folder.glob("*"))
    assert {path.name for path in tmp_path.iterdir()} <= {"packed", "unpacked"}


def test_file_missing_from_the_store_is_rebuilt(other: Lake, builds: list[str]) -> None:
    for file in [*other.store.list_files("serving/workloads")]:
        other.store.delete([file.path])
    assert steps(opened(other), ADAM) == [20]
    assert builds == ["workload", "workload"]
    assert len(list(other.store.list_files("serving/workloads"))) == 2


def test_service_that_may_not_write_keeps_what_it_builds(
    other: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    built = shared.path_of(other, other.release(1), "x")
    built.parent.mkdir(parents=True)
    built.write_text("built here")
    with caplog.at_level("INFO"):
        shared.share(Lake(location_of(str(other))), built)
    assert [(record.levelname, "may only read" in record.message) for record in caplog.records] == [("INFO", True)]
    assert [path.name for path in built.parent.iterdir()] == [built.name]


def test_files_are_evicted_when_all_of_them_exceed_the_limit(other: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    view = opened(other)
    steps(view, SGD)
    steps(view, ADAM)
    total = sum(path.stat().st_size for path in (other.folder / "serving").rglob("*") if path.is_file())
    (old, new) = sorted((other.folder / "serving" / "workloads").iterdir())
    long_ago = time.time() - 2 * shared.SECONDS_SAFE
    os.utime(old, (long_ago, long_ago))
    for limit, is_kept in ((total + 0.5, True), (total - 0.5, False)):
        monkeypatch.setattr(shared, "_SHARE_OF_CACHE", limit / other.location.cache_bytes)
        shared._bound(other).evict()
        assert (old.exists(), new.exists()) == (is_kept, True)


def test_least_recently_used_file_is_evicted_but_not_one_in_use(other: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    view = opened(other)
    steps(view, SGD)
    steps(view, ADAM)
    (old, new) = sorted((other.folder / "serving" / "workloads").iterdir())
    long_ago = time.time() - 2 * shared.SECONDS_SAFE
    os.utime(old, (long_ago, long_ago))
    monkeypatch.setattr(shared, "_SHARE_OF_CACHE", 0.0)
    shared._bound(other).evict()
    assert (old.exists(), new.exists(), view.serving_file.exists()) == (False, True, True)
    assert steps(opened(other), SGD) == [20, 20]
    assert steps(opened(other), ADAM) == [20]

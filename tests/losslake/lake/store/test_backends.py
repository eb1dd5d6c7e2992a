"""A storage backend is one module and one line of registration: nothing else of the product has to know it."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from losslake.lake.lake import Lake
from losslake.lake.location import location_of
from losslake.lake.store.backends import BACKENDS
from losslake_cli.main import main
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError
from tests.applications import client_with_sql
from tests.ingest.offers import TrialOffer, study_files, unpacked
from tests.losslake.lake.store import drive, shelf

TRIALS = {1: TrialOffer(rows=["0,0.9", "10,0.5", "20,0.25"]), 2: TrialOffer(rows=["0,0.8", "10,nan", "20,0.2"])}


@pytest.fixture(params=[drive, shelf], ids=["local", "by ranges"])
def location(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Register the backend, and return the two URLs of a lake on it."""
    backend: ModuleType = request.param
    monkeypatch.setitem(BACKENDS, backend.SCHEME.removesuffix("://"), backend.__name__)
    monkeypatch.setenv("LOSSLAKE_CACHE", str(tmp_path / "cache"))
    return f"sqlite:///{tmp_path}/catalog.db {backend.SCHEME}{tmp_path}/files"


@pytest.fixture
def lake(location: str, tmp_path: Path) -> Lake:
    made = Lake.create(location)
    summary = ingest(made, [unpacked(tmp_path / "logs", study_files(TRIALS) | study_files(TRIALS, 16))])
    assert summary.release == 1
    assert not summary.quarantined
    return made


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    """Return the exit status of the command in this process, which knows the backend."""
    monkeypatch.setattr(sys, "argv", ["losslake", *arguments])
    with pytest.raises(SystemExit) as leaving:
        main()
    return leaving.value.code


def test_lake_on_a_new_backend_answers_questions_and_serves_its_files(lake: Lake) -> None:
    published = {file.table: file.sha256 for file in lake.files(lake.release(), partitioned=False)}
    with client_with_sql(lake) as client:
        question = "workload=root/mnist/cnn/sgd&metric=val/classification_error&target=0.3"
        rows = client.get(f"/v1/scaling?{question}").json()["rows"]
        assert [(row["batch_size"], row["steps"]) for row in rows] == [(8, 20), (16, 20)]
        counted = client.post("/v1/sql", json={"sql": "SELECT count(*) AS n FROM measurements"}).json()
        assert counted["rows"] == [{"n": 12}]
        download = client.get("/data/1/studies.parquet")
        assert hashlib.sha256(download.content).hexdigest() == published["studies"]
        part = client.get("/data/1/studies.parquet", headers={"range": "bytes=0-3"})
        assert (part.status_code, part.content) == (206, b"PAR1")


def test_lake_on_a_new_backend_is_verified_exported_maintained_and_changed(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "verify", "--lake", str(lake)) == 0, capsys.readouterr()
    assert run(monkeypatch, "export", str(tmp_path / "exported"), "--lake", str(lake)) == 0, capsys.readouterr()
    assert run(monkeypatch, "maintain", "--lake", str(lake)) == 0, capsys.readouterr()
    assert ingest(lake, [unpacked(tmp_path / "more", study_files(TRIALS, 32))]).release == 2
    (tmp_path / "files" / lake.files(lake.release())[0].path).write_bytes(b"")
    assert run(monkeypatch, "verify", "--lake", str(lake)) == 1


def test_unknown_scheme_is_refused_with_the_known_ones(location: str, tmp_path: Path) -> None:
    known = location.split()[1].partition(":")[0]
    with pytest.raises(LossLakeError, match=f"s3:// or {known}://, not tape://"):
        location_of(f"sqlite:///{tmp_path}/catalog.db tape:///files")

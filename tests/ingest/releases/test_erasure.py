"""Erased trials are in no byte of a lake; what remains is whole, and tombstones say what was erased, when and why."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from losslake.index import maintenance
from losslake.index.serving import open_release
from losslake.lake import publishing
from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.notices import read_notices
from losslake.lake.verification import verify
from losslake_cli.changes.erase import erase_completely
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.releases import erasure as erasing
from losslake_ingest.releases import rewriting
from losslake_ingest.releases.erasure import GONE, Erasure, erase
from losslake_ingest.run import ingest
from losslake_schema.contributors import Contributor
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.release import Release
from tests.ingest.one_study import MAPPING, log

STUDY = Study(Workload("c", "d", "m", "o"), 8)
SECRET = 0.123454321
FILE, ERASED_NAME = "hush_token", "Mallory Hush"
TRIAL = Trial(STUDY, 2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a folder with a lake of three releases, and a copy. Two have a secret value, file name and contributor."""
    folder = tmp_path_factory.mktemp("erasure") / "here"
    lake, logs = Lake.create(folder / "lake"), folder / "logs"
    logs.mkdir()
    (logs / "losslake.toml").write_text(MAPPING)
    (logs / "a.csv").write_bytes(log(0.5, 0.4))
    ingest(lake, [logs / "a.csv"])
    (logs / f"{FILE}.csv").write_bytes(log(0.5, SECRET))
    (logs / "bad.csv").write_bytes(b"step,loss\n0,what\n")
    ingest(lake, [logs / f"{FILE}.csv"], Request(contributors=(Contributor(ERASED_NAME),)))
    (logs / "c.csv").write_bytes(log(0.5, 0.3))
    ingest(lake, [logs], notes="a note on hush_token")
    for release in lake.releases():
        open_release(lake, release).close()
    lake.engine.dispose()
    return folder, shutil.copytree(folder, folder.with_name("as_made"))


@pytest.fixture
def lake(made: tuple[Path, Path]) -> Lake:
    """Return the lake as it was made; its catalog names paths, so that it can't be used elsewhere."""
    lake = put_back(*made)
    assert {row["trial_id"] for row in trials(lake, 3)} == {1, 2, 3}
    assert found(lake.folder) == {SECRET, FILE, ERASED_NAME}
    return lake


def put_back(folder: Path, copy: Path) -> Lake:
    shutil.rmtree(folder)
    return Lake.open(shutil.copytree(copy, folder) / "lake")


@dataclass(frozen=True)
class Erased:
    """A lake from which TRIAL and FILE were erased, its releases before, and what the erasure returned."""

    lake: Lake
    before: dict[int, Release]
    erasure: Erasure
    digest: str  # of the erased trial


@pytest.fixture(scope="module")
def erased_once(made: tuple[Path, Path]) -> tuple[Path, Erased]:
    """Return a copy of the lake after an erasure, and what it was before."""
    folder, as_made = made
    lake = put_back(folder, as_made)
    before = {release.number: release for release in lake.releases()}
    (digest,) = {str(row["content_digest"]) for row in trials(lake, 3) if row["trial_id"] == 2}
    erasure = erase_completely(lake, [str(TRIAL)], "a court's order", "the operator", [FILE])
    lake.engine.dispose()
    return shutil.copytree(folder, as_made.with_name("as_erased")), Erased(lake, before, erasure, digest)


@pytest.fixture
def erased(made: tuple[Path, Path], erased_once: tuple[Path, Erased]) -> Erased:
    copy, once = erased_once
    return replace(once, lake=put_back(made[0], copy))


def trials(lake: Lake, release: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = read_small_table(
        lake.store, lake.files(lake.release(release)), "trials"
    ).to_pylist()
    return rows


def found(folder: Path) -> set[object]:
    """Return which secrets are in any file of a folder, as bytes or in decoded Parquet, DuckDB or Arrow data."""
    needles: dict[object, bytes] = {
        SECRET: struct.pack("<d", SECRET),
        FILE: FILE.encode(),
        ERASED_NAME: ERASED_NAME.encode(),
    }
    seen: set[object] = set()
    for path in (path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes() + str(path.relative_to(folder)).encode()
        if path.suffix == ".parquet":
            data += repr(pq.ParquetFile(path).read().to_pylist()).encode()
            seen |= {SECRET} if repr(SECRET).encode() in data else set()
        if path.suffix == ".avro":
            data += path.read_bytes()
        seen |= {needle for needle, text in needles.items() if text in data}
    return seen


def contents(lake: Lake) -> Iterator[tuple[int, str]]:
    for release in lake.releases():
        assert verify(lake, release).problems == ()
        with open_release(lake, release) as connection:
            counts = [f"(SELECT count(*) FROM {name})" for name in ("measurements", "trials", "studies")]
            counted = connection.execute(f"SELECT {', '.join(counts)}").fetchone()
            assert counted == (release.n_measurements, release.n_trials, release.n_studies)
            records = connection.execute("SELECT count(DISTINCT (dataset, trial_id)) FROM records").fetchone()
            assert records == (release.n_trials,)
        yield release.number, release.content_digest


def test_no_byte_of_an_erased_trial_remains_and_every_release_is_whole(erased: Erased) -> None:
    lake, before = erased.lake, erased.before
    assert erased.erasure.trials == {2: [TRIAL], 3: [TRIAL]}
    assert found(lake.folder) == set()
    after = dict(contents(lake))
    assert after[1] == before[1].content_digest
    assert all(after[number] != before[number].content_digest for number in (2, 3))
    assert [release.number for release in lake.releases()] == [3, 2, 1]
    assert [lake.release(number).created_at for number in (1, 2, 3)] == [before[n].created_at for n in (1, 2, 3)]
    assert {row["trial_id"] for row in trials(lake, 3)} == {1, 3}
    assert found(lake.folder) == set()


def test_an_erased_release_is_that_of_a_lake_that_never_had_the_trial(erased: Erased) -> None:
    assert erased.lake.release(2).content_digest == erased.lake.release(1).content_digest


def test_tombstones_say_what_was_erased_when_why_and_by_whom(erased: Erased) -> None:
    notices = read_notices(erased.lake)
    assert {(each.trial, each.kind, each.reason, each.by) for each in notices} == {
        (str(TRIAL), "erased", "a court's order", "the operator"),
        ("", "erased", "a court's order", "the operator"),
    }
    digests = {number: erased.before[number].content_digest for number in (2, 3)}
    assert {each.release: each.content_digest for each in notices if not each.trial} == digests
    assert {each.content_digest for each in notices if each.trial} == {erased.digest}


def test_hidden_names_are_gone_too(lake: Lake) -> None:
    other = Study(Workload("c", "hushed", "m", "o"), 8)
    logs = lake.folder.parent / "more"
    logs.mkdir()
    (logs / "losslake.toml").write_text(MAPPING.replace('"d"', '"hushed"'))
    (logs / "x.csv").write_bytes(log(0.7))
    ingest(lake, [logs])
    erase_completely(lake, [str(other)], "why", "me", ["hushed"], hide_names=True)
    assert list(contents(lake))
    for path in lake.folder.rglob("*"):
        assert "hushed" not in path.name
        if path.is_file():
            assert b"hushed" not in path.read_bytes()
    assert any(each.trial.startswith("sha256:") for each in read_notices(lake))


def test_reasons_of_refused_files_with_the_same_bytes_are_gone_too(lake: Lake) -> None:
    logs = lake.folder.parent / "refused"
    logs.mkdir()
    (logs / "losslake.toml").write_text(MAPPING.replace(", batch_size = 8", ""))
    (logs / "x.csv").write_bytes(log(0.5, SECRET))
    assert ingest(lake, [logs]).quarantined
    erase_completely(lake, [str(TRIAL)], "why", "me", [FILE])
    refused = [entry for entry in lake.ledger("quarantined") if entry.rule == Rule.MISSING_FACT]
    assert {(entry.source, entry.path, entry.reason) for entry in refused} == {(GONE, GONE, GONE)}


def test_refusals_of_an_erased_run_lose_its_name_and_the_reason_and_others_nothing(lake: Lake) -> None:
    logs = lake.folder.parent / "logs"
    (logs / f"{FILE}.csv").write_bytes(b"step,loss\n0,never\n")
    ingest(lake, [logs])
    reason = "loss is {!r}, neither a number nor a word for a missing value"
    refused = {("bad.csv", reason.format("what")), (f"{FILE}.csv", reason.format("never"))}
    assert {(entry.path, entry.reason) for entry in lake.ledger("quarantined") if entry.path} == refused
    erase_completely(lake, [str(TRIAL)], "why", "me")
    refused = {("bad.csv", reason.format("what")), (GONE, GONE)}
    assert {(entry.path, entry.reason) for entry in lake.ledger("quarantined") if entry.path} == refused


def test_the_same_log_does_not_come_in_again(erased: Erased) -> None:
    lake = erased.lake
    summary = ingest(lake, [lake.folder.parent / "logs"])
    assert "withdrawn" in {each.rule for each in summary.quarantined}
    assert {row["trial_id"] for row in trials(lake, lake.release().number)} == {1, 3}
    assert SECRET not in found(lake.folder)


def test_a_dry_run_changes_nothing(lake: Lake) -> None:
    before = {path: path.read_bytes() for path in lake.folder.rglob("*") if path.is_file() and path.suffix != ".db-shm"}
    assert erase(lake, [f"{STUDY}/1"], "why", "me", dry_run=True).unlisted == [1]
    assert erase(lake, [str(TRIAL)], "why", "me", dry_run=True).all_trials == [TRIAL]
    assert {path: path.read_bytes() for path in before} == before


def test_unknown_names_and_the_last_trials_are_refused(lake: Lake) -> None:
    with pytest.raises(LossLakeError, match="no release has"):
        erase(lake, ["c/d/m/o/8/99"], "why", "me")
    with pytest.raises(LossLakeError, match="nothing would remain"):
        erase(lake, ["c"], "why", "me")


def test_releases_in_which_nothing_else_was_are_unlisted(lake: Lake) -> None:
    erasure = erase_completely(lake, [f"{STUDY}/1"], "why", "me")
    assert erasure.unlisted == [1]
    assert [release.number for release in lake.releases()] == [3, 2]
    assert len(list(contents(lake))) == 2


@pytest.mark.parametrize(
    ("module", "name"),
    [
        pytest.param(erasing, "unlist", marks=pytest.mark.slow),
        pytest.param(rewriting, "adopt", marks=pytest.mark.slow),
        (rewriting, "_switch"),
        pytest.param(maintenance, "clean", marks=pytest.mark.slow),
        pytest.param(maintenance, "delete_orphans", marks=pytest.mark.slow),
        pytest.param(maintenance, "_delete_serving_files", marks=pytest.mark.slow),
        pytest.param(erasing, "finish", marks=pytest.mark.slow),
    ],
)
def test_running_it_again_finishes_what_a_kill_left(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, module: object, name: str
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killing:
        killing.setattr(module, name, killed)
        with pytest.raises(KeyboardInterrupt):
            erase_completely(lake, [str(TRIAL)], "why", "me", [FILE])
    assert len(list(contents(lake))) == 3
    erase_completely(lake, [str(TRIAL)], "why", "me", [FILE])
    assert len(list(contents(lake))) == 3
    assert found(lake.folder) == set()
    with closing(sqlite3.connect(lake.folder / "catalog.db")) as database:
        (n_tombstones,) = database.execute(
            "SELECT count(*) FROM losslake_ledger WHERE outcome = 'erased' AND path <> ''"
        ).fetchone()
    assert n_tombstones == 1


def test_other_engines_read_what_remains(erased: Erased) -> None:
    lake = erased.lake
    rows = lake.table("measurements").scan().to_arrow()
    assert set(rows["trial_id"].to_pylist()) == {1, 3}
    assert lake.table("contributors").scan().to_arrow().num_rows == 0


def test_spools_of_erased_contributions_are_deleted(tmp_path: Path) -> None:
    uuid = "0199d1c5-7d1e-7a53-8f0c-5b6f0a9c2d11"
    lake, logs = Lake.create(tmp_path / "lake"), tmp_path / "logs"
    (logs / uuid).mkdir(parents=True)
    (logs / "losslake.toml").write_text(MAPPING)
    (logs / uuid / "a.csv").write_bytes(log(0.5))
    (logs / "b.csv").write_bytes(log(0.4))
    ingest(lake, [logs])
    for name in (uuid, uuid.replace("0199", "0200")):
        lake.store.put(f"contributions/{name}/run.json", b"{}")
    (number,) = (row["trial_id"] for row in trials(lake, 1) if uuid in str(row["source"]))
    erase_completely(lake, [f"{STUDY}/{number}"], "why", "me")
    assert [file.path for file in lake.store.list_files("contributions")] == [
        f"contributions/{uuid.replace('0199', '0200')}/run.json"
    ]


def test_an_ingest_that_began_before_an_erasure_reads_its_logs_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = lake.folder.parent / "late"
    logs.mkdir()
    (logs / "losslake.toml").write_text(MAPPING.replace('"d"', '"late"'))
    (logs / "x.csv").write_bytes(log(0.7))
    stage, erased = publishing.stage_release, list[bool]()

    def erase_first(*arguments: Any) -> Any:
        staged = stage(*arguments)
        if not erased:
            erased.append(True)
            monkeypatch.setattr(publishing, "stage_release", stage)
            erase_completely(lake, [str(TRIAL)], "why", "me")
        return staged

    monkeypatch.setattr(publishing, "stage_release", erase_first)
    assert ingest(lake, [logs]).release == 4
    assert len(list(contents(lake))) == 4
    assert SECRET not in found(lake.folder)

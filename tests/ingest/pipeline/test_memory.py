"""A file that was taken in whole is not read again, and what is told of it is what reading it again would tell."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_ingest import run as running
from losslake_ingest.contracts.report import Progress, Summary
from losslake_ingest.formats.csv_and_jsonl import CSV as CSV
from losslake_ingest.pipeline import memory
from losslake_ingest.pipeline.engine import Engine
from losslake_ingest.pipeline.memory import Memory, are_built_in
from losslake_ingest.pipeline.offer import ingest_source
from losslake_ingest.pipeline.reading import Request, SourceReading
from losslake_ingest.run import DEFAULT_REQUEST, ingest
from losslake_ingest.sources.open import open_source
from tests.ingest.offers import Files, TrialOffer, study_files, tar_bytes, unpacked, written, zip_bytes

BAD = {1: TrialOffer(), 2: TrialOffer(rows=["0,0.5", "5,bad"]), 3: TrialOffer(rows=["0,nan"])}
GOOD = {**BAD, 2: TrialOffer(rows=["0,0.5", "5,0.25"])}
STRAY = {"root/mnist/cnn/sgd/8/9/metadata.json": b'{"trial_id": 9}', "root/misplaced/study.json": b"{}"}
ARCHIVE = study_files(BAD) | study_files(GOOD, 16) | STRAY
MAPPING = b"""
[collection]
name = "mine"
licence = "CC0"
[run]
dataset = "mnist"
model = "cnn"
optimizer = "sgd"
column = "run"
[fields]
batch_size = 8
[metrics]
noise = ""
[[goal]]
metric = "val/loss"
target = 0.5
source = "a paper"
"""


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(tmp_path / "lake")


@pytest.fixture
def was_read(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """An ingest that returns the names of the files that it read."""
    read: list[str] = []

    def spy(engine: Engine, reading: SourceReading, progress: Progress) -> object:
        read.append(reading.source.path.name)
        return ingest_source(engine, reading, progress)

    monkeypatch.setattr(running, "ingest_source", spy)

    def offered(lake: Lake, *paths: Path, request: Request = DEFAULT_REQUEST) -> list[str]:
        read.clear()
        ingest(lake, paths, request)
        return list(read)

    return offered


def report(
    lake: Lake, paths: Sequence[Path], request: Request = DEFAULT_REQUEST
) -> tuple[Summary, list[tuple[object, ...]]]:
    """The summary of an ingest without its seconds, and the entries that it wrote to the ledger."""
    before = len(lake.ledger())
    summary = ingest(lake, paths, request)
    entries = lake.ledger(limit=len(lake.ledger()) - before)
    columns = [c for c in type(entries[0]).__table__.columns.keys() if c not in ("id", "offered_at", "release")]  # noqa: SIM118
    rows = [tuple(getattr(entry, column) for column in columns) for entry in entries]
    return replace(summary, seconds=0.0), sorted(rows, key=str)


def report_by_reading(lake: Lake, paths: Sequence[Path]) -> tuple[Summary, list[tuple[object, ...]]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory, "recall", lambda *_: None)
        return report(lake, paths)


def test_completely_ingested_archive_is_skipped_with_the_same_report(
    lake: Lake, tmp_path: Path, was_read: Callable[..., list[str]]
) -> None:
    archive = written(tmp_path / "a.tar", tar_bytes(ARCHIVE))
    first = ingest(lake, [archive])
    assert was_read(lake, archive) == []
    recalled, entries = report(lake, [archive])
    assert (recalled.published, recalled.release, recalled.studies_unchanged, recalled.trials_unchanged) == (
        False, 1, 2, 5,
    )  # fmt: skip
    assert {str(q) for q in recalled.quarantined} == {str(q) for q in first.quarantined}
    assert len(recalled.quarantined) == 3
    assert (recalled, entries) == report_by_reading(lake, [archive])


@pytest.mark.slow
def test_changed_input_mapping_or_code_is_read_again(
    lake: Lake, tmp_path: Path, was_read: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"run,step,val/loss,noise\na,0,2.5,1\na,9,0.25,1\nb,0,2.0,1\n"
    log = written(tmp_path / "log.csv", text)
    mapping = written(tmp_path / "losslake.toml", MAPPING)
    assert was_read(lake, log) == ["log.csv"]
    assert was_read(lake, log) == []
    other_name = written(tmp_path / "other.csv", text)
    assert was_read(lake, other_name) == ["other.csv"]
    assert was_read(lake, log, request=Request(formats=("csv",))) == ["log.csv"]
    assert was_read(lake, log, request=Request(collection="theirs")) == ["log.csv"]
    with monkeypatch.context() as newer:
        newer.setattr(memory, "code_digest", lambda: "of a newer LossLake")
        assert was_read(lake, log) == ["log.csv"]
    mapping.write_bytes(MAPPING.replace(b'"CC0"', b'"CC1"'))
    assert was_read(lake, log) == ["log.csv"]
    log.write_bytes(text.replace(b"0.25", b"0.75"))
    assert was_read(lake, log) == ["log.csv"]
    assert was_read(lake, log) == []
    assert was_read(lake, other_name) == ["other.csv"]  # its study has changed since


def test_broken_or_concurrently_modified_source_is_read_again(
    lake: Lake, tmp_path: Path, was_read: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tar_bytes(study_files(GOOD))
    cut = written(tmp_path / "cut.tar", whole[: whole.index(b"8/3/measurements.csv")])
    assert was_read(lake, cut) == was_read(lake, cut) == ["cut.tar"]
    live = written(tmp_path / "live.tar", whole)
    with monkeypatch.context() as writing:
        writing.setattr(SourceReading, "items", appending(live))
        was_read(lake, live)
    assert was_read(lake, live) == ["live.tar"]
    assert was_read(lake, live) == []


def appending(file: Path) -> Callable[[SourceReading], object]:
    """The items of a source, to whose file somebody writes while it is read."""
    items = SourceReading.items

    def read(reading: SourceReading) -> object:
        yield from items(reading)
        with file.open("ab") as opened:
            opened.write(bytes(512))

    return read


def test_sources_that_share_a_study_are_all_read(
    lake: Lake, tmp_path: Path, was_read: Callable[..., list[str]]
) -> None:
    one = written(tmp_path / "one.tar", tar_bytes(study_files(GOOD)))
    other = written(tmp_path / "other.tar", tar_bytes(study_files(GOOD, 16)))
    same = written(tmp_path / "same.tar", tar_bytes(study_files(GOOD | {4: TrialOffer()})))
    assert was_read(lake, one, other) == ["one.tar", "other.tar"]
    assert was_read(lake, other, one) == []
    assert was_read(lake, one, same) == ["same.tar", "one.tar", "same.tar"]
    assert lake.release().n_trials == 7
    assert was_read(lake, one, same) == ["one.tar", "same.tar"]


def test_format_of_another_package_is_always_read_again() -> None:
    class Foreign:
        name, reads, needs, defaults = "foreign", "", "", ""

    assert are_built_in([CSV])
    assert not are_built_in([CSV, Foreign()])  # type: ignore[list-item]


def newest_files(lake: Lake) -> list[DataFile]:
    newest = lake.newest_release()
    return lake.files(newest) if newest is not None else []


def walk(folder: Path, seed: int, steps: int) -> int:
    """Offer files of a pool in any order, each once more by reading; returns how many were recalled."""
    chance = random.Random(seed)
    lake = Lake.create(folder / "lake")
    logs = unpacked(folder / "logs", {"losslake.toml": MAPPING})
    contents: list[Files] = [ARCHIVE, study_files(GOOD), study_files({**GOOD, 1: TrialOffer(status="LOST")}, 16), STRAY]
    tables = [b"run,step,val/loss\na,0,%d\nb,0,2\n" % value for value in (1, 3)] + [b"run,step\n", b"x,val/loss\n1,2\n"]
    recalled = 0
    for _ in range(steps):
        if chance.random() < 0.4:
            offer = written(logs / chance.choice(["t.csv", "u.csv"]), chance.choice(tables))
        else:
            packed = chance.choice([tar_bytes, zip_bytes])(chance.choice(contents))
            offer = written(folder / chance.choice(["a", "b"]), packed)
        ingest(lake, [offer])
        found = Memory(lake, Request()).recall(open_source(offer), newest_files(lake))
        recalled += found is not None
        again = report(lake, [offer])
        assert again == report_by_reading(lake, [offer])
        assert not again[0].published
    return recalled


@pytest.mark.slow
def test_recalled_offer_equals_reading(tmp_path: Path) -> None:
    assert walk(tmp_path, seed=11, steps=5) >= 3


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(30))
def test_recalled_offer_equals_reading_after_any_sequence_of_ingests(tmp_path: Path, seed: int) -> None:
    walk(tmp_path, seed, steps=25)

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import Format
from losslake_ingest.formats.wandb import FORMAT
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.sources.open import open_source
from tests.ingest.formats.reading import runs
from tests.ingest.formats.wandb_files import exit_record, framed, history_record, panel
from tests.ingest.offers import tar_bytes, zip_bytes

HISTORY = b'{"_step": 0, "loss": 1.5}\n'
FILES = {
    "b/run.wandb": framed([history_record(0, {"loss": 1.0}), exit_record(0)]),
    "a/p.csv": panel("Step", [1], {"y - loss": [1], "x - loss": [2]}),
    "c/history.jsonl": HISTORY,
    "a/q.csv": panel("Step", [1], {"x - accuracy": [2]}),
}


def test_it_is_a_format() -> None:
    log_format: Format = FORMAT
    assert log_format.name == "wandb"


def test_runs_of_all_kinds_come_in_order_of_their_paths(tmp_path: Path) -> None:
    found = runs(FORMAT, tmp_path, FILES)
    assert [run.run for run in found] == ["a#x", "a#y", "b/run.wandb", "c/history.jsonl"]


def test_the_order_in_an_archive_makes_no_difference(tmp_path: Path) -> None:
    for name, files in (("one", FILES), ("two", dict(reversed(FILES.items())))):
        (tmp_path / name).write_bytes(zip_bytes(files))
    one, two = (repr(list(FORMAT.read(open_source(tmp_path / name), LogMapping()))) for name in ("one", "two"))
    assert one == two


def test_complete_runs_of_a_broken_archive_are_read_before_the_error(tmp_path: Path) -> None:
    whole = tar_bytes(FILES)
    (tmp_path / "cut.tar").write_bytes(whole[: whole.index(b"a/q.csv") + 600])
    reading = FORMAT.read(open_source(tmp_path / "cut.tar"), LogMapping())
    found = [next(reading) for _ in range(4)]
    assert [item.run for item in found if isinstance(item, RunLog)] == ["a#x", "a#y", "b/run.wandb", "c/history.jsonl"]
    with pytest.raises(SourceBroken, match=r"cut short after a/q\.csv"):
        next(reading)


def test_duplicate_file_is_read_once(tmp_path: Path) -> None:
    member = tar_bytes({"history.jsonl": HISTORY})[:1024]
    (tmp_path / "twice.tar").write_bytes(member + member + bytes(1024))
    refused, run = FORMAT.read(open_source(tmp_path / "twice.tar"), LogMapping())
    assert isinstance(refused, Quarantined)
    assert refused.rule == "duplicate_file"
    assert isinstance(run, RunLog)


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "history.jsonl").write_bytes(HISTORY)
    (tmp_path / "offered").mkdir()
    (tmp_path / "offered" / "history.jsonl").symlink_to(tmp_path / "real" / "history.jsonl")
    (refused,) = FORMAT.read(open_source(tmp_path / "offered"), LogMapping())
    assert isinstance(refused, Quarantined)
    assert refused.rule == "not_a_file"


def test_defaults_are_a_mapping() -> None:
    defaults = tomllib.loads(FORMAT.defaults)
    assert all(axis["counts"] in ("steps", "calls") for axis in defaults["axis"])
    assert [axis["column"] for axis in defaults["axis"]][2:] == ["_step", "Step", "step"]
    assert defaults["time"] == {"elapsed_s": "_runtime", "assumed": True}
    assert defaults["status"]["finished"] == "COMPLETE"
    assert all(axis["column"] in defaults["metrics"] for axis in defaults["axis"])

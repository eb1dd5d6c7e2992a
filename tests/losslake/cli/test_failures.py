"""Damage and mistakes, told in one line that says what to do."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from losslake.cli.console import in_one_line
from losslake.lake.lake import Lake
from tests.losslake.cli.conftest import Run

READERS = (("releases",), ("ledger",), ("steps",), ("sql", "-c", "SELECT 1"), ("verify",), ("export", "out"))


@pytest.fixture
def copy(lake: Lake, tmp_path: Path) -> Path:
    shutil.copytree(lake.folder, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize("arguments", READERS)
@pytest.mark.parametrize("harm", ["junk", "missing"])
def test_a_harmed_catalog_is_one_line(
    losslake: Run, copy: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], harm: str
) -> None:
    monkeypatch.chdir(copy.parent)
    for path in copy.glob("catalog.db*"):
        path.unlink()
    if harm == "junk":
        (copy / "catalog.db").write_bytes(b"junk" * 1000)
    done = losslake(*arguments, "--lake", copy)
    assert (done.returncode, done.stdout) == (1, "")
    assert "catalog.db" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "SELECT" not in done.stderr


@pytest.mark.parametrize("arguments", [("steps",), ("sql", "-c", "SELECT 1")])
def test_a_harmed_serving_file_says_that_it_can_be_deleted(
    losslake: Run, copy: Path, arguments: tuple[str, ...]
) -> None:
    assert losslake(*arguments, "--lake", copy).returncode == 0
    for path in (copy / "serving").glob("*.duckdb"):
        path.write_bytes(b"junk" * 5000)
    done = losslake(*arguments, "--lake", copy)
    assert done.returncode == 1
    assert "delete the lake's folder serving" in done.stderr
    shutil.rmtree(copy / "serving")
    assert losslake(*arguments, "--lake", copy).returncode == 0


def test_a_lake_of_another_layout_is_refused(losslake: Run, copy: Path) -> None:
    (copy / "lake.toml").write_text("layout_version = 999\n")
    done = losslake("releases", "--lake", copy)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "layout 999" in done.stderr


def test_offering_nothing_makes_no_lake(losslake: Run, tmp_path: Path) -> None:
    done = losslake("ingest", tmp_path / "nothing", "--lake", tmp_path / "lake")
    assert done.returncode == 1
    assert not (tmp_path / "lake").exists()


def test_an_archive_that_is_none_is_one_line(losslake: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    done = losslake("ingest", tmp_path / "notes.txt", "--lake", tmp_path / "lake")
    assert done.returncode == 1
    assert "notes.txt" in done.stderr


@pytest.mark.parametrize("format_", ["xml", ""])
@pytest.mark.parametrize("command", [("sql", "-c", "SELECT 1"), ("steps",), ("ledger",)])
def test_a_format_that_is_none_lists_those_that_are(losslake: Run, command: tuple[str, ...], format_: str) -> None:
    done = losslake(*command, "--format", format_)
    assert done.returncode == 2
    assert "'csv', 'json'" in done.stderr


def test_a_full_disk_is_named_and_the_unforeseen_asks_for_a_report() -> None:
    assert (
        in_one_line(OSError(errno.ENOSPC, "No space left on device", "/lake/x")) == "/lake/x: No space left on device"
    )
    assert in_one_line(ValueError("odd\nmore")).startswith("internal error: ValueError: odd;")


def test_the_unforeseen_is_one_line_and_whole_with_debug(
    losslake: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(self: Lake, **_: bool) -> None:
        raise KeyError("odd")

    monkeypatch.setattr(Lake, "releases", fail)
    with pytest.raises(AssertionError, match="internal error"):
        losslake("releases")
    monkeypatch.setenv("LOSSLAKE_DEBUG", "1")
    with pytest.raises(KeyError):
        losslake("releases")

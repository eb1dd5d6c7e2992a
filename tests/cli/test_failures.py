"""Damaged lakes and mistakes are reported in one line with a remedy."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_cli.console import describe_error
from tests.cli.conftest import Run

READERS = (("releases",), ("ledger",), ("steps",), ("sql", "-c", "SELECT 1"), ("verify",), ("export", "out"))


@pytest.fixture
def copy(lake: Lake, tmp_path: Path) -> Path:
    shutil.copytree(lake.folder, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize("arguments", READERS)
@pytest.mark.parametrize("harm", ["junk", "missing"])
def test_a_damaged_catalog_is_reported_in_one_line(
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
def test_a_damaged_serving_file_is_reported_with_the_remedy_to_delete_it(
    losslake: Run, copy: Path, arguments: tuple[str, ...]
) -> None:
    assert losslake(*arguments, "--lake", copy).returncode == 0
    for path in (copy / "serving").glob("*.duckdb"):
        path.write_bytes(b"junk" * 5000)
    done = losslake(*arguments, "--lake", copy)
    assert done.returncode == 1
    assert "delete the lake's folder `serving`" in done.stderr
    shutil.rmtree(copy / "serving")
    assert losslake(*arguments, "--lake", copy).returncode == 0


def test_a_lake_of_another_layout_is_refused(losslake: Run, copy: Path) -> None:
    (copy / "lake.toml").write_text("layout_version = 999\n")
    done = losslake("releases", "--lake", copy)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "layout 999" in done.stderr


def test_ingest_without_a_path_creates_no_lake(losslake: Run, tmp_path: Path) -> None:
    done = losslake("ingest", tmp_path / "nothing", "--lake", tmp_path / "lake")
    assert done.returncode == 1
    assert not (tmp_path / "lake").exists()


def test_a_missing_archive_is_reported_in_one_line(losslake: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    done = losslake("ingest", tmp_path / "notes.txt", "--lake", tmp_path / "lake")
    assert done.returncode == 1
    assert "notes.txt" in done.stderr


@pytest.mark.parametrize("other", ["--lake", "--engine"])
def test_sql_of_a_service_takes_neither_a_lake_nor_an_engine(losslake: Run, other: str) -> None:
    done = losslake("sql", "--url", "http://127.0.0.1:1", other, "x", "-c", "SELECT 1")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"give either {other} or --url, not both" in done.stderr


@pytest.mark.parametrize("format_", ["xml", ""])
@pytest.mark.parametrize("command", [("sql", "-c", "SELECT 1"), ("steps",), ("ledger",)])
def test_an_unknown_format_is_reported_with_the_known_ones(
    losslake: Run, command: tuple[str, ...], format_: str
) -> None:
    done = losslake(*command, "--format", format_)
    assert done.returncode == 2
    assert "'csv', 'json'" in done.stderr


def test_a_full_disk_is_named_and_an_unexpected_error_asks_for_a_report() -> None:
    assert (
        describe_error(OSError(errno.ENOSPC, "No space left on device", "/lake/x"))
        == "/lake/x: No space left on device"
    )
    assert describe_error(ValueError("odd\nmore")).startswith("internal error: ValueError: odd;")


def test_an_unexpected_error_is_one_line_and_a_traceback_with_debug(
    losslake: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(self: Lake, **_: bool) -> None:
        raise KeyError("odd")

    monkeypatch.setattr(Lake, "releases", fail)
    with pytest.raises(AssertionError, match="internal error"):
        losslake("releases")
    monkeypatch.setenv("LOSSLAKE_DEBUG", "1")
    with pytest.raises(KeyError, match="odd"):
        losslake("releases")


def test_a_withdrawal_by_a_user_without_a_name_asks_for_one(
    losslake: Run, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 2_000_000_011)
    done = losslake("withdraw", "root", "--reason", "none", "--lake", copy)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "--by" in done.stderr


def test_an_error_of_sql_shows_the_line_of_the_statement_with_a_caret_below_the_mistake(losslake: Run) -> None:
    shown = losslake("sql", "-c", "SELECT\n  1 + nothing").stderr
    message, line, caret = shown.splitlines()
    assert message.startswith("losslake: Binder Error")
    assert line.startswith("LINE 2: ")
    assert set(caret.strip()) == {"^"}
    assert caret.index("^") == line.index("nothing")


def test_ctrl_c_while_another_is_handled_is_reported_in_one_line(
    losslake: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("losslake_cli.main._with_command", lambda _: interrupted)
    done = losslake("releases")
    assert (done.returncode, done.stderr) == (130, "losslake: stopped\n")

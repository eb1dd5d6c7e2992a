"""The output of `losslake maintain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from tests.cli.conftest import Run
from tests.losslake.index.maintenance.lakes import ingest_study, ingest_study_killed, problems, stored


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Create a lake with three releases and the leftovers of a killed ingest."""
    folder = tmp_path_factory.mktemp("maintained")
    made = Lake.create(folder / "lake")
    ingest_study_killed(made, folder / "killed", 4.0)
    for value in (1.0, 2.0, 3.0):
        ingest_study(made, folder / f"logs{value}", value)
    return made


@pytest.mark.slow
def test_a_dry_run_reports_what_maintenance_then_does(other: Lake, losslake: Run) -> None:
    arguments = ("maintain", "--lake", other.folder, "--grace", "0s", "--keep", "2")
    before = stored(other)
    planned = losslake(*arguments, "--dry-run")
    assert planned.returncode == 0
    assert stored(other) == before
    done = losslake(*arguments)
    assert "unlisted 1 release (1)\n" in done.stdout
    assert "expired" in done.stdout
    lines = [("would unlist", "unlisted"), ("would delete", "deleted"), ("would expire", "expired"),
             ("would forget", "forgot")]  # fmt: skip
    text = planned.stdout
    for would, did in lines:
        text = text.replace(would, did)
    assert [line.split(" (")[0] for line in text.splitlines()] == [
        line.split(" (")[0] for line in done.stdout.splitlines()
    ]
    assert "loses its files" in done.stderr
    assert problems(other) == []
    again = losslake("maintain", "--lake", other.folder)
    assert (again.stdout, again.stderr) == ("deleted 0 files (0 bytes) that no listed release needs\n", "")


def test_releases_lists_unlisted_ones_only_with_all(other: Lake, losslake: Run) -> None:
    losslake("maintain", "--lake", other.folder, "--unlist", "1")
    listed = json.loads(losslake("releases", "--format", "json", "--lake", other.folder).stdout)
    assert [row["number"] for row in listed] == [3, 2]
    rows = json.loads(losslake("releases", "--all", "--format", "json", "--lake", other.folder).stdout)
    assert [(row["unlisted_at"] is not None, row["number"]) for row in rows] == [(False, 3), (False, 2), (True, 1)]
    assert "(unlisted 2" in losslake("releases", "--all", "--lake", other.folder).stdout
    opened = losslake("sql", "-c", "SELECT 1", "--release", "1", "--lake", other.folder)
    assert opened.returncode == 1
    assert "release 1 was unlisted on" in opened.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--grace", "soon"), "--grace must be a number with a unit, such as 7d, 12h, 30m or 0s, not 'soon'"),
        (("--grace", "7"), "--grace must be a number with a unit"),
        (("--unlist", "3"), "release 3 is the newest and can't be unlisted: unlist older ones"),
        (("--unlist", "7"), "there is no release 7: 'losslake releases' lists them"),
    ],
)
def test_an_invalid_option_is_reported_in_one_line(
    other: Lake, losslake: Run, arguments: tuple[str, ...], complaint: str
) -> None:
    done = losslake("maintain", "--lake", other.folder, *arguments)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_moved_lake_is_not_maintained(tmp_path: Path, losslake: Run) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest_study(lake, tmp_path / "logs", 1.0)
    lake.folder.rename(tmp_path / "elsewhere")
    done = losslake("maintain", "--lake", tmp_path / "elsewhere", "--grace", "0s")
    assert done.returncode == 1
    assert "was moved or copied" in done.stderr
    assert problems(Lake.open((tmp_path / "elsewhere").rename(tmp_path / "lake"))) == []

"""`losslake erase` says what it would erase, asks, and erases from every release."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.cli.conftest import Run
from tests.ingest.offers import unpacked
from tests.ingest.one_study import MAPPING, log

ARGUMENTS = ("erase", "c/d/m/o/8/1", "--reason", "a request", "--by", "ada", "--lake")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake.create(tmp_path / "lake")
    files = {"losslake.toml": MAPPING.encode(), "a.csv": log(0.5), "b.csv": log(0.4)}
    ingest(lake, [unpacked(tmp_path / "logs", files)])
    return lake


def test_a_dry_run_lists_the_trials_and_changes_nothing(losslake: Run, lake: Lake) -> None:
    shown = losslake(*ARGUMENTS, lake.folder, "--dry-run").stdout.splitlines()
    assert shown == ["would erase 1 trial from 1 release:", "  c/d/m/o/8/1"]
    assert lake.release().n_trials == 2


def test_trials_are_erased_after_a_yes_and_verify_passes(losslake: Run, lake: Lake) -> None:
    losslake(*ARGUMENTS, lake.folder, "--yes")
    assert lake.release(1).n_trials == 1
    losslake("verify", "--lake", lake.folder)
    assert "erased" in losslake("ledger", "--outcome", "erased", "--lake", lake.folder).stdout

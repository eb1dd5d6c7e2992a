"""An ingest builds the serving files of its release before publishing it, if a service uses those of the one before."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from losslake.index import serving
from losslake.index.serving import build_if_used, is_built, serving_file
from losslake.index.shared import SECONDS_SAFE, is_in_use
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken
from losslake_schema.release import Release
from tests.ingest.offers import TrialOffer, study_files, unpacked


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with an open release."""
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "first", study_files({1: TrialOffer()}))])
    ReleaseView.open(lake, lake.release())
    return lake


def next_release(lake: Lake, tmp_path: Path) -> Release:
    files = study_files({1: TrialOffer()}, 16)
    ingest(lake, [unpacked(tmp_path / "second", files)], build=build_if_used)
    return lake.release(2)


def test_the_next_release_is_dated_after_its_serving_files(lake: Lake, tmp_path: Path) -> None:
    first = serving_file(lake, lake.release())
    os.utime(first, (time.time() - 10, time.time() - 10))
    release = next_release(lake, tmp_path)
    assert is_built(lake, release)
    built = serving_file(lake, release).stat()
    assert built.st_mtime == first.stat().st_mtime  # only a service marks it as used
    assert release.created_at.timestamp() >= built.st_ctime
    assert len(ReleaseView.open(lake, release).workloads) == 1


def test_without_a_service_nothing_is_built(lake: Lake, tmp_path: Path) -> None:
    first, before = serving_file(lake, lake.release()), time.time() - SECONDS_SAFE - 60
    os.utime(first, (before, before))
    assert not is_in_use(first)
    assert not is_built(lake, next_release(lake, tmp_path))


def test_a_release_is_published_if_its_serving_files_cannot_be_built(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise LakeBroken("a data file is missing")

    monkeypatch.setattr(serving, "open_workloads", fail)
    assert next_release(lake, tmp_path).number == 2
    assert "services have to build the serving files of release 2 (a data file is missing)" in caplog.text

"""All files of a release are synced to disk before it is published, and no others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from losslake.lake import publishing
from losslake.lake.lake import Lake
from losslake.lake.publishing import publish_release
from losslake_ingest.run import ingest
from losslake_schema.release import Release
from tests.ingest.offers import TrialOffer, study_files, unpacked


def test_a_release_s_files_and_their_folders_are_synced_before_it_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake.create(tmp_path / "lake")
    made_before = below(lake)
    synced: dict[Path, int] = {}

    def check(*arguments: Any) -> Release | None:
        new = {path for path in below(lake) - made_before if not path.name.startswith("catalog.db")}
        assert len([path for path in new if path.suffix in (".parquet", ".avro", ".json")]) > 20
        assert not [path for path in new if path not in synced]
        assert not [path for path in new if path.is_file() and path.stat().st_size != synced[path]]
        assert all(lake.folder in (path, *path.parents) for path in synced)
        return publish_release(*arguments)

    def remember(opened: int) -> None:
        path = Path(f"/proc/self/fd/{opened}").readlink()
        synced[path] = os.fstat(opened).st_size

    monkeypatch.setattr(publishing, "publish_release", check)
    monkeypatch.setattr(os, "fsync", remember)
    monkeypatch.setattr(os, "sync", lambda: pytest.fail("the whole machine is waited for"))
    assert ingest(lake, [unpacked(tmp_path / "logs", study_files({1: TrialOffer()}))]).published


def below(lake: Lake) -> set[Path]:
    return set(lake.folder.rglob("*"))

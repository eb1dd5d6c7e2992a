"""A lake whose folder was moved is adopted where it is, with the same releases."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.releases import rewriting
from losslake_ingest.releases.rewriting import adopt_moved
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken
from tests.ingest.offers import TrialOffer, study_files, unpacked


@pytest.fixture
def moved(tmp_path: Path) -> Lake:
    """Return a lake of two releases whose folder was moved."""
    lake = Lake.create(tmp_path / "old")
    ingest(lake, [unpacked(tmp_path / "logs", study_files({1: TrialOffer(), 2: TrialOffer()}))])
    ingest(lake, [unpacked(tmp_path / "more", study_files({3: TrialOffer()}, 128))])
    shutil.move(lake.folder, tmp_path / "new")
    return Lake.open(tmp_path / "new")


def test_an_adopted_lake_has_the_same_releases_and_takes_ingests(moved: Lake, tmp_path: Path) -> None:
    before = moved.releases()
    with pytest.raises(LakeBroken, match="losslake init --adopt"):
        moved.check_location()
    lake = adopt_moved(moved.folder)
    after = lake.releases()
    assert [(r.number, r.created_at, r.notes, r.content_digest, r.n_measurements) for r in after] == [
        (r.number, r.created_at, r.notes, r.content_digest, r.n_measurements) for r in before
    ]
    assert [set(lake.files(r)) for r in after] == [set(moved.files(r)) for r in before]
    assert [verify(lake, release).problems for release in after] == [(), ()]
    ingest(lake, [unpacked(tmp_path / "most", study_files({4: TrialOffer()}, 256))])
    assert lake.release().n_studies == before[0].n_studies + 1
    assert verify(lake, lake.release()).problems == ()


def test_an_interrupted_adoption_leaves_the_lake_as_it_was(moved: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    before = moved.releases()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "_switch", killed)
        with pytest.raises(KeyboardInterrupt):
            adopt_moved(moved.folder)
    assert Lake.open(moved.folder).releases() == before
    assert not moved.is_in_place()
    assert adopt_moved(moved.folder).is_in_place()


def test_a_lake_without_a_data_file_is_not_adopted(moved: Lake) -> None:
    (moved.folder / moved.files(moved.release())[0].path).unlink()
    with pytest.raises(LakeBroken, match="is missing"):
        adopt_moved(moved.folder)

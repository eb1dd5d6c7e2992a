"""Iceberg metadata grows with the changes, not with the number of releases."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyiceberg.manifest import ManifestFile
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from losslake.lake import catalog as iceberg_tables
from losslake.lake import iceberg
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.release import Release
from losslake_schema.tables import TABLES
from tests.ingest.offers import TrialOffer, study_files, unpacked

RELEASES = 3
pytestmark = pytest.mark.usefixtures("lakes_are_created")


def test_manifests_and_metadata_grow_with_the_changes_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(iceberg_tables._TABLE_PROPERTIES, "write.metadata.previous-versions-max", "2")
    lake = Lake.create(tmp_path / "lake")
    for number in range(1, RELEASES + 1):
        trial = TrialOffer(rows=[f"0,0.{number}"])
        files = study_files({1: trial}) | study_files({1: TrialOffer()}, 16)
        assert ingest(lake, [unpacked(tmp_path / "logs", files)]).release == number
    for name in ("trials", "measurements"):
        assert len(manifests(lake, name)) == 1
        assert len(list((lake.folder / "warehouse" / "losslake" / name).glob("metadata/*.metadata.json"))) == 3
    for number in range(1, RELEASES + 1):
        assert_has_the_files_of(lake, lake.release(number))
        rows = lake.table("trials").scan(snapshot_id=lake.release(number).snapshots["trials"]).to_arrow()
        assert rows.num_rows == 2


def test_a_manifest_stays_until_one_of_its_files_is_removed(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    for batch_sizes in ((8, 16), (32, 64)):
        offers = [study_files({1: TrialOffer()}, batch_size) for batch_size in batch_sizes]
        ingest(lake, [unpacked(tmp_path / f"logs{batch_sizes}", dict(ChainMap(*offers)))])
    second, first = manifests(lake, "measurements")
    ingest(lake, [unpacked(tmp_path / "corrected", study_files({1: TrialOffer(rows=["0,0.25"])}, 16))])
    changed, kept = manifests(lake, "measurements")
    assert kept == second
    table, release = lake.table("measurements"), lake.release()
    entries = changed.fetch_manifest_entry(table.io, discard_deleted=False)
    by_status = {(entry.status.name, entry.data_file.partition[4], entry.snapshot_id) for entry in entries}
    was = lake.release(1).snapshots["measurements"]
    now = release.snapshots["measurements"]
    assert by_status == {("ADDED", 16, now), ("DELETED", 16, now), ("EXISTING", 8, was)}
    assert [entry.sequence_number for entry in entries if entry.status.name == "EXISTING"] == [first.sequence_number]
    for each in lake.releases():
        assert_has_the_files_of(lake, each)
    summary = table.current_snapshot()
    assert summary is not None
    assert summary.summary is not None
    assert (summary.summary["total-data-files"], summary.summary["total-records"]) == ("4", str(release.n_measurements))


def manifests(lake: Lake, name: str) -> list[ManifestFile]:
    table = lake.table(name)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return snapshot.manifests(table.io)


def assert_has_the_files_of(lake: Lake, release: Release) -> None:
    """Check that the snapshot of measurements has the files of the release."""
    stored = {file.path for file in lake.files(release) if file.table == "measurements"}
    scan = lake.table("measurements").scan(snapshot_id=release.snapshots["measurements"])
    assert {p.file.file_path.removeprefix(f"file://{lake.folder}/") for p in scan.plan_files()} == stored


class ConnectionLost(Exception):
    """A lost connection, as a PostgreSQL driver reports it."""

    sqlstate = "08006"


def test_new_tables_are_added_once_if_the_response_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake.create(tmp_path / "lake")
    assert lake.table_versions() == {}
    commit, lost = Session.commit, list[Mapping[str, str]]()

    def losing(session: Session) -> None:
        commit(session)
        if not lost:
            lost.append(lake.table_versions())
            raise OperationalError("", {}, ConnectionLost())

    monkeypatch.setattr(Session, "commit", losing)
    assert ingest(lake, [unpacked(tmp_path / "logs", study_files({1: TrialOffer()}))]).release == 1
    assert list(lake.table_versions()) == list(TABLES)
    assert lost == [lake.table_versions()]


def test_versions_are_numbered_on_from_a_metadata_file_that_another_engine_named(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "logs", study_files({1: TrialOffer()}))])
    location = Path(lake.table_versions()["trials"].removeprefix("file://"))
    others = location.with_name("v3.metadata.json")
    location.rename(others)
    with lake.engine.begin() as connection:
        iceberg.replace_versions(connection, {"trials": f"file://{others}"})
    assert ingest(lake, [unpacked(tmp_path / "more", study_files({1: TrialOffer()}, 16))]).release == 2
    assert Path(lake.table_versions()["trials"]).name.startswith("00001-")
    assert lake.table("trials").scan().to_arrow().num_rows == 2

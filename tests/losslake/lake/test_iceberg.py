"""Iceberg metadata grows with the changes, not with the number of releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableResponse, Transaction
from pyiceberg.table.update.snapshot import ManageSnapshots
from sqlalchemy.exc import OperationalError

from losslake.lake import catalog as iceberg_tables
from losslake.lake.iceberg import QuickTransaction
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.tables import TABLES
from tests.ingest.offers import TrialOffer, study_files, unpacked

RELEASES = 3
pytestmark = pytest.mark.usefixtures("lakes_are_created")


@pytest.mark.slow
def test_removed_files_leave_the_manifests_and_every_release_reads_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(iceberg_tables._TABLE_PROPERTIES, "write.metadata.previous-versions-max", "2")
    lake = Lake.create(tmp_path / "lake")
    for number in range(1, RELEASES + 1):
        trial = TrialOffer(rows=[f"0,0.{number}"])
        files = study_files({1: trial}) | study_files({1: TrialOffer()}, 16)
        assert ingest(lake, [unpacked(tmp_path / "logs", files)]).release == number
    for name, live in (("trials", 1), ("measurements", 2)):
        table = lake.table(name)
        snapshot = table.current_snapshot()
        assert snapshot is not None
        manifests = snapshot.manifests(table.io)
        assert len([m for m in manifests if m.has_added_files() or m.has_existing_files()]) == live
        assert len(manifests) == live + 1
        assert len(list((lake.folder / "warehouse" / "losslake" / name).glob("metadata/*.metadata.json"))) == 3
    for number in range(1, RELEASES + 1):
        rows = lake.table("trials").scan(snapshot_id=lake.release(number).snapshots["trials"]).to_arrow()
        stored = {file.path for file in lake.files(lake.release(number)) if file.table == "measurements"}
        scan = lake.table("measurements").scan(snapshot_id=lake.release(number).snapshots["measurements"])
        assert rows.num_rows == 2
        assert {p.file.file_path.removeprefix(f"file://{lake.folder}/") for p in scan.plan_files()} == stored


def test_a_quick_transaction_has_the_metadata_of_a_plain_one(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "logs", study_files({1: TrialOffer()}))])
    table = lake.table("trials")
    head = table.metadata.current_snapshot_id
    assert head is not None
    seen = []
    for transaction in (Transaction(table), QuickTransaction(table)):
        ManageSnapshots(transaction).create_tag(head, "one").create_branch(head, "two").commit()
        assert transaction.table_metadata.refs["two"].snapshot_id == head
        ManageSnapshots(transaction).remove_branch("two").commit()
        seen.append(transaction.table_metadata.model_copy(update={"last_updated_ms": 0}))
    assert seen[0] == seen[1]
    assert "two" not in seen[0].refs
    assert table.metadata.refs.keys() == {"main", "release-1"}


class ConnectionLost(Exception):
    """A lost connection, as a PostgreSQL driver reports it."""

    sqlstate = "08006"


def test_a_table_is_created_once_if_the_response_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = SqlCatalog.commit_table
    lost: list[CommitTableResponse] = []

    def losing(*arguments: Any) -> CommitTableResponse:
        answer = commit(*arguments)
        if not lost:
            lost.append(answer)
            raise OperationalError("", {}, ConnectionLost())
        return answer

    monkeypatch.setattr(SqlCatalog, "commit_table", losing)
    lake = Lake.create(tmp_path / "lake")
    assert len(lost) == 1
    assert {name: len(lake.table(name).metadata.snapshots) for name in TABLES} == dict.fromkeys(TABLES, 1)

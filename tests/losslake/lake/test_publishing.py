"""A release and its entries of the ledger are one transaction, whatever their number."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from losslake.lake import publishing
from losslake.lake.lake import Lake
from losslake.lake.publishing import save_ledger
from losslake_ingest.run import ingest
from losslake_schema.database import LedgerEntry
from losslake_schema.tables import TABLES
from tests.ingest.offers import TrialOffer, study_files, unpacked
from tests.without_history import history_is_written

AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Entries:
    """Quarantined items; `most_alive`: entries that were in memory at once."""

    n: int
    most_alive: int = 0
    alive: weakref.WeakSet[LedgerEntry] = field(default_factory=weakref.WeakSet)

    def __iter__(self) -> Iterator[LedgerEntry]:
        for number in range(self.n):
            entry = LedgerEntry(
                offered_at=AT, source="logs", path=f"{number}.csv", format="csv", outcome="quarantined", line=number
            )
            self.alive.add(entry)
            self.most_alive = max(self.most_alive, len(self.alive))
            yield entry


def test_entries_are_stored_in_order_and_are_not_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "_ENTRIES_PER_BATCH", 10)
    lake, entries = Lake.create(tmp_path / "lake"), Entries(95)
    save_ledger(lake, entries)
    assert [entry.line for entry in lake.ledger()] == list(range(95))[::-1]
    assert entries.most_alive < 5


@pytest.mark.parametrize("is_committed", [False, True])
def test_entries_of_a_lost_connection_are_stored_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    lake, commit, losses = Lake.create(tmp_path / "lake"), Session.commit, iter([True])

    def lose(session: Session) -> None:
        if is_committed:
            commit(session)
        if next(losses, False):
            raise OperationalError("COMMIT", {}, Exception("server closed the connection"), connection_invalidated=True)
        if not is_committed:
            commit(session)

    monkeypatch.setattr(Session, "commit", lose)
    save_ledger(lake, Entries(3))
    monkeypatch.undo()
    assert [entry.path for entry in lake.ledger()] == ["2.csv", "1.csv", "0.csv"]


def test_release_without_versions_of_tables_is_the_same_otherwise(tmp_path: Path) -> None:
    """Tests that are about something else publish such releases."""
    files_of_two_studies = study_files({1: TrialOffer(), 2: TrialOffer()}) | study_files({1: TrialOffer()}, 16)
    logs, lakes = unpacked(tmp_path / "logs", files_of_two_studies), list[Lake]()
    for is_written in (True, False):
        lake = Lake.create(tmp_path / f"lake{is_written}")
        with history_is_written(is_written):
            ingest(lake, [logs])
            ingest(lake, [unpacked(tmp_path / "corrected", study_files({1: TrialOffer(rows=["0,0.25"])}, 16))])
        lakes.append(lake)
    for number in (1, 2):
        with_versions, without = (lake.release(number) for lake in lakes)
        assert (with_versions.snapshots.keys(), without.snapshots) == (TABLES.keys(), {})
        own = ("created_at", "manifest", "manifest_sha256", "snapshots")
        assert {**vars(with_versions), **{name: getattr(without, name) for name in own}} == vars(without)
        files = [[(file.table, file.sha256, file.rows) for file in lake.files(lake.release(number))] for lake in lakes]
        assert sorted(files[0]) == sorted(files[1])
    ledgers = [[(entry.path, entry.outcome, entry.release) for entry in lake.ledger()] for lake in lakes]
    assert ledgers[0] == ledgers[1]

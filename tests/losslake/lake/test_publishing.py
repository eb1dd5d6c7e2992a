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
from losslake_schema.database import LedgerEntry

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

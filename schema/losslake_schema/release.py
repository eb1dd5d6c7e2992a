"""A release, as readers have it: a value without SQLAlchemy, whose import takes longer than opening a lake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(frozen=True, kw_only=True)
class Release:
    """One immutable, citable version of the whole dataset.

    unlisted_at: when the release was unlisted. Then it can't be opened, and its files may be deleted; it stays known.
    snapshots: the id of the Iceberg snapshot of each table; a table that was never written has none.
    """

    number: int
    created_at: datetime
    notes: str = ""
    content_digest: str = ""
    manifest: str = ""
    manifest_sha256: str = ""
    n_studies: int = 0
    n_trials: int = 0
    n_evaluations: int = 0
    n_measurements: int = 0
    unlisted_at: datetime | None = None
    snapshots: Mapping[str, int] = field(default_factory=dict, hash=False)


def utc(value: str | datetime) -> datetime:
    """Return a stored time in UTC. SQLite stores text without a zone, and PostgreSQL may return another zone."""
    time = datetime.fromisoformat(value) if isinstance(value, str) else value
    return time.astimezone(UTC) if time.tzinfo is not None else time.replace(tzinfo=UTC)

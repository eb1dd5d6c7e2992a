"""Releases and the ledger: our own tables in the catalog's SQL database."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import BigInteger, DateTime, ForeignKey, Integer, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite keeps no time zone, so it is put back on reading, and PostgreSQL may have another."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: object) -> datetime | None:
        if value is None or value.tzinfo is not None:
            return value.astimezone(UTC) if value is not None else None
        return value.replace(tzinfo=UTC)


class LogText(TypeDecorator[str]):
    """Text that a log may have had a part in; PostgreSQL takes no NUL, so it is shown."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: object) -> str | None:
        return value.replace("\0", "\\x00") if value is not None else None


class Base(DeclarativeBase):
    pass


class Release(Base):
    """One immutable, citable version of the whole dataset; the INSERT of its row publishes it.

    unlisted_at: when it was taken out of the list, from when on it can't be opened and its files may go. Its row stays.
    """

    __tablename__ = "losslake_releases"

    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    notes: Mapped[str] = mapped_column(LogText)
    content_digest: Mapped[str] = mapped_column(String(64))
    manifest: Mapped[str] = mapped_column(Text)
    manifest_sha256: Mapped[str] = mapped_column(String(64))
    n_studies: Mapped[int] = mapped_column(BigInteger)
    n_trials: Mapped[int] = mapped_column(BigInteger)
    n_evaluations: Mapped[int] = mapped_column(BigInteger)
    n_measurements: Mapped[int] = mapped_column(BigInteger)
    unlisted_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    snapshots: Mapped[list[ReleaseSnapshot]] = relationship(lazy="selectin", order_by="ReleaseSnapshot.table")

    def snapshot_of(self, table: str) -> int | None:
        """The Iceberg snapshot of `table` in this release; None while the table has never been written."""
        return next((s.snapshot_id for s in self.snapshots if s.table == table), None)


class ReleaseSnapshot(Base):
    """The snapshot of one Iceberg table that a release consists of."""

    __tablename__ = "losslake_release_snapshots"

    release: Mapped[int] = mapped_column(ForeignKey(Release.number), primary_key=True)
    table: Mapped[str] = mapped_column(String(64), primary_key=True)
    snapshot_id: Mapped[int] = mapped_column(BigInteger)


class LedgerEntry(Base):
    """What became of something that was offered: a whole source, one of its studies, or a quarantined file.

    `path` is empty for the source as a whole. The files of stored trials are named, with their sha256, in `trials`.
    """

    __tablename__ = "losslake_ledger"

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)
    offered_at: Mapped[datetime] = mapped_column(UtcDateTime)
    source: Mapped[str] = mapped_column(LogText, index=True)
    path: Mapped[str] = mapped_column(LogText)
    sha256: Mapped[str | None] = mapped_column(String(64))
    format: Mapped[str] = mapped_column(String(64))
    study: Mapped[str | None] = mapped_column(LogText)
    outcome: Mapped[str] = mapped_column(String(16), index=True)
    rule: Mapped[str | None] = mapped_column(String(64))
    line: Mapped[int | None] = mapped_column(BigInteger)
    reason: Mapped[str | None] = mapped_column(LogText)
    release: Mapped[int | None] = mapped_column(Integer)


class RememberedSource(Base):
    """A source that was taken in whole, and what came of it: its bytes offered again need not be read.

    manner: digest of the place and of how it was read. told: JSON, as `losslake_ingest.memory` keeps it.
    """

    __tablename__ = "losslake_remembered_sources"

    manner: Mapped[str] = mapped_column(String(64), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))
    told: Mapped[str] = mapped_column(LogText)


OUTCOMES = ("ingested", "unchanged", "quarantined")

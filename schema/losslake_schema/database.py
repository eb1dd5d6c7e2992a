"""The tables of LossLake in the catalog's SQL database: releases, ledger and remembered sources."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, DateTime, ForeignKey, Integer, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

from losslake_schema.release import Release, utc


class UtcDateTime(TypeDecorator[datetime]):
    """A time in UTC. SQLite stores no time zone and PostgreSQL may return another one: both are converted on read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: object) -> datetime | None:
        """Return the stored time in UTC."""
        return utc(value) if value is not None else None


class LogText(TypeDecorator[str]):
    """Text that may contain text from a log. PostgreSQL rejects NUL characters, so they are escaped."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: object) -> str | None:
        """Return the text with NUL characters escaped."""
        return value.replace("\0", "\\x00") if value is not None else None


class Base(DeclarativeBase):
    """Base class of the ORM models."""


class ReleaseRow(Base):
    """The row of a release, whose INSERT publishes it; `losslake_schema.release` says what its columns are."""

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

    @staticmethod
    def of(release: Release) -> ReleaseRow:
        """Return the row of a release."""
        snapshots = [ReleaseSnapshot(table=table, snapshot_id=number) for table, number in release.snapshots.items()]
        return ReleaseRow(**{**vars(release), "snapshots": snapshots})


class ReleaseSnapshot(Base):
    """The snapshot of one Iceberg table in a release."""

    __tablename__ = "losslake_release_snapshots"

    release: Mapped[int] = mapped_column(ForeignKey(ReleaseRow.number), primary_key=True)
    table: Mapped[str] = mapped_column(String(64), primary_key=True)
    snapshot_id: Mapped[int] = mapped_column(BigInteger)


class LedgerEntry(Base):
    """The outcome for a source, a study of it, a quarantined file, or for a withdrawn, moved or placed trial.

    `path` is empty for a whole source; of a withdrawn or restored trial it is its name, and `source` is who did it; of
    a moved trial it is its former name. Of a placed trial, `sha256` is the digest of the full path of its log, and
    `reason` its path within the source; of a withdrawn or restored run of a file with several, it is the digest of the
    file's SHA-256, `#` and the run's name. The table `trials` names the files of stored trials, with their sha256.
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
    """A source that was ingested completely, and the result. The same bytes need not be read again.

    key: digest of the location and of how it was read. report: JSON, as written by `losslake_ingest.pipeline.memory`.
    """

    __tablename__ = "losslake_remembered_sources"

    key: Mapped[str] = mapped_column("manner", String(64), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))
    report: Mapped[str] = mapped_column("told", LogText)

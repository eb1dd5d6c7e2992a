"""The tables of contributions in the lake's database. They exist only in lakes that take contributions."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Literal

from sqlalchemy import (
    BigInteger,
    Boolean,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from losslake.record.layout import FORMAT
from losslake_contributions.protocol.contributions import Place
from losslake_schema.database import LogText, UtcDateTime
from losslake_schema.migrating import Chain

CHAIN = Chain("losslake_contributions.store.migrations", "losslake_contributions_version")
NEWEST = "0008"
"""The version that this LossLake needs: the last one in `store/migrations/versions`."""

# The run.json of a run that was erased: a valid one that says nothing.
ERASED_FACTS = json.dumps(
    {
        "format": FORMAT, "collection": "erased", "dataset": "erased", "model": "erased", "optimizer": "erased",
        "batch_size": 1, "licence": None, "started_at": None, "parameters": {},
    },
    indent=1,
)  # fmt: skip


class Base(DeclarativeBase):
    """Base class of the ORM models."""


class Contributor(Base):
    """Someone who may send runs or review them. n_writes: changed by every writing transaction, which locks the row."""

    __tablename__ = "losslake_contributors"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    name: Mapped[str] = mapped_column(LogText)
    orcid: Mapped[str | None] = mapped_column(String(19), unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    n_writes: Mapped[int] = mapped_column(BigInteger, default=0)


class Token(Base):
    """A token of a contributor. sha256: of its secret, which isn't stored. scopes: separated by spaces.

    runs, segments, bytes, document_bytes: what was sent with it, documents apart; most_…: what may be. parent: the
    token of the account with which a person made it; None for those that the operator made.
    """

    __tablename__ = "losslake_contribution_tokens"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    contributor: Mapped[str] = mapped_column(ForeignKey(Contributor.id), index=True)
    sha256: Mapped[str] = mapped_column(String(64))
    scopes: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    runs: Mapped[int] = mapped_column(BigInteger, default=0)
    segments: Mapped[int] = mapped_column(BigInteger, default=0)
    bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    most_runs: Mapped[int] = mapped_column(BigInteger)
    most_segments: Mapped[int] = mapped_column(BigInteger)
    most_bytes: Mapped[int] = mapped_column(BigInteger)
    document_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    most_document_bytes: Mapped[int] = mapped_column(BigInteger)
    parent: Mapped[str | None] = mapped_column(String(16), index=True)
    owner: Mapped[Contributor] = relationship(viewonly=True)

    @property
    def state(self) -> Literal["active", "expired", "revoked"]:
        """The state now."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at <= datetime.now(UTC) else "active"


class Account(Base):
    """Someone who signs in with a provider: by issuer and subject, never by name or address.

    token: of its sessions. It has the scope `account` and no quota, and nobody has its secret. Revoked, it closes the
    account.
    """

    __tablename__ = "losslake_contribution_accounts"

    issuer: Mapped[str] = mapped_column(String(255), primary_key=True)
    subject: Mapped[str] = mapped_column(String(255), primary_key=True)
    contributor: Mapped[str] = mapped_column(ForeignKey(Contributor.id), index=True)
    token: Mapped[str] = mapped_column(ForeignKey(Token.id), unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)


class UsedSignIn(Base):
    """A sign-in that has succeeded, and can't be repeated. sha256: of its state."""

    __tablename__ = "losslake_contribution_used_sign_ins"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcDateTime)


class Submission(Base):
    """Runs that are submitted for review together. request: JSON, a `SubmissionRequest` without its runs.

    sha256: of the whole request as it was sent, by which the same one is recognized. reviewer: who changed the state.
    split_from: the submission that its runs were in before. report: JSON, that of the checks when it was accepted.
    """

    __tablename__ = "losslake_submissions"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    contributor: Mapped[str] = mapped_column(ForeignKey(Contributor.id), index=True)
    state: Mapped[str] = mapped_column(String(16), index=True)
    request: Mapped[str] = mapped_column(Text)
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    submitted_at: Mapped[datetime] = mapped_column(UtcDateTime)
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)
    reason: Mapped[str | None] = mapped_column(LogText)
    reviewer: Mapped[str | None] = mapped_column(LogText)
    release: Mapped[int | None] = mapped_column(Integer)
    split_from: Mapped[str | None] = mapped_column(String(36), index=True)
    report: Mapped[str | None] = mapped_column(LogText)


class SubmissionRun(Base):
    """A run of a submission, also after that was returned or withdrawn, and the run was deleted as unfinished."""

    __tablename__ = "losslake_submission_runs"

    submission: Mapped[str] = mapped_column(ForeignKey(Submission.id), primary_key=True)
    contribution: Mapped[str] = mapped_column(String(36), primary_key=True, index=True)


class Link(Base):
    """A link that shows a draft or a live run to whoever has it. subject: the submission, or the run.

    token: for which it was made, and with which it ends. Its secret is an HMAC of the id, and isn't stored.
    """

    __tablename__ = "losslake_contribution_links"
    __table_args__ = (
        Index(
            "ux_losslake_contribution_links_subject", "kind", "subject", "token", unique=True,
            sqlite_where=text("revoked_at IS NULL"), postgresql_where=text("revoked_at IS NULL"),
        ),
    )  # fmt: skip

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    kind: Mapped[str] = mapped_column(String(8))
    subject: Mapped[str] = mapped_column(String(36))
    token: Mapped[str] = mapped_column(ForeignKey(Token.id), index=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)

    @property
    def seconds_left(self) -> float:
        """The seconds until it expires; 0 if it has."""
        return max(0.0, (self.expires_at - datetime.now(UTC)).total_seconds())


class PageSession(Base):
    """A browser that has signed in. sha256: of the cookie, which isn't stored. It ends with its token."""

    __tablename__ = "losslake_contribution_sessions"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    token: Mapped[str] = mapped_column(ForeignKey(Token.id), index=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


class AuditEntry(Base):
    """A decision, which is never changed or deleted. `people/audit.py` says what the columns are."""

    __tablename__ = "losslake_contribution_audit"

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    action: Mapped[str] = mapped_column(String(32))
    subject: Mapped[str] = mapped_column(String(64))
    token: Mapped[str | None] = mapped_column(String(16))
    contributor: Mapped[str | None] = mapped_column(String(36))
    user: Mapped[str | None] = mapped_column("os_user", LogText)
    origin: Mapped[str] = mapped_column(LogText)
    detail: Mapped[str] = mapped_column(LogText)


class Channel(Base):
    """A webhook or an e-mail address that is told of a contributor's runs. id: another one for each address.

    events: separated by spaces. base: the address of the service, for links. confirmed_at: None while nobody has
    confirmed the e-mail address. next_at: when it is due; a process that delivers to it moves that. failures: in a row.
    """

    __tablename__ = "losslake_contribution_channels"
    __table_args__ = (UniqueConstraint("contributor", "kind"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    contributor: Mapped[str] = mapped_column(ForeignKey(Contributor.id))
    kind: Mapped[str] = mapped_column(String(8))
    address: Mapped[str] = mapped_column(Text)
    events: Mapped[str] = mapped_column(String(100))
    base: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    confirmed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    next_at: Mapped[datetime] = mapped_column(UtcDateTime)
    failures: Mapped[int] = mapped_column(Integer, default=0)


class Delivery(Base):
    """A notification for a channel, written in the transaction of its event. subject: the submission or the run.

    occasion: tells apart events that a subject may have several times. detail: what only the event knows.
    """

    __tablename__ = "losslake_contribution_deliveries"
    __table_args__ = (UniqueConstraint("channel", "event", "subject", "occasion"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    channel: Mapped[str] = mapped_column(ForeignKey(Channel.id))
    event: Mapped[str] = mapped_column(String(16))
    subject: Mapped[str] = mapped_column(String(36))
    occasion: Mapped[str] = mapped_column(String(40))
    detail: Mapped[str] = mapped_column(LogText)
    state: Mapped[str] = mapped_column(String(16), index=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)
    tries: Mapped[int] = mapped_column(Integer, default=0)
    error: Mapped[str | None] = mapped_column(LogText)


class Contribution(Base):
    """A run. facts: its run.json. end: JSON, a `Finish`, once it is finished.

    submission: that it is in now: one that is submitted, being accepted or accepted. seen_at: the last sign of life of
    a run that is sent live. is_silent: it was finished by the service, as there was none any more.
    """

    __tablename__ = "losslake_contributions"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    contributor: Mapped[str] = mapped_column(ForeignKey(Contributor.id), index=True)
    token: Mapped[str] = mapped_column(ForeignKey(Token.id))
    facts: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    end: Mapped[str | None] = mapped_column("finish", Text)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    segments: Mapped[int] = mapped_column(Integer, default=0)
    bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    submission: Mapped[str | None] = mapped_column(ForeignKey(Submission.id), index=True)
    seen_at: Mapped[datetime | None] = mapped_column(UtcDateTime, index=True)
    is_silent: Mapped[bool] = mapped_column(Boolean, default=False)

    @property
    def state(self) -> Literal["open", "finished"]:
        """Finished once it has an end, until it goes on."""
        return "open" if self.end is None else "finished"

    @property
    def is_erased(self) -> bool:
        """True for the tombstone of a run."""
        return self.facts == ERASED_FACTS


class OfSegment:
    """Mixin of rows about a segment of a run."""

    contribution: Mapped[str] = mapped_column(ForeignKey(Contribution.id), primary_key=True)
    attempt: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    n: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)

    @property
    def place(self) -> Place:
        """The place of the segment in its run."""
        return self.attempt, self.n


class HeldSegment(OfSegment, Base):
    """A segment of a run. bytes, sha256: of its JSON lines. path: of its file in the store, compressed with zstd.

    is_partial: made of the pieces of a run that fell silent; its contributor may send the whole one in its place.
    """

    __tablename__ = "losslake_contribution_segments"

    from_step: Mapped[int | None] = mapped_column(BigInteger)
    bytes: Mapped[int] = mapped_column(Integer)
    sha256: Mapped[str] = mapped_column(String(64))
    path: Mapped[str] = mapped_column(Text)
    received_at: Mapped[datetime] = mapped_column(UtcDateTime)
    is_partial: Mapped[bool] = mapped_column(Boolean, default=False)


class OpenSegment(OfSegment, Base):
    """A segment that is still being written, of which pieces are held.

    bytes: of their JSON lines. charged: bytes that the pieces count in the quota until the segment has a file.
    """

    __tablename__ = "losslake_contribution_open_segments"

    from_step: Mapped[int | None] = mapped_column(BigInteger)
    bytes: Mapped[int] = mapped_column(Integer)
    charged: Mapped[int] = mapped_column(BigInteger)


class Piece(OfSegment, Base):
    """Whole JSON lines of an open segment, from a byte on. lines: compressed with zstd. size: bytes of these lines."""

    __tablename__ = "losslake_contribution_pieces"

    offset: Mapped[int] = mapped_column("first_byte", Integer, primary_key=True, autoincrement=False)
    size: Mapped[int] = mapped_column(Integer)
    lines: Mapped[bytes] = mapped_column(LargeBinary)

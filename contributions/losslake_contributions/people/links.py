"""The records of links: made when a link is first shown, looked up with each request, revoked by their owner."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, delete, select, update
from sqlalchemy.orm import Session

from losslake.lake.connecting import SECONDS_TO_WRITE, with_retries
from losslake_contributions.people import audit, quotas
from losslake_contributions.people.signed_links import Kind
from losslake_contributions.people.signing_key import SigningKey
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Link, Token

DAYS = 30
PAGE = 100
# For the entry of a revoked link in the log of decisions, so that the log can't be filled without end.
_BYTES_PER_REVOCATION = 500


def _is_valid(now: datetime | BindParameter[datetime]) -> ColumnElement[bool]:
    """Return the condition for valid links, in queries that join their tokens."""
    is_token = and_(Token.revoked_at.is_(None), Token.expires_at > now)
    return and_(is_token, Link.revoked_at.is_(None), Link.expires_at > now)


# Made once: to build them for each request takes time.
_VALID_BY_ID = (
    select(Link)
    .join(Token, Token.id == Link.token)
    .where(Link.id == bindparam("link"), Link.kind == bindparam("kind"), _is_valid(bindparam("now")))
)
_LATEST = select(Link).where(
    Link.kind == bindparam("kind"),
    Link.subject == bindparam("subject"),
    Link.token == bindparam("token"),
    Link.revoked_at.is_(None),
)


def find_link(database: Database, kind: Kind, link: str) -> Link | None:
    """Return a link by its id; None if there is none, it has expired or was revoked, or its token was."""
    values = {"kind": kind, "link": link, "now": datetime.now(UTC)}
    return database.read(lambda session: _detached(session, session.scalar(_VALID_BY_ID, values)))


def link_to(database: Database, kind: Kind, subject: str, identity: Identity) -> Link:
    """Return the valid link of a token to a draft or a run, and make it if there is none."""
    values = {"kind": kind, "subject": subject, "token": identity.token}
    row = database.read(lambda session: _detached(session, session.scalar(_LATEST, values)))
    if row is not None and row.seconds_left:
        return row

    def work(session: Session) -> Link:
        now = datetime.now(UTC)
        row = session.scalar(_LATEST, values)
        if row is not None and row.expires_at > now:
            return row  # by another request, or a commit whose answer was lost
        if row is not None:
            row.revoked_at = row.expires_at
            session.flush()
        ends = min(session.get_one(Token, identity.token).expires_at, now + timedelta(days=DAYS))
        link = Link(id=uuid.uuid4().hex, created_at=now, expires_at=ends, **values)
        session.add(link)
        return link

    return database.write(identity.contributor, work)


def _detached(session: Session, row: Link | None) -> Link | None:
    session.expunge_all()
    return row


def list_links(
    database: Database, contributor: str | None = None, after: str | None = None, limit: int | None = PAGE
) -> Sequence[Link]:
    """Return links that are valid, by id. contributor: only those of this one's tokens. after: the last one before."""
    now = datetime.now(UTC)

    def query(session: Session) -> list[Link]:
        rows = select(Link).join(Token, Token.id == Link.token).where(_is_valid(now)).order_by(Link.id).limit(limit)
        if contributor is not None:
            rows = rows.where(Token.contributor == contributor)
        if after is not None:
            rows = rows.where(Link.id > after)
        found = [*session.scalars(rows)]
        session.expunge_all()
        return found

    return database.read(query)


def revoke_link(database: Database, link: str, identity: Identity | None = None) -> None:
    """Revoke a link; again, nothing changes. identity: its owner; None for the operator.

    Raises ContributionError if there is none, or it is someone else's.
    """

    def find(session: Session) -> str | None:
        row = session.get(Link, link)
        return session.get_one(Token, row.token).contributor if row is not None else None

    def work(session: Session) -> None:
        row = session.get(Link, link)
        if row is not None and row.revoked_at is None:
            if identity is not None:
                quotas.use(session, identity.token, n_bytes=_BYTES_PER_REVOCATION)
            row.revoked_at = datetime.now(UTC)
            audit.record(session, "revoke link", link, f"{row.kind} {row.subject}")

    owner = database.read(find)
    if owner is None or (identity is not None and owner != identity.contributor):
        where = "GET /v1/links lists yours" if identity is not None else "'losslake tokens links' lists them"
        raise ContributionError("unknown-link", f"there is no link {link}: {where}")
    database.write(owner, work)


def rotate_key(database: Database, key: SigningKey) -> None:
    """End every link, and put a new key in place of the one that signed them. Raises LossLakeError."""

    def work() -> None:
        with Session(database.lake.engine) as session:
            session.execute(update(Link).where(Link.revoked_at.is_(None)).values(revoked_at=datetime.now(UTC)))
            audit.record(session, "rotate key", key.file.name)
            session.flush()
            key.replace()
            session.commit()

    with_retries(work, SECONDS_TO_WRITE)


def delete_links(session: Session, subjects: Collection[str]) -> None:
    """Delete the links to runs and submissions that are gone."""
    session.execute(delete(Link).where(Link.subject.in_(subjects)))


def delete_ended_links(database: Database, age: timedelta) -> None:
    """Delete the links that ended longer ago than this."""
    before = datetime.now(UTC) - age

    def work() -> None:
        with Session(database.lake.engine) as session:
            session.execute(delete(Link).where((Link.expires_at < before) | (Link.revoked_at < before)))
            session.commit()

    with_retries(work, SECONDS_TO_WRITE)

"""Links to submissions, their reviews and drafts, and to the live pages of runs.

Those to drafts and live pages expire. Each has a record, made when it is first shown, looked up with each request, and
revoked by its owner.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from fastapi import Request
from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, delete, select, update
from sqlalchemy.orm import Session

from losslake_contributions.people import audit, quotas
from losslake_contributions.people.signing_key import Kind, SigningKey, link_token, read_token
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.submissions import SubmissionStatus
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Link, Token

CONTRIBUTIONS = "/v1/contributions"
SUBMISSIONS = "/v1/submissions"
REVIEWS = "/reviews"
DRAFTS = "/drafts"
LIVE = "/live"
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


@dataclass(frozen=True)
class Links:
    """The links of a service. public_url: empty for the address of each request. key: signs links that expire."""

    public_url: str
    database: Database
    key: SigningKey

    def base(self, request: Request) -> str:
        """Return the address of the service, without a slash at the end."""
        return self.public_url or f"{request.url.scheme}://{request.url.netloc}"

    def find(self, kind: Kind, token: str) -> Link | None:
        """Return the link whose token this is; None if it is forged, has expired or was revoked."""
        link = read_token(kind, self.key.read(), token)
        if link is None:
            return None
        values = {"kind": kind, "link": link.hex, "now": datetime.now(UTC)}
        return self.database.read(lambda session: session.scalar(_VALID_BY_ID, values))

    def draft(self, identity: Identity, name: str) -> str:
        """Return the path of a link to a draft, with a slash at the end; it ends with the identity's token."""
        return f"{DRAFTS}/{self._token('draft', name, identity)}/"

    def facts(self, request: Request, run: str) -> str:
        """Return the link to the run.json of a run."""
        return f"{self.base(request)}{CONTRIBUTIONS}/{run}/facts"

    def of(self, request: Request, identity: Identity, status: SubmissionStatus) -> dict[str, str]:
        """Return the links of a submission, by what they lead to. One that is decided has no draft."""
        base, name = self.base(request), status.id
        links = {"self": f"{base}{SUBMISSIONS}/{name}", "review": f"{base}{REVIEWS}/{name}"}
        return {**links, "draft": f"{base}{self.draft(identity, name)}"} if status.state == "submitted" else links

    def of_run(self, request: Request, identity: Identity, run: str) -> dict[str, str]:
        """Return the links of a run, by what they lead to: its live page, by a link that ends with the token."""
        return {"live": f"{self.base(request)}{LIVE}/{self._token('live', run, identity)}"}

    def _token(self, kind: Kind, subject: str, identity: Identity) -> str:
        link = _link_to(self.database, kind, subject, identity)
        return link_token(kind, self.key.read(), UUID(link.id))


def _link_to(database: Database, kind: Kind, subject: str, identity: Identity) -> Link:
    """Return the valid link of a token to a draft or a run, and make it if there is none."""
    values = {"kind": kind, "subject": subject, "token": identity.token}
    latest = database.read(lambda session: session.scalar(_LATEST, values))
    if latest is not None and latest.seconds_left:
        return latest

    def work(session: Session) -> Link:
        now = datetime.now(UTC)
        latest = session.scalar(_LATEST, values)
        if latest is not None and latest.expires_at > now:
            return latest  # by another request, or a commit whose answer was lost
        if latest is not None:
            latest.revoked_at = latest.expires_at
            session.flush()
        ends = min(session.get_one(Token, identity.token).expires_at, now + timedelta(days=DAYS))
        link = Link(id=uuid.uuid4().hex, created_at=now, expires_at=ends, **values)
        session.add(link)
        return link

    return database.write(identity.contributor, work)


def list_links(
    database: Database, contributor: str | None = None, after: str | None = None, limit: int | None = PAGE
) -> Sequence[Link]:
    """Return links that are valid, by id. contributor: only those of this one's tokens. after: the last one before."""
    is_valid = _is_valid(datetime.now(UTC))
    rows = select(Link).join(Token, Token.id == Link.token).where(is_valid).order_by(Link.id).limit(limit)
    if contributor is not None:
        rows = rows.where(Token.contributor == contributor)
    if after is not None:
        rows = rows.where(Link.id > after)
    return database.read(lambda session: session.scalars(rows).all())


def live_path(session: Session, key: bytes, contributor: str, run: str) -> str | None:
    """Return the path of a valid link to a live run that a token of its contributor has; None if there is none."""
    is_theirs = Link.kind == "live", Link.subject == run, Token.contributor == contributor
    valid = select(Link.id).join(Token, Token.id == Link.token).where(*is_theirs, _is_valid(datetime.now(UTC)))
    link = session.scalar(valid.order_by(Link.expires_at.desc()).limit(1))
    return f"{LIVE}/{link_token('live', key, UUID(link))}" if link is not None else None


def revoke_link(database: Database, link: str, identity: Identity | None = None) -> None:
    """Revoke a link; again, nothing changes. identity: its owner; None for the operator.

    Raises ContributionError if there is none, or it is someone else's.
    """

    def work(session: Session) -> None:
        row = session.get(Link, link)
        if row is not None and row.revoked_at is None:
            if identity is not None:
                quotas.use(session, identity.token, n_bytes=_BYTES_PER_REVOCATION)
            row.revoked_at = datetime.now(UTC)
            audit.record(session, "revoke link", link, f"{row.kind} {row.subject}")

    owned = select(Token.contributor).join(Link, Link.token == Token.id).where(Link.id == link)
    owner = database.read(lambda session: session.scalar(owned))
    if owner is None or (identity is not None and owner != identity.contributor):
        where = "GET /v1/links lists yours" if identity is not None else "'losslake tokens links' lists them"
        raise ContributionError("unknown-link", f"there is no link {link}: {where}")
    database.write(owner, work)


def rotate_key(database: Database, key: SigningKey) -> None:
    """End every link, and put a new key in place of the one that signed them. Raises LossLakeError."""

    def work(session: Session) -> None:
        session.execute(update(Link).where(Link.revoked_at.is_(None)).values(revoked_at=datetime.now(UTC)))
        audit.record(session, "rotate key", key.file.name)
        session.flush()
        key.replace()

    database.write(None, work)


def delete_links(session: Session, subjects: Collection[str]) -> None:
    """Delete the links to runs and submissions that are gone."""
    session.execute(delete(Link).where(Link.subject.in_(subjects)))


def delete_ended_links(database: Database, age: timedelta) -> None:
    """Delete the links that ended longer ago than this."""
    before = datetime.now(UTC) - age
    has_ended = (Link.expires_at < before) | (Link.revoked_at < before)
    database.write(None, lambda session: session.execute(delete(Link).where(has_ended)) and None)

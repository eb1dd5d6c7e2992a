"""Browsers that have signed in: a cookie of random bytes, of which only the SHA-256 is stored, for some hours."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy import bindparam, delete, select
from sqlalchemy.orm import Session

from losslake_contributions.people.tokens import WITH_OWNER, Identity, identity_of, sha256_of
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import PageSession, Token

HOURS = 12
# Of one token: whoever signs in again and again ends earlier ones.
MOST = 20
_BY_COOKIE = WITH_OWNER.join(PageSession, PageSession.token == Token.id).where(
    PageSession.sha256 == bindparam("sha256"), PageSession.expires_at > bindparam("now")
)


def sign_in(database: Database, token: str) -> str:
    """Begin a session of a token that was checked, and return its cookie. token: its id."""
    cookie = secrets.token_urlsafe(32)
    database.write(None, lambda session: begin_session(session, cookie, token))
    return cookie


def begin_session(session: Session, cookie: str, token: str) -> None:
    """Begin a session of a token with a new cookie; again, nothing changes. token: its id."""
    sha256, now = sha256_of(cookie), datetime.now(UTC)
    if session.get(PageSession, sha256) is not None:
        return  # a commit whose answer was lost
    session.execute(delete(PageSession).where(PageSession.expires_at < now))
    of_token = select(PageSession).where(PageSession.token == token).order_by(PageSession.created_at.desc())
    for old in session.scalars(of_token.offset(MOST - 1)):
        session.delete(old)
    expires = now + timedelta(hours=HOURS)
    session.add(PageSession(sha256=sha256, token=token, created_at=now, expires_at=expires))


def find_session(database: Database, cookie: str) -> Identity | None:
    """Return who a cookie is of; None for nobody, also if its token was revoked or has expired since."""
    values = {"sha256": sha256_of(cookie), "now": datetime.now(UTC)}
    row = database.read(lambda session: session.execute(_BY_COOKIE, values).first())
    try:
        return identity_of(*row) if row is not None else None
    except ContributionError:
        return None


def sign_out(database: Database, cookie: str) -> None:
    """End a session; again, nothing changes."""
    of_cookie = delete(PageSession).where(PageSession.sha256 == sha256_of(cookie))
    database.write(None, lambda session: session.execute(of_cookie) and None)

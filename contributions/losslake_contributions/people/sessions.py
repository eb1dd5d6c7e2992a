"""Browsers that have signed in: a cookie of random bytes, of which only the SHA-256 is stored, for some hours."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy import bindparam, delete, select
from sqlalchemy.orm import Session

from losslake.lake.connecting import SECONDS_TO_WRITE, with_retries
from losslake_contributions.people.tokens import Identity, identity_of
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contributor, PageSession, Token

HOURS = 12
# Of one token: whoever signs in again and again ends earlier ones.
MOST = 20
_BY_COOKIE = (
    select(Token, Contributor)
    .join(PageSession, PageSession.token == Token.id)
    .join(Contributor, Contributor.id == Token.contributor)
    .where(PageSession.sha256 == bindparam("sha256"), PageSession.expires_at > bindparam("now"))
)


def sign_in(database: Database, token: str) -> str:
    """Begin a session of a token that was checked, and return its cookie. token: its id."""
    cookie, now = secrets.token_urlsafe(32), datetime.now(UTC)

    def work() -> None:
        with Session(database.lake.engine) as session:
            if session.get(PageSession, _digest(cookie)) is not None:
                return  # a commit whose answer was lost
            session.execute(delete(PageSession).where(PageSession.expires_at < now))
            of_token = select(PageSession).where(PageSession.token == token).order_by(PageSession.created_at.desc())
            for old in session.scalars(of_token.offset(MOST - 1)):
                session.delete(old)
            expires = now + timedelta(hours=HOURS)
            session.add(PageSession(sha256=_digest(cookie), token=token, created_at=now, expires_at=expires))
            session.commit()

    with_retries(work, SECONDS_TO_WRITE)
    return cookie


def find_session(database: Database, cookie: str) -> Identity | None:
    """Return who a cookie is of; None for nobody, also if its token was revoked or has expired since."""
    values = {"sha256": _digest(cookie), "now": datetime.now(UTC)}

    def query(session: Session) -> tuple[Token, Contributor] | None:
        row = session.execute(_BY_COOKIE, values).first()
        session.expunge_all()
        return (row[0], row[1]) if row is not None else None

    found = database.read(query)
    try:
        return identity_of(*found) if found is not None else None
    except ContributionError:
        return None


def sign_out(database: Database, cookie: str) -> None:
    """End a session; again, nothing changes."""

    def work() -> None:
        with Session(database.lake.engine) as session:
            session.execute(delete(PageSession).where(PageSession.sha256 == _digest(cookie)))
            session.commit()

    with_retries(work, SECONDS_TO_WRITE)


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "surrogateescape")).hexdigest()

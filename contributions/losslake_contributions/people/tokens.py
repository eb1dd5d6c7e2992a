"""Tokens: made by an administrator, checked with each request, revoked. Only the SHA-256 of a secret is stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import bindparam, delete, select
from sqlalchemy.orm import Session, joinedload

from losslake_contributions.people import audit
from losslake_contributions.people.audit import Actor
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.submissions import Credit
from losslake_contributions.protocol.texts import reason_of
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contributor, PageSession, Token
from losslake_schema.errors import LossLakeError

Scope = Literal["contribute", "review"]
SCOPES: tuple[str, ...] = get_args(Scope)
ACCOUNT = "account"
"""The further scope of the token of an account, which is for browsers only: nobody has its secret."""
_TOKEN = re.compile(r"llc_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NO_DIGEST = hashlib.sha256(b"").hexdigest()
_MOST_DAYS = 3650
WITH_OWNER = select(Token, Contributor).join(Contributor, Contributor.id == Token.contributor)
# Made once: to build it for each request takes time.
_BY_ID = WITH_OWNER.where(Token.id == bindparam("token"))


@dataclass(frozen=True)
class Quota:
    """The limits of a token: the total of runs, of segments, of bytes in JSON lines, and of bytes in documents."""

    runs: int = 10_000
    segments: int = 100_000
    bytes: int = 20_000_000_000
    document_bytes: int = 50_000_000


@dataclass(frozen=True)
class Identity:
    """The sender of a request: the token, its contributor, and what it allows."""

    token: str
    contributor: str
    credit: Credit
    scopes: Collection[str]

    def require(self, *scopes: Scope) -> None:
        """Raise ContributionError if the token has none of some scopes; it names the first of them."""
        if not set(scopes).intersection(self.scopes):
            held = " and ".join(f"'{each}'" for each in sorted(self.scopes)) or "none"
            detail = (
                f"this needs a token with the scope '{scopes[0]}', and the scope of yours is {held}: ask the operator"
            )
            detail += " of this service for one"
            raise ContributionError("forbidden", detail)

    @property
    def has_account(self) -> bool:
        """True for a browser in which a person has signed in with a provider."""
        return ACCOUNT in self.scopes

    @property
    def is_reviewer(self) -> bool:
        """True if everyone's runs may be read."""
        return "review" in self.scopes


def create_token(
    database: Database,
    name: str,
    orcid: str | None,
    scopes: Collection[str],
    days: int,
    quota: Quota | None = None,
    contributor: str | None = None,
) -> str:
    """Return a new token, which is shown only here; raise LossLakeError for invalid facts.

    name, orcid: of its contributor. One with the same ORCID iD is the same contributor; without one, a new contributor
    is made unless `contributor` names one by its id.
    """
    if not scopes or not set(scopes) <= set(SCOPES):
        raise LossLakeError(f"scopes are {' and '.join(SCOPES)}, not {', '.join(sorted(scopes)) or 'none'}")
    if not 1 <= days <= _MOST_DAYS:
        raise LossLakeError(f"a token is valid for 1 to {_MOST_DAYS:,} days, not {days:,}")
    try:
        credit = TypeAdapter(Credit).validate_python({"name": name, "orcid": orcid})
    except ValidationError as error:
        raise LossLakeError(reason_of(error)) from None
    fresh = FreshToken(frozenset(scopes), days, quota or Quota())

    def work(session: Session) -> None:
        if session.get(Token, fresh.id) is None:  # else a commit whose answer was lost
            fresh.add(session, _contributor(session, credit, contributor))

    database.write(None, work)
    return fresh.text


@dataclass(frozen=True)
class FreshToken:
    """A token that is being made, of which the text is shown once. parent: as in `Token`."""

    scopes: Collection[str]
    days: int
    quota: Quota
    parent: str | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def text(self) -> str:
        """The token as it is shown and sent."""
        return f"llc_{self.id}_{self.secret}"

    def add(self, session: Session, owner: str, actor: Actor | None = None) -> None:
        """Store it for a contributor, and record who made it."""
        scopes, quota = " ".join(sorted(self.scopes)), self.quota
        session.add(
            Token(
                id=self.id, contributor=owner, sha256=sha256_of(self.secret), scopes=scopes, parent=self.parent,
                created_at=self.created_at, expires_at=self.created_at + timedelta(days=self.days), runs=0, segments=0,
                bytes=0, most_runs=quota.runs, most_segments=quota.segments, most_bytes=quota.bytes,
                document_bytes=0, most_document_bytes=quota.document_bytes,
            )
        )  # fmt: skip
        audit.record(session, "create token", self.id, f"{scopes}, for {owner}", actor)


def _contributor(session: Session, credit: Credit, contributor: str | None) -> str:
    """Return the id of a contributor, who is added if there is none yet. contributor: the id, if it is known."""
    if contributor is not None:
        row = session.get(Contributor, contributor)
        if row is None:
            raise LossLakeError(f"there is no contributor {contributor}: 'losslake tokens list' shows their ids")
        if (row.name, row.orcid) != (credit.name, credit.orcid):
            raise LossLakeError(f"the contributor {contributor} is {row.name}, {row.orcid or 'without ORCID'}")
        return contributor
    return find_contributor(session, credit)


def find_contributor(session: Session, credit: Credit) -> str:
    """Return the id of the contributor with an ORCID iD, or of a new one."""
    if credit.orcid is not None:
        row = session.scalar(select(Contributor).where(Contributor.orcid == credit.orcid))
        if row is not None:
            return row.id
    row = Contributor(
        id=str(uuid.uuid4()), name=credit.name, orcid=credit.orcid, created_at=datetime.now(UTC), n_writes=0
    )
    session.add(row)
    session.flush()
    return row.id


def authenticate(database: Database, authorization: str | None) -> Identity:
    """Return who a request is from; raise ContributionError if its header Authorization has no valid token.

    authorization: the value of the header. A secret is compared in constant time, also for a token that isn't there.
    """
    scheme, _, credentials = (authorization or "").partition(" ")
    match = _TOKEN.fullmatch(credentials.strip())
    if scheme.lower() != "bearer" or match is None:
        detail = "send a token of this service in the header 'Authorization: Bearer llc_…'"
        raise ContributionError("unauthorized", detail)
    token, secret = match[1], match[2]
    row = database.read(lambda session: session.execute(_BY_ID, {"token": token}).first())
    is_right = hmac.compare_digest(sha256_of(secret), row[0].sha256 if row is not None else _NO_DIGEST)
    if row is None or not is_right:
        raise ContributionError("unauthorized", "the token isn't valid: copy it again, or ask the operator for one")
    return identity_of(*row)


def identity_of(row: Token, contributor: Contributor) -> Identity:
    """Return who has a token; raise ContributionError if it was revoked or has expired."""
    if row.state != "active":
        end = "was revoked" if row.state == "revoked" else f"expired on {row.expires_at:%Y-%m-%d}"
        raise ContributionError("unauthorized", f"the token {end}: ask the operator for a new one")
    credit = Credit.model_construct(name=contributor.name, orcid=contributor.orcid, role=None)
    return Identity(row.id, contributor.id, credit, frozenset(row.scopes.split()))


def list_tokens(database: Database) -> Sequence[Token]:
    """Return all tokens with their owners, newest first."""
    query = select(Token).options(joinedload(Token.owner)).order_by(Token.created_at.desc(), Token.id)
    return database.read(lambda session: session.scalars(query).all())


def revoke_token(database: Database, token: str) -> None:
    """Revoke a token, by its id or as a whole; raise LossLakeError if there is none. Again: nothing changes.

    Its sessions and links end with it. With that of an account, those that its person made are revoked.
    """

    def work(session: Session) -> None:
        row = _token(session, token)
        made = select(Token).where(Token.parent == row.id).order_by(Token.id)
        for each in (row, *session.scalars(made)):
            end_token(session, each)

    database.write(None, work)


def end_token(session: Session, row: Token) -> None:
    """Revoke a token, and end its sessions."""
    if row.revoked_at is None:
        row.revoked_at = datetime.now(UTC)
        session.execute(delete(PageSession).where(PageSession.token == row.id))
        audit.record(session, "revoke token", row.id)


def change_quota(database: Database, token: str, amounts: Mapping[str, int]) -> Quota:
    """Change limits of a token, by its id or as a whole, and return all of them.

    amounts: those to change, by the fields of `Quota`. Raises LossLakeError if there is no such token, and for that of
    an account, with which nobody sends runs.
    """

    def work(session: Session) -> Quota:
        row = _token(session, token)
        if ACCOUNT in row.scopes.split():
            raise LossLakeError(f"nobody sends runs with the token {row.id}, which is of browsers: name another one")
        for name, amount in amounts.items():
            setattr(row, f"most_{name}", amount)
        quota = Quota(row.most_runs, row.most_segments, row.most_bytes, row.most_document_bytes)
        audit.record(session, "change quota", row.id, ", ".join(f"{name} {n}" for name, n in asdict(quota).items()))
        return quota

    return database.write(None, work)


def _token(session: Session, token: str) -> Token:
    """Return a token, by its id or as a whole; raise LossLakeError if there is none."""
    match = _TOKEN.fullmatch(token)
    name = match[1] if match else token
    row = session.get(Token, name)
    if row is None:
        raise LossLakeError(f"there is no token {name}: 'losslake tokens list' shows their ids")
    return row


def sha256_of(secret: str) -> str:
    """Return the SHA-256 of the secret of a token, or of a cookie, as it is stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()

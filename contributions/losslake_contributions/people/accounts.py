"""Accounts of people who sign in with a provider, and the tokens that they make, see and revoke."""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from pydantic import ValidationError
from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from losslake_contributions.people.audit import Actor
from losslake_contributions.people.pending_sign_in import SECONDS
from losslake_contributions.people.providers import Person
from losslake_contributions.people.sessions import begin_session
from losslake_contributions.people.tokens import (
    ACCOUNT,
    FreshToken,
    Identity,
    Quota,
    end_token,
    find_contributor,
    sha256_of,
)
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.limits import LONGEST_NAME
from losslake_contributions.protocol.submissions import Credit
from losslake_contributions.settings import Settings
from losslake_contributions.store.database import LOCK, Database
from losslake_contributions.store.tables import Account, PageSession, Token, UsedSignIn

_DAY = timedelta(days=1)
# Of the token of an account: links to drafts that its browsers have opened end with it at the latest.
_DAYS = 30
_SCOPES = frozenset({ACCOUNT, "contribute"})
_MEGABYTE = 1_000_000
MOST_LISTED = 100
# Of several transactions that add the same rows, one commits each time.
_TRIES = 16


@dataclass(frozen=True)
class AccountLimits:
    """The limits of what people who have signed in may make. quota, days: of each of their tokens."""

    quota: Quota
    days: int
    tokens: int
    tokens_per_day: int
    accounts_per_day: int

    @staticmethod
    def of(settings: Settings) -> AccountLimits:
        """Return the limits in the settings."""
        quota = Quota(
            settings.sign_in_runs,
            settings.sign_in_segments,
            settings.sign_in_megabytes * _MEGABYTE,
            settings.sign_in_document_megabytes * _MEGABYTE,
        )
        return AccountLimits(
            quota,
            settings.sign_in_days,
            settings.sign_in_tokens,
            settings.sign_in_tokens_per_day,
            settings.sign_in_accounts_per_day,
        )


def begin_account_session(database: Database, person: Person, state: str, limits: AccountLimits, origin: str) -> str:
    """Begin a session of a person whom a provider has identified, and return its cookie.

    state: of the sign-in, which counts once. origin: the address of the client. Raises ContributionError for one that
    was used, for an account that was closed, and for a new one beyond the limit of a day.
    """
    cookie, used = secrets.token_urlsafe(32), sha256_of(state)
    fresh = FreshToken(_SCOPES, _DAYS, Quota(0, 0, 0, 0))

    def work(session: Session) -> None:
        if session.get(PageSession, sha256_of(cookie)) is not None:
            return  # a commit whose answer was lost
        _use_up(session, used)
        account = session.get(Account, (person.issuer, person.subject))
        if account is None:
            account = _add_account(session, person, fresh, limits, origin)
        session.execute(LOCK, {"contributor": account.contributor})
        token = session.get_one(Token, account.token)
        if token.revoked_at is not None:
            raise ContributionError("forbidden", "the operator of this service has closed the account: ask them why")
        account.seen_at = datetime.now(UTC)
        token.expires_at = account.seen_at + timedelta(days=_DAYS)
        begin_session(session, cookie, token.id)

    for left in reversed(range(_TRIES)):
        try:
            database.write(None, work)
            break
        except IntegrityError:  # another transaction has added the account, or used the state, at the same moment
            if not left:
                raise
    return cookie


def _use_up(session: Session, sha256: str) -> None:
    """Record that a sign-in has succeeded; raise ContributionError if it had already."""
    if session.get(UsedSignIn, sha256) is not None:
        raise ContributionError("sign-in-failed", "this answer was used already: begin again on the page to sign in")
    now = datetime.now(UTC)
    session.execute(delete(UsedSignIn).where(UsedSignIn.at < now - timedelta(seconds=2 * SECONDS)))
    session.add(UsedSignIn(sha256=sha256, at=now))


def _add_account(session: Session, person: Person, fresh: FreshToken, limits: AccountLimits, origin: str) -> Account:
    now = datetime.now(UTC)
    of_today = select(func.count()).select_from(Account).where(Account.created_at > now - _DAY)
    if session.scalar(of_today) >= limits.accounts_per_day:  # type: ignore[operator]
        detail = "too many people have signed in for the first time today: try again tomorrow"
        raise ContributionError("too-fast", detail, retry_after=int(_DAY.total_seconds()))
    contributor = find_contributor(session, credit_of(person))
    fresh.add(session, contributor, Actor(origin, fresh.id, contributor))
    session.flush()
    account = Account(
        issuer=person.issuer, subject=person.subject, contributor=contributor, token=fresh.id, created_at=now,
        seen_at=now,
    )  # fmt: skip
    session.add(account)
    session.flush()
    return account


def credit_of(person: Person) -> Credit:
    """Return how a person is cited: by the name that the provider says, of which nothing invisible is left.

    Without a name, and for one without any letter, by the ORCID iD or a name that says nothing.
    """
    shown = "".join(letter if letter.isprintable() else " " for letter in person.name[: 10 * LONGEST_NAME])
    name = unicodedata.normalize("NFC", " ".join(shown.split()))[:LONGEST_NAME].strip()
    if not any(letter.isalpha() for letter in name):
        name = f"ORCID {person.orcid}" if person.orcid else "Somebody without a name"
    try:
        return Credit(name=name, orcid=person.orcid)
    except ValidationError:
        raise ContributionError("sign-in-failed", "the provider gives a name that can't be cited") from None


def identifying_hosts(database: Database, contributor: str) -> list[str]:
    """Return the hosts of the providers that have identified a contributor, such as orcid.org."""
    of_contributor = select(Account.issuer).where(Account.contributor == contributor)
    issuers = database.read(lambda session: session.scalars(of_contributor).all())
    return sorted({urlsplit(issuer).hostname or issuer for issuer in issuers})


def make_token(database: Database, identity: Identity, limits: AccountLimits) -> str:
    """Return a new token of a person, which is shown only here; raise ContributionError beyond the limits.

    identity: one that has an account.
    """
    fresh = FreshToken(frozenset({"contribute"}), limits.days, limits.quota, parent=identity.token)

    def work(session: Session) -> None:
        if session.get(Token, fresh.id) is not None:
            return  # a commit whose answer was lost
        made = session.scalars(select(Token).where(Token.parent == identity.token)).all()
        if sum(each.state == "active" for each in made) >= limits.tokens:
            detail = f"you have {limits.tokens} valid tokens, which is the most: revoke one first"
            raise ContributionError("quota-exceeded", detail)
        now = datetime.now(UTC)
        recent = sorted(each.created_at for each in made if each.created_at > now - _DAY)
        if len(recent) >= limits.tokens_per_day:
            detail = f"you have made {len(recent)} tokens within a day, which is the most: try again later"
            raise ContributionError("too-fast", detail, retry_after=int((recent[0] + _DAY - now).total_seconds()) + 1)
        fresh.add(session, identity.contributor)

    database.write(identity.contributor, work)
    return fresh.text


def list_own_tokens(database: Database, identity: Identity) -> Sequence[Token]:
    """Return the tokens of a contributor, also those that the operator made, newest first."""
    query = select(Token).where(Token.contributor == identity.contributor, ~_of_account())
    newest = query.order_by(Token.created_at.desc(), Token.id).limit(MOST_LISTED)
    return database.read(lambda session: session.scalars(newest).all())


def revoke_own_token(database: Database, identity: Identity, token: str) -> None:
    """Revoke a token of the same contributor; again, nothing changes. Raises ContributionError for any other."""

    def work(session: Session) -> None:
        query = select(Token).where(Token.id == token, Token.contributor == identity.contributor, ~_of_account())
        row = session.scalar(query)
        if row is None:
            raise ContributionError("unknown-token", "you have no such token: the page of your tokens lists them")
        end_token(session, row)

    database.write(identity.contributor, work)


def _of_account() -> ColumnElement[bool]:
    return Token.scopes.contains(ACCOUNT)

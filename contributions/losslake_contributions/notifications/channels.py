"""The webhook and the e-mail address of a contributor: set, confirmed, listed and deleted."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx
from sqlalchemy import ColumnElement, delete, exists, select, update
from sqlalchemy.orm import Session

from losslake_contributions.notifications.outbox import PENDING, add_delivery
from losslake_contributions.people import audit, quotas
from losslake_contributions.people.signing_key import SigningKey, read_token, webhook_secret
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.notifications import (
    ChannelFacts,
    ChannelKind,
    DeliveryFacts,
    Event,
    Notifications,
)
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Channel, Delivery, Token

PAGES = "/notifications"
_SHOWN = 20
_TIME_TO_CONFIRM = timedelta(days=2)
_AGE_OF_DELIVERIES = timedelta(days=30)
# For the entry in the log of decisions, so that the log can't be filled without end.
_BYTES_PER_CHANGE = 500


def set_channel(
    database: Database, identity: Identity, kind: ChannelKind, address: str, events: Sequence[Event], base: str
) -> bool:
    """Have a contributor's events told to an address; return False if that is so already.

    The same again has what waits delivered at once. Another address takes the place of the first, with what waited for
    it. base: the address of the service, for links. Raises ContributionError.
    """
    channel = uuid.uuid4().hex

    def work(session: Session) -> bool:
        now = datetime.now(UTC)
        row = _channel(session, identity.contributor, kind)
        if row is not None and row.address == address:
            row.events, row.base, row.next_at, row.failures = " ".join(events), base, now, 0
            return row.id == channel
        quotas.use(session, identity.token, n_bytes=_BYTES_PER_CHANGE)
        _delete(session, Channel.contributor == identity.contributor, Channel.kind == kind)
        session.add(
            Channel(
                id=channel, contributor=identity.contributor, kind=kind, address=address, events=" ".join(events),
                base=base, created_at=now, confirmed_at=now if kind == "webhook" else None, next_at=now, failures=0,
            )
        )  # fmt: skip
        session.flush()
        add_delivery(session, channel, "hello" if kind == "webhook" else "confirm", channel)
        audit.record(session, f"set {kind}", identity.contributor)
        return True

    return database.write(identity.contributor, work)


def has_address(database: Database, contributor: str, address: str) -> bool:
    """Return True if a contributor has set this e-mail address."""
    row = database.read(lambda session: _channel(session, contributor, "email"))
    return row is not None and row.address == address


def _channel(session: Session, contributor: str, kind: ChannelKind) -> Channel | None:
    return session.scalar(select(Channel).where(Channel.contributor == contributor, Channel.kind == kind))


def _delete(session: Session, *conditions: ColumnElement[bool]) -> int:
    """Delete channels with what waits for them; return their number."""
    channels = session.scalars(select(Channel.id).where(*conditions)).all()
    session.execute(delete(Delivery).where(Delivery.channel.in_(channels)))
    session.execute(delete(Channel).where(Channel.id.in_(channels)))
    return len(channels)


def delete_channels(database: Database, identity: Identity, kind: ChannelKind | None = None) -> None:
    """Delete a contributor's address with its notifications; again, nothing changes. kind: None for both."""

    def work(session: Session) -> None:
        conditions = [Channel.contributor == identity.contributor]
        if _delete(session, *conditions, *([Channel.kind == kind] if kind is not None else [])):
            audit.record(session, f"delete {kind or 'notifications'}", identity.contributor)

    database.write(identity.contributor, work)


def list_channels(database: Database, contributor: str) -> Notifications:
    """Return where a contributor is told of events, with the last notifications."""

    def query(session: Session) -> Notifications:
        rows = session.scalars(select(Channel).where(Channel.contributor == contributor)).all()
        return Notifications(**{row.kind: _facts(session, row) for row in rows})

    return database.read(query)


def _facts(session: Session, row: Channel) -> ChannelFacts:
    last = select(Delivery).where(Delivery.channel == row.id).order_by(Delivery.created_at.desc(), Delivery.id)
    return ChannelFacts.model_construct(
        kind=row.kind,
        address=_shown(row),
        events=tuple(row.events.split()),
        is_confirmed=row.confirmed_at is not None,
        created_at=row.created_at,
        deliveries=tuple(
            DeliveryFacts.model_validate(each, from_attributes=True) for each in session.scalars(last.limit(_SHOWN))
        ),
    )


def _shown(row: Channel) -> str:
    """Return an address without what is secret: the path of a webhook, and all but the first letter of a name."""
    if row.kind == "email":
        return f"{row.address[0]}…{row.address[row.address.rindex('@') :]}"
    url = httpx.URL(row.address)
    return f"{url.scheme}://{url.netloc.decode('ascii')}/…"


def secret_of(database: Database, key: SigningKey, contributor: str) -> str | None:
    """Return the secret that signs what is sent to a contributor's webhook; None without one."""
    row = database.read(lambda session: _channel(session, contributor, "webhook"))
    return webhook_secret(key.read(), UUID(row.id)) if row is not None else None


def find_email(database: Database, key: SigningKey, token: str) -> Channel:
    """Return the e-mail address of a link. Raises ContributionError if there is none any more."""
    channel = read_token("email", key.read(), token)
    row = database.read(lambda session: session.get(Channel, channel.hex)) if channel is not None else None
    if row is None:
        detail = "the link is no longer valid: the address was confirmed too late, replaced or deleted"
        raise ContributionError("unknown-address", detail)
    return row


def confirm_email(database: Database, channel: str) -> None:
    """Note that the owner of an address wants e-mails; again, nothing changes."""
    is_new = (Channel.id == channel) & Channel.confirmed_at.is_(None)
    confirmed = update(Channel).where(is_new).values(confirmed_at=datetime.now(UTC))
    database.write(None, lambda session: session.execute(confirmed) and None)


def stop_email(database: Database, channel: str) -> None:
    """Delete an e-mail address, as its owner has asked; again, nothing changes."""
    database.write(None, lambda session: _delete(session, Channel.id == channel) and None)


def delete_ended(database: Database) -> None:
    """Delete the addresses of contributors without a valid token, those that nobody confirmed, and what is old."""
    now = datetime.now(UTC)
    is_valid = Token.revoked_at.is_(None) & (Token.expires_at > now)
    has_token = exists().where(Token.contributor == Channel.contributor, is_valid)
    is_late = Channel.confirmed_at.is_(None) & (Channel.created_at < now - _TIME_TO_CONFIRM)
    is_old = (Delivery.state != PENDING) & (Delivery.changed_at < now - _AGE_OF_DELIVERIES)
    ended = ~has_token | is_late
    if database.read(lambda session: session.scalar(select(Channel.id).where(ended).limit(1))) is not None:
        database.write(None, lambda session: _delete(session, ended) and None)
    if database.read(lambda session: session.scalar(select(Delivery.id).where(is_old).limit(1))) is not None:
        database.write(None, lambda session: session.execute(delete(Delivery).where(is_old)) and None)


def delete_addresses_with(session: Session, texts: Sequence[str]) -> None:
    """Delete the addresses that have one of some texts, which are erased."""
    for row in session.scalars(select(Channel)).all():
        if any(text in row.address for text in texts):
            _delete(session, Channel.id == row.id)

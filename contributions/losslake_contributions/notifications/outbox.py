"""The outbox: notifications, written in the transaction of their event, and delivered later in the background."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from losslake_contributions.protocol.notifications import Event
from losslake_contributions.store.tables import Channel, Delivery

PENDING = "pending"


def notify(
    session: Session, contributor: str, event: Event, subject: str, occasion: str = "", detail: str = ""
) -> None:
    """Have a contributor told of an event, in its transaction, if they want to; the same again changes nothing.

    subject: the submission or the run. occasion: tells apart events that a subject may have several times. detail: what
    only the event knows, without secrets. The transaction has to be the only one of the contributor.
    """
    of_contributor = select(Channel).where(Channel.contributor == contributor, Channel.confirmed_at.is_not(None))
    for channel in session.scalars(of_contributor):
        if event in channel.events.split() and not _is_there(session, channel.id, event, subject, occasion):
            add_delivery(session, channel.id, event, subject, occasion, detail)


def _is_there(session: Session, channel: str, event: str, subject: str, occasion: str) -> bool:
    key = Delivery.channel == channel, Delivery.event == event, Delivery.subject == subject
    return session.scalar(select(Delivery.id).where(*key, Delivery.occasion == occasion)) is not None


def add_delivery(
    session: Session, channel: str, event: str, subject: str, occasion: str = "", detail: str = ""
) -> None:
    """Add a notification for a channel."""
    now = datetime.now(UTC)
    session.add(
        Delivery(
            id=uuid.uuid4().hex, channel=channel, event=event, subject=subject, occasion=occasion, detail=detail,
            state=PENDING, created_at=now, changed_at=now, tries=0,
        )
    )  # fmt: skip


def delete_deliveries(session: Session, subjects: Collection[str]) -> None:
    """Delete the notifications about runs and submissions that are erased."""
    session.execute(delete(Delivery).where(Delivery.subject.in_(subjects)))

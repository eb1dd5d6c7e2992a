"""The delivery of notifications, in the background: in order for each channel, again after failures, by one process.

A process claims a channel by moving the time at which it is due. If the process is killed, the channel is due again
after that time; what was sent, but not noted, is sent again with the same id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from losslake_contributions.notifications.channels import PAGES, delete_ended
from losslake_contributions.notifications.mail import Mailer
from losslake_contributions.notifications.messages import Message, email_text, message_of, webhook_body
from losslake_contributions.notifications.outbox import PENDING
from losslake_contributions.notifications.webhook import DELIVERY, EVENT, DeliveryFailed, Reach, send_webhook
from losslake_contributions.people.requests import in_thread
from losslake_contributions.people.signing_key import SigningKey, link_token, webhook_secret
from losslake_contributions.settings import Settings
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Channel, Delivery

WAITS = tuple(
    timedelta(seconds=each) for each in (10, 60, 300, 1_800, 7_200, 21_600, 43_200)
)  # after so many failures in a row: in all about a day
MOST_TRIES = len(WAITS) + 1
_LONGEST_WAIT = timedelta(days=1)
_CLAIM = timedelta(minutes=3)  # longer than a delivery takes
_AT_ONCE = 32
SECONDS_BETWEEN_LOOKS = 2.0
_BETWEEN_CLEANUPS = timedelta(seconds=30)
_OF_AN_HOUR = "This is the last one of the hour: 'losslake notify' shows what is left out."
_log = logging.getLogger(__name__)


class _Due(NamedTuple):
    """A notification that is due. message: None if it isn't true any more, or too many were sent in the hour."""

    channel: Channel
    delivery: Delivery
    message: Message | None
    state: str


@dataclass
class Deliverer:
    """Delivers what is due. count: is called with the outcome of each try."""

    database: Database
    settings: Settings
    key: SigningKey
    count: Callable[[str], None]
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE), init=False)
    _busy: set[str] = field(default_factory=set, init=False)
    _mailer: Mailer = field(init=False)
    _reach: Reach = field(init=False)
    _cleaned_at: datetime = field(default=datetime.min.replace(tzinfo=UTC), init=False)

    def __post_init__(self) -> None:
        self._mailer, self._reach = Mailer(self.settings), Reach.of(self.settings.webhook_networks)

    async def run(self) -> None:
        """Deliver what is due, until this is cancelled. An error is logged, and the work goes on."""
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    await self._begin(group)
                except Exception:  # noqa: BLE001 - whatever it is, it is tried again
                    _log.exception("notifications failed: they are tried again")
                await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

    async def deliver(self) -> None:
        """Deliver what is due now."""
        async with asyncio.TaskGroup() as group:
            await self._begin(group)

    async def _begin(self, group: asyncio.TaskGroup) -> None:
        """Begin to deliver to the channels that are due; none waits for another that is slow."""
        now = datetime.now(UTC)
        if now - self._cleaned_at > _BETWEEN_CLEANUPS:
            await in_thread(delete_ended, self.database, kind="notifications")
            self._cleaned_at = now
        for channel in await in_thread(self._channels, kind="notifications"):
            if channel not in self._busy:
                self._busy.add(channel)
                group.create_task(self._deliver_to(channel))

    def _channels(self) -> list[str]:
        """Return the channels for which something is due."""
        waits = select(Delivery.channel).where(Delivery.state == PENDING)
        due = select(Channel.id).where(Channel.id.in_(waits), Channel.next_at <= datetime.now(UTC))
        return [*self.database.read(lambda session: session.scalars(due.order_by(Channel.next_at)).all())]

    async def _deliver_to(self, channel: str) -> None:
        """Deliver what waits for a channel, one after the other, until a failure."""
        try:
            async with self._places:
                is_first = True
                while await self._deliver_next(channel, is_first):
                    is_first = False
        except Exception:  # noqa: BLE001 - whatever it is, others are told
            _log.exception("a notification failed: it is tried again")
        finally:
            self._busy.discard(channel)

    async def _deliver_next(self, channel: str, is_first: bool) -> bool:
        """Deliver what is first; return False if nothing is, or the rest has to wait."""
        due = await in_thread(self._claim, channel, is_first, kind="notifications")
        if due is None:
            return False
        outcome, error, is_final = due.state, None, False
        if due.message is not None:
            try:
                await self._send(due.channel, due.delivery, due.message)
                outcome = "delivered"
            except DeliveryFailed as failure:
                outcome, error, is_final = "failed", str(failure), failure.is_final
        self.count(await in_thread(self._note, due, outcome, error, is_final, kind="notifications"))
        return error is None or is_final

    def _claim(self, channel: str, is_first: bool) -> _Due | None:
        """Claim a channel, and return the first that waits for it; None if another process has it, or none waits."""

        def work(session: Session) -> _Due | None:
            now = datetime.now(UTC)
            # This process has claimed it already if it isn't the first.
            is_due = (Channel.id == channel) & (Channel.next_at <= (now if is_first else now + _CLAIM))
            claimed = session.execute(update(Channel).where(is_due).values(next_at=now + _CLAIM))
            row = session.get(Channel, channel, populate_existing=True) if claimed.rowcount else None  # type: ignore[attr-defined]
            if row is None:
                return None
            waiting = select(Delivery).where(Delivery.channel == channel, Delivery.state == PENDING)
            first = session.scalar(waiting.order_by(Delivery.created_at, Delivery.id).limit(1))
            if first is None:
                row.next_at = now
                return None
            return self._due(session, row, first, now)

        return self.database.write(None, work)

    def _due(self, session: Session, channel: Channel, delivery: Delivery, now: datetime) -> _Due:
        is_sent = Delivery.channel == channel.id, Delivery.state == "delivered"
        sent = select(func.count()).where(*is_sent, Delivery.changed_at > now - timedelta(hours=1))
        most, n_sent = self.settings.notifications_per_hour, session.scalar(sent) or 0
        if most and n_sent >= most:
            return _Due(channel, delivery, None, "left-out")
        message = message_of(session, delivery, channel, self.key.read())
        if message is not None and n_sent + 1 == most:
            message = Message(message.title, [*message.lines, _OF_AN_HOUR], message.quote, message.facts)
        return _Due(channel, delivery, message, "outdated")

    async def _send(self, channel: Channel, delivery: Delivery, message: Message) -> None:
        """Send a notification. Raises DeliveryFailed."""
        record = UUID(channel.id)
        key = await in_thread(self.key.read, kind="notifications")
        if channel.kind == "webhook":
            headers = {DELIVERY: delivery.id, EVENT: delivery.event}
            body = webhook_body(message, delivery)
            await send_webhook(self._reach, channel.address, body, webhook_secret(key, record), headers)
            return
        if not self.settings.smtp_host:
            raise DeliveryFailed("the service sends no e-mails any more")
        link = f"{channel.base}{PAGES}/{link_token('email', key, record)}"
        text = email_text(message, link, is_confirmed=channel.confirmed_at is not None)
        composed = self._mailer.compose(delivery, channel.address, message.title, text, link)
        await in_thread(self._mailer.send, composed, channel.address, kind="email")

    def _note(self, due: _Due, outcome: str, error: str | None, is_final: bool) -> str:
        """Note the outcome of a try, and when the channel is due again; return it, given-up after the last try."""

        def work(session: Session) -> str:
            now = datetime.now(UTC)
            channel, delivery = session.get(Channel, due.channel.id), session.get(Delivery, due.delivery.id)
            if channel is None or delivery is None:
                return outcome  # deleted meanwhile
            delivery.changed_at, delivery.error = now, error
            # As it was read: this may be the same transaction again, after a commit whose answer was lost.
            delivery.tries = due.delivery.tries + (1 if due.message is not None else 0)
            if error is None:
                delivery.state = outcome
                if outcome == "delivered":
                    channel.failures = 0
                return outcome
            is_last = is_final or delivery.tries >= MOST_TRIES or now - delivery.created_at > _LONGEST_WAIT
            delivery.state = "given-up" if is_last else PENDING
            if not is_final:
                channel.failures = due.channel.failures + 1
                channel.next_at = now + WAITS[min(channel.failures, len(WAITS)) - 1]
            return delivery.state if is_last else outcome

        return self.database.write(None, work)

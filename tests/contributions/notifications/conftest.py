"""A service that sends notifications to this machine, when a test has it do so."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_contributions.notifications import delivery
from losslake_contributions.notifications.delivery import Deliverer
from losslake_contributions.people.signing_key import SigningKey
from losslake_contributions.settings import Settings
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Channel, Delivery
from tests.contributions.conftest import ADA, Sender, Service, serving
from tests.contributions.notifications.receivers import Mailbox, Webhook, mail_server, receiving
from tests.contributions.running import place_of_key

HERE = ("127.0.0.0/8",)


@dataclass
class Notifier:
    """The delivery of a service, as one of its processes does it."""

    database: Database
    settings: dict[str, Any]
    outcomes: Counter[str] = field(default_factory=Counter)

    def new(self) -> Deliverer:
        """Another process."""
        settings = Settings.model_construct(**{"webhook_networks": HERE, **self.settings})
        key = SigningKey.of(self.database.lake, place_of_key(self.database.lake).get("signing_key_file", ""))
        return Deliverer(self.database, settings, key, lambda outcome: self.outcomes.update([outcome]))

    def deliver(self, *, at_once: bool = False) -> None:
        """Deliver what is due. at_once: as if the wait after a failure, or the claim of a killed process, were over."""
        if at_once:
            with Session(self.database.lake.engine) as session:
                session.execute(update(Channel).values(next_at=datetime(2020, 1, 1, tzinfo=UTC)))
                session.commit()
        asyncio.run(self.new().deliver())

    def deliveries(self, event: str | None = None) -> list[Delivery]:
        """Return what is in the outbox, in order."""
        rows = select(Delivery).order_by(Delivery.created_at)
        if event is not None:
            rows = rows.where(Delivery.event == event)
        return [*self.database.read(lambda session: session.scalars(rows).all())]


@pytest.fixture(autouse=True)
def _only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "SECONDS_BETWEEN_LOOKS", 3600.0)


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with receiving(Webhook()) as made:
        yield made


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mail_server(Mailbox()) as made:
        yield made


@pytest.fixture
def service(empty_lake: Lake, mailbox: Mailbox) -> Iterator[Service]:
    with serving(empty_lake, webhook_networks=HERE, **mailbox.settings) as made:
        yield made


@pytest.fixture
def notifier(service: Service, mailbox: Mailbox) -> Notifier:
    return Notifier(service.database, mailbox.settings)


@pytest.fixture
def ada(service: Service) -> Sender:
    return service.sender("Ada", ADA)


def set_webhook(sender: Sender, webhook: Webhook, **facts: Any) -> Any:
    """Have a sender's events told to a webhook; return the answer."""
    response = sender.send("PUT", "/v1/notifications/webhook", json={"url": webhook.url, **facts})
    assert response.status_code == 201, response.text
    return response.json()


def facts_of(webhook: Webhook, event: str) -> list[dict[str, Any]]:
    """Return what a webhook was told for programs, of one event."""
    bodies = [json.loads(each.body)["losslake"] for each in webhook.requests]
    return [each for each in bodies if each["event"] == event]

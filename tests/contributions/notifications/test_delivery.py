"""Notifications are delivered in order, again after failures, once by several processes, and given up in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_contributions.notifications import delivery
from losslake_contributions.notifications.delivery import MOST_TRIES, WAITS
from losslake_contributions.notifications.outbox import notify
from losslake_contributions.people.tokens import revoke_token
from losslake_contributions.protocol.notifications import EVENTS
from losslake_contributions.store.tables import Channel, Contributor, Delivery
from tests.contributions.conftest import ADA, Sender, Service, serving
from tests.contributions.notifications.conftest import HERE, Notifier, facts_of, set_webhook
from tests.contributions.notifications.receivers import Webhook
from tests.contributions.notifications.test_events import returned
from tests.contributions.spooled_runs import SpooledRun
from tests.servers.processes import wait_until


def channel(notifier: Notifier) -> Channel:
    return notifier.database.read(lambda session: session.scalars(select(Channel)).one())


def test_a_delivery_that_fails_is_repeated_with_the_same_id_and_those_after_it_wait(
    ada: Sender, reviewer: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    set_webhook(ada, webhook)
    notifier.deliver()
    first, second = returned(ada, reviewer), returned(ada, reviewer)
    webhook.statuses = [500, 302]
    before = datetime.now(UTC)
    notifier.deliver()
    notifier.deliver()  # not due yet
    assert len(webhook.requests) == 2
    assert WAITS[0] <= channel(notifier).next_at - before < 2 * WAITS[0]
    shown = ada.send("GET", "/v1/notifications").json()["webhook"]["deliveries"][1]
    assert (shown["state"], shown["tries"], shown["error"]) == ("pending", 1, "the answer has the HTTP status 500")
    for _ in range(2):
        notifier.deliver(at_once=True)
    assert [each["submission"] for each in facts_of(webhook, "returned")] == [first] * 3 + [second]
    assert len(set(webhook.ids)) == 3
    assert notifier.outcomes == {"delivered": 3, "failed": 2}
    assert channel(notifier).failures == 0


def test_waits_grow_and_the_last_try_is_given_up_visibly(ada: Sender, notifier: Notifier, webhook: Webhook) -> None:
    set_webhook(ada, webhook)
    webhook.statuses = [503] * MOST_TRIES
    waits = []
    for _ in range(MOST_TRIES):
        before = datetime.now(UTC)
        notifier.deliver(at_once=True)
        waits.append((channel(notifier).next_at - before).total_seconds())
    assert waits == pytest.approx([*(each.total_seconds() for each in WAITS), WAITS[-1].total_seconds()], abs=5)
    assert timedelta(hours=12) < sum(WAITS, timedelta(0)) < timedelta(days=1)
    notifier.deliver(at_once=True)
    assert len(webhook.requests) == MOST_TRIES
    (shown,) = ada.send("GET", "/v1/notifications").json()["webhook"]["deliveries"]
    assert (shown["state"], shown["tries"]) == ("given-up", MOST_TRIES)
    assert notifier.outcomes == {"failed": MOST_TRIES - 1, "given-up": 1}


def test_what_is_older_than_a_day_is_given_up_at_its_next_failure(
    ada: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    set_webhook(ada, webhook)
    with Session(notifier.database.lake.engine) as session:
        session.execute(update(Delivery).values(created_at=datetime.now(UTC) - timedelta(days=1, minutes=1)))
        session.commit()
    webhook.statuses = [500]
    notifier.deliver()
    assert [each.state for each in notifier.deliveries()] == ["given-up"]


def test_the_same_webhook_again_has_what_waits_delivered_at_once(
    ada: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    set_webhook(ada, webhook)
    webhook.statuses = [500]
    notifier.deliver()
    again = ada.send("PUT", "/v1/notifications/webhook", json={"url": webhook.url})
    assert (again.status_code, again.json()["secret"]) == (200, None)
    notifier.deliver()
    assert [each.state for each in notifier.deliveries()] == ["delivered"]
    assert len(set(webhook.ids)) == 1


@pytest.fixture(params=["empty_lake", "lake_in_postgresql"])
def either(request: pytest.FixtureRequest) -> Iterator[Service]:
    lake: Lake = request.getfixturevalue(request.param)
    with serving(lake, webhook_networks=HERE) as made:
        yield made


def test_several_processes_deliver_each_notification_once(either: Service, webhook: Webhook) -> None:
    notifier = Notifier(either.database, {})
    set_webhook(either.sender("Ada", ADA), webhook)

    def add(session: Session) -> None:
        (contributor,) = session.scalars(select(Contributor.id))
        for run in range(6):
            notify(session, contributor, "diverged", str(run))
            notify(session, contributor, "diverged", str(run))

    either.database.write(None, add)

    async def deliver() -> None:
        await asyncio.gather(*(notifier.new().deliver() for _ in range(4)))

    asyncio.run(deliver())
    assert len(webhook.requests) == len(set(webhook.ids)) == 1  # unknown runs are no more true
    assert notifier.outcomes == {"delivered": 1, "outdated": 6}


def test_what_a_killed_process_had_claimed_is_delivered_after_the_claim_with_the_same_id(
    ada: Sender, notifier: Notifier, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_webhook(ada, webhook)

    class Killed(BaseException):
        """Ends the work as a kill does; a KeyboardInterrupt would also leave a thread behind."""

    def killed(*_: object) -> str:
        raise Killed

    with monkeypatch.context() as during:
        during.setattr(delivery.Deliverer, "_note", killed)
        with pytest.raises(BaseExceptionGroup):
            notifier.deliver()
    notifier.deliver()  # claimed
    assert len(webhook.requests) == 1
    notifier.deliver(at_once=True)
    assert webhook.ids == [webhook.ids[0]] * 2
    assert [each.state for each in notifier.deliveries()] == ["delivered"]


def test_more_than_the_limit_of_an_hour_are_left_out_and_the_last_one_says_so(
    ada: Sender, reviewer: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    notifier.settings = {**notifier.settings, "notifications_per_hour": 2}
    set_webhook(ada, webhook)
    for _ in range(3):
        returned(ada, reviewer)
    notifier.deliver()
    assert [each.state for each in notifier.deliveries()] == ["delivered", "delivered", "left-out", "left-out"]
    assert [b"last one of the hour" in each.body for each in webhook.requests] == [False, True]
    with Session(notifier.database.lake.engine) as session:
        session.execute(update(Delivery).values(changed_at=datetime.now(UTC) - timedelta(hours=1)))
        session.commit()
    returned(ada, reviewer)
    notifier.deliver()
    assert notifier.deliveries()[-1].state == "delivered"


def test_without_a_valid_token_the_address_is_deleted(
    service: Service, ada: Sender, notifier: Notifier, webhook: Webhook
) -> None:
    other = service.sender("Ada", ADA)
    set_webhook(ada, webhook)
    revoke_token(service.database, ada.id)
    notifier.deliver()
    assert len(webhook.requests) == 1  # the other token is hers, too
    revoke_token(service.database, other.id)
    notifier.deliver()
    assert notifier.deliveries() == []
    assert service.database.read(lambda session: session.scalars(select(Channel)).all()) == []


def test_an_unreachable_webhook_changes_nothing_for_reviewers_and_contributors(
    ada: Sender, reviewer: Sender, notifier: Notifier
) -> None:
    set_webhook(ada, Webhook(port=9))
    name = returned(ada, reviewer)
    notifier.deliver()
    assert ada.send("GET", f"/v1/submissions/{name}").json()["state"] == "returned"
    assert notifier.deliveries("hello")[0].error == "it can't be connected to"


def test_the_service_delivers_in_the_background(
    empty_lake: Lake, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SECONDS_BETWEEN_LOOKS", 0.02)
    with serving(empty_lake, webhook_networks=HERE) as service:
        ada, reviewer = service.sender("Ada", ADA), service.sender("Rea", None, "review")
        set_webhook(ada, webhook)
        name = ada.submitted(SpooledRun())
        reviewer.send("POST", f"/v1/submissions/{name}/return", json={"reason": "no"})
        wait_until(lambda: len(webhook.requests) == 2, "both notifications are there")
        counted = 'losslake_contributions_notifications_total{outcome="delivered"} 2.0'
        wait_until(lambda: counted in service.client.get("/metrics").text, "both are counted")


def test_every_event_has_a_place_in_the_table() -> None:
    assert len(" ".join(EVENTS)) <= Channel.__table__.c.events.type.length  # type: ignore[attr-defined]
    assert max(map(len, EVENTS)) <= Delivery.__table__.c.event.type.length  # type: ignore[attr-defined]

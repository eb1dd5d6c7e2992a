"""A contributor sets, sees and deletes a webhook and an e-mail address; nobody else sees anything of them."""

from __future__ import annotations

import pytest

from losslake_contributions.notifications.routes import CHANGES_PER_HOUR
from losslake_contributions.people.audit import list_decisions
from tests.contributions.conftest import ADA, BOB, Sender, Service
from tests.contributions.notifications.conftest import Notifier, set_webhook
from tests.contributions.notifications.receivers import Webhook

NOTHING = {"webhook": None, "email": None}
EVENTS = ["returned", "accepted", "silent", "diverged"]


def test_a_webhook_is_shown_without_its_path_and_its_secret_once(
    service: Service, ada: Sender, webhook: Webhook
) -> None:
    made = set_webhook(ada, webhook)
    assert made["secret"].startswith("llw_")
    assert (made["address"], made["events"], made["is_confirmed"]) == (
        f"http://127.0.0.1:{webhook.port}/…",
        EVENTS,
        True,
    )
    again = ada.send("PUT", "/v1/notifications/webhook", json={"url": webhook.url, "events": ["silent"]})
    assert (again.status_code, again.json()["secret"], again.json()["events"]) == (200, None, ["silent"])
    shown = service.sender("Ada", ADA).send("GET", "/v1/notifications")
    assert shown.json()["webhook"]["secret"] is None
    assert "hook/secret" not in shown.text
    other = ada.send("PUT", "/v1/notifications/webhook", json={"url": f"{webhook.url}2"})
    assert other.status_code == 201
    assert other.json()["secret"] != made["secret"]


def test_an_e_mail_address_is_shown_without_its_name(ada: Sender) -> None:
    ada.send("PUT", "/v1/notifications/email", json={"address": "ada.l@mail.example"})
    shown = ada.send("GET", "/v1/notifications")
    assert shown.json()["email"]["address"] == "a…@mail.example"


@pytest.mark.parametrize("part", ["", "/webhook", "/email"])
def test_addresses_are_deleted_again_and_again(ada: Sender, notifier: Notifier, webhook: Webhook, part: str) -> None:
    set_webhook(ada, webhook)
    ada.send("PUT", "/v1/notifications/email", json={"address": "ada.l@mail.example"})
    for _ in range(2):
        response = ada.send("DELETE", f"/v1/notifications{part}")
        assert response.status_code == 200
        remaining = {name for name, channel in response.json().items() if channel is not None}
        assert remaining == ({"webhook", "email"} - {part.removeprefix("/")} if part else set())
    notifier.deliver()
    assert len(webhook.requests) == (1 if part == "/email" else 0)


def test_nobody_sees_or_deletes_the_addresses_of_others(
    service: Service, ada: Sender, reviewer: Sender, webhook: Webhook
) -> None:
    set_webhook(ada, webhook)
    bob = service.sender("Bob", BOB)
    assert bob.send("GET", "/v1/notifications").json() == NOTHING
    assert bob.send("DELETE", "/v1/notifications").json() == NOTHING
    assert reviewer.send("GET", "/v1/notifications").status_code == 403
    assert service.client.get("/v1/notifications").status_code == 401
    assert ada.send("GET", "/v1/notifications").json()["webhook"] is not None


def test_decisions_are_recorded_without_addresses(service: Service, ada: Sender, webhook: Webhook) -> None:
    set_webhook(ada, webhook)
    ada.send("PUT", "/v1/notifications/email", json={"address": "ada.l@mail.example"})
    ada.send("DELETE", "/v1/notifications")
    entries = list_decisions(service.database, 3)
    assert [each.action for each in entries] == ["delete notifications", "set email", "set webhook"]
    assert not any("mail.example" in str(each) or "hook" in each.detail for each in entries)


def test_addresses_change_a_few_times_an_hour(ada: Sender, webhook: Webhook) -> None:
    codes = [
        ada.send("PUT", "/v1/notifications/webhook", json={"url": f"{webhook.url}{number}"}).status_code
        for number in range(CHANGES_PER_HOUR + 1)
    ]
    assert codes == [201] * CHANGES_PER_HOUR + [429]


def test_invalid_requests_are_refused_in_one_line(ada: Sender) -> None:
    url = "https://a.example"
    documents: tuple[object, ...] = (
        {}, {"url": 1}, {"url": url, "events": []}, {"url": url, "events": ["all"]}, [], {"url": f"{url}/{'a' * 2000}"},
        {"url": url, "events": ["silent", "silent"]}, {"url": url, "more": 1},
    )  # fmt: skip
    for document in documents:
        response = ada.send("PUT", "/v1/notifications/webhook", json=document)
        assert response.status_code == 422
        assert "\n" not in response.json()["detail"]


def test_the_requests_are_described(service: Service) -> None:
    described = service.client.get("/openapi.json").json()
    assert {"WebhookRequest", "EmailRequest", "Notifications", "ChannelFacts"} <= set(
        described["components"]["schemas"]
    )
    assert set(described["paths"]["/v1/notifications/webhook"]) == {"put", "delete"}

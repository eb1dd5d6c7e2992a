"""Strangers against notifications, by webhook and e-mail; docs/threat-model.md lists the attacks."""

from __future__ import annotations

import base64
import itertools
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from sqlalchemy import select

from losslake_contributions.people.signing_key import SigningKey, link_token
from losslake_contributions.store.tables import Channel, Delivery
from tests.attacks.contributors import Target, attacked, refused
from tests.contributions.conftest import Sender
from tests.contributions.notifications.receivers import Mailbox, Webhook, mail_server, receiving
from tests.contributions.spooled_runs import SpooledRun
from tests.servers.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.attack]
WEBHOOK, EMAIL = "/v1/notifications/webhook", "/v1/notifications/email"
TARPIT = "127.0.0.2"  # the only network besides the internet that the service sends to
VICTIM = "victoria@mail.example"
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    with mail_server(Mailbox()) as made:
        yield made


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory, mailbox: Mailbox) -> Iterator[Target]:
    settings = {**mailbox.settings, "webhook_networks": (f"{TARPIT}/32",), "notifications_per_hour": 1000}
    with attacked(tmp_path_factory.mktemp("attacked"), **settings) as found:
        yield found


def fresh(target: Target) -> Sender:
    """An attacker who has not used up any limit."""
    return target.someone(f"Mallory {next(_NUMBERS)}")


def first_error(sender: Sender) -> str:
    """Wait for the first try to deliver to a webhook, and return its error."""
    errors: list[str] = []

    def is_tried() -> bool:
        (delivery,) = sender.send("GET", "/v1/notifications").json()["webhook"]["deliveries"]
        errors[:] = [str(delivery["error"])]
        return bool(delivery["tries"])

    wait_until(is_tried, "the delivery is tried")
    return errors[0]


def test_webhooks_into_private_networks(target: Target) -> None:
    """have the service send requests to itself, its network or the metadata of its machine, by the URL of a webhook"""
    port = urlsplit(target.service.url).port
    for url in (
        "https://127.0.0.1/", f"http://127.0.0.1:{port}/v1/notifications", "https://[::1]/", "https://169.254.169.254/",
        "https://10.0.0.1/", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "ftp://hooks.example/",
        "https://user:password@hooks.example/", "file:///etc/passwd", "https://hooks.example/\r\nX-Injected: 1",
    ):  # fmt: skip
        refused(fresh(target).send("PUT", WEBHOOK, json={"url": url}), 422, 429)
    with receiving(Webhook()) as internal:
        answers = set()
        for host in ("localhost", "127.1", "2130706433", "0x7f.1", "no-such-name.invalid"):
            sender = fresh(target)
            url = f"http://{host}:{internal.port}/"
            assert sender.send("PUT", WEBHOOK, json={"url": url}).status_code == 201
            answers.add(first_error(sender))
        # Nobody learns which names there are.
        assert answers == {"the URL leads to no address that this service sends to"}
        assert internal.requests == []


def test_slow_webhooks(target: Target) -> None:
    """hold up the notifications of others by many webhooks that never answer"""
    with ExitStack() as places:
        listener = places.enter_context(socket.create_server((TARPIT, 0), backlog=100))
        held: list[socket.socket] = []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    held.append(listener.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        url = f"http://{TARPIT}:{listener.getsockname()[1]}/"
        for _ in range(40):
            assert fresh(target).send("PUT", WEBHOOK, json={"url": url}).status_code == 201
        wait_until(lambda: len(held) >= 32, "the tarpit has what it gets at once")
        n_tried = len(held)
        sender = fresh(target)
        sender.send("PUT", EMAIL, json={"address": f"late{n_tried}@mail.example"})
        state: list[str] = []

        def is_delivered() -> bool:
            state[:] = [sender.send("GET", "/v1/notifications").json()["email"]["deliveries"][0]["state"]]
            return state == ["delivered"]

        wait_until(is_delivered, "the e-mail is sent")
        for each in held:
            each.close()


def links_to(mailbox: Mailbox, address: str) -> list[str]:
    """The paths of the links in the e-mails to an address."""
    texts = [message.get_content() for message in mailbox.messages if message["To"] == address]
    return [urlsplit(re.findall(r"http://\S+/notifications/\S+", text)[-1]).path for text in texts]


def test_mail_to_strangers(target: Target, mailbox: Mailbox) -> None:
    """have the service write e-mails to others who want none: many of them, or with a text of one's own"""
    address = "stranger@mail.example"
    senders = [target.someone(f"Buy at https://evil.example {number}") for number in range(5)]
    codes = [sender.send("PUT", EMAIL, json={"address": address}).status_code for sender in senders]
    assert codes == [201, 201, 201, 429, 429]
    for _ in range(20):
        senders[0].send("PUT", EMAIL, json={"address": address})
    name = senders[0].submitted(SpooledRun())
    target.reviewer.send("POST", f"/v1/submissions/{name}/return", json={"reason": "https://evil.example"})
    wait_until(lambda: len(links_to(mailbox, address)) == 3, "the e-mails are sent")
    texts = [message.as_string() for message in mailbox.messages if message["To"] == address]
    assert not [text for text in texts if "evil" in text or "Buy" in text]
    rows = select(Delivery.event).join(Channel, Channel.id == Delivery.channel).where(Channel.address == address)
    assert {*target.database.read(lambda session: session.scalars(rows).all())} == {"confirm"}


def test_headers_by_addresses(target: Target, mailbox: Mailbox) -> None:
    """write further receivers, headers or commands into e-mails, by an address"""
    n_before = len(mailbox.messages)
    for address in (
        "a@mail.example\r\nBcc: b@mail.example", "a@mail.example\nSubject: x", "a@mail.example>\r\nRCPT TO:<b@b.c",
        "a@mail.example,b@mail.example", "a@mail.example\u2028Bcc: b@mail.example", "=?utf-8?q?a?=@mail.example\x00",
        "<a@mail.example>", "a@mail.example b@mail.example", '"a\r\nBcc: b"@mail.example',
    ):  # fmt: skip
        refused(fresh(target).send("PUT", EMAIL, json={"address": address}), 422)
    assert len(mailbox.messages) == n_before


def confirmed(target: Target, mailbox: Mailbox) -> str:
    """Have the victim set and confirm an address; return the path of its page."""
    if target.victim.send("PUT", EMAIL, json={"address": VICTIM}).status_code == 201:
        wait_until(lambda: bool(links_to(mailbox, VICTIM)), "the e-mail is there")
        assert target.press(links_to(mailbox, VICTIM)[-1], None, wish="confirm").status_code == 200
    return links_to(mailbox, VICTIM)[-1]


def test_forged_email_links(target: Target, mailbox: Mailbox) -> None:
    """confirm or delete the address of others by a link that is made up, changed, of another kind or of another key"""
    path = confirmed(target, mailbox)
    right = path.removeprefix("/notifications/")
    data, key = base64.urlsafe_b64decode(right), SigningKey.of(target.lake).read()
    record = UUID(bytes=data[:16])
    forged = [
        base64.urlsafe_b64encode(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]).decode() for at in range(len(data))
    ]
    forged += [
        link_token("email", bytes(32), record), link_token("live", key, record), link_token("draft", key, record),
        link_token("email", key, UUID(int=7)), right[:-1], f"{right}A", record.hex, "A" * 56, "%00",
    ]  # fmt: skip
    for token in forged:
        refused(target.press(f"/notifications/{token}", None, wish="stop"), 404, 405)
    assert target.press(path, None, {"sec-fetch-site": "cross-site"}, wish="stop").status_code == 403
    assert target.victim.send("GET", "/v1/notifications").json()["email"]["is_confirmed"] is True


def test_links_followed_by_programs(target: Target, mailbox: Mailbox) -> None:
    """have an address confirmed by the programs of its owner that open the links in e-mails"""
    sender, address = fresh(target), "scanned@mail.example"
    sender.send("PUT", EMAIL, json={"address": address})
    wait_until(lambda: bool(links_to(mailbox, address)), "the e-mail is there")
    (path,) = links_to(mailbox, address)
    for method in ("GET", "HEAD", "OPTIONS", "PUT"):
        target.client.request(method, path)
    assert sender.send("GET", "/v1/notifications").json()["email"]["is_confirmed"] is False


def test_notifications_of_others(target: Target, mailbox: Mailbox) -> None:
    """see, change or delete the addresses of somebody else, or read them in full with a stolen token"""
    confirmed(target, mailbox)
    for sender, code in ((target.mallory, 200), (target.reviewer, 403)):
        assert sender.send("GET", "/v1/notifications").status_code == code
        assert sender.send("DELETE", "/v1/notifications").status_code == code
    refused(target.client.get("/v1/notifications"), 401)
    shown = target.victim.send("GET", "/v1/notifications")
    assert shown.json()["email"]["address"] == "v…@mail.example"
    assert VICTIM not in shown.text


def test_addresses_and_links_in_logs(target: Target, mailbox: Mailbox) -> None:
    """learn addresses, or use links in e-mails, that somebody finds in the log or the audit log"""
    path = confirmed(target, mailbox)
    target.client.get(path)
    target.press(path, None, wish="nothing")
    wait_until(lambda: any("/notifications/..." in line for line in target.service.errors), "the request is logged")
    logged = "".join(target.service.errors)
    assert path.removeprefix("/notifications/")[:40] not in logged
    assert "mail.example" not in logged
    audit = "SELECT detail || subject FROM losslake_contribution_audit"
    with target.lake.engine.connect() as connection:
        entries: list[Any] = [row[0] for row in connection.exec_driver_sql(audit)]
    assert entries
    assert not [entry for entry in entries if "@" in entry or "http" in entry]

"""An e-mail address gets nothing but a link until its owner has confirmed it, and ends with a click."""

from __future__ import annotations

import logging
import re
import socket
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_contributions.notifications.mail import check_email_settings
from losslake_contributions.people.signing_key import SigningKey
from losslake_contributions.settings import Settings
from losslake_contributions.store.tables import Channel
from losslake_schema.errors import LossLakeError
from tests.contributions.conftest import ADA, Sender, Service, serving
from tests.contributions.notifications.conftest import Notifier
from tests.contributions.notifications.receivers import Mailbox, certificate, mail_server
from tests.contributions.notifications.test_events import REASON, returned

ADDRESS = "ada@mail.example"


def set_email(sender: Sender, address: str = ADDRESS) -> Any:
    return sender.send("PUT", "/v1/notifications/email", json={"address": address})


def link_in(message: EmailMessage) -> str:
    """The path of the link of an e-mail."""
    links = re.findall(r"http://\S+/notifications/\S+", message.get_content())
    assert f"<{links[-1]}>" == message["List-Unsubscribe"]
    return str(urlsplit(links[-1]).path)


def confirmed(service: Service, sender: Sender, notifier: Notifier, mailbox: Mailbox) -> str:
    """Set and confirm an address; return the path of its page."""
    assert set_email(sender).status_code == 201
    notifier.deliver()
    path = link_in(mailbox.messages[-1])
    assert service.client.post(path, data={"wish": "confirm"}).status_code == 200
    return path


def test_nothing_is_sent_before_the_address_is_confirmed_and_looking_at_the_link_confirms_nothing(
    service: Service, ada: Sender, reviewer: Sender, notifier: Notifier, mailbox: Mailbox
) -> None:
    assert set_email(ada).json()["is_confirmed"] is False
    returned(ada, reviewer)
    notifier.deliver()
    (message,) = mailbox.messages
    assert message["Subject"] == "Confirm that LossLake may write to you"
    assert "Ada" not in message.as_string().replace(ADDRESS, "")
    path = link_in(message)
    answer = service.client.get(path)
    assert "Send e-mails to this address" in answer.text
    assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("no-store", "no-referrer")
    returned(ada, reviewer)
    notifier.deliver()
    assert len(mailbox.messages) == 1
    assert "The address is confirmed" in service.client.post(path, data={"wish": "confirm"}).text
    name = returned(ada, reviewer)
    notifier.deliver()
    assert len(mailbox.messages) == 2
    assert name in mailbox.messages[1].get_content()


def test_an_e_mail_is_plain_text_for_one_receiver_with_an_id_of_its_own(
    service: Service, ada: Sender, reviewer: Sender, notifier: Notifier, mailbox: Mailbox
) -> None:
    confirmed(service, ada, notifier, mailbox)
    returned(ada, reviewer)
    notifier.deliver()
    message = mailbox.messages[-1]
    (delivery,) = notifier.deliveries("returned")
    assert mailbox.receivers[-1] == [ADDRESS]
    assert (message["To"], message["From"]) == (ADDRESS, "LossLake <losslake@losslake.example>")
    assert message["Subject"] == "Returned: 1 run"
    assert message["Message-ID"] == f"<{delivery.id}@losslake.example>"
    assert message["Auto-Submitted"] == "auto-generated"
    link = f"http://localhost{link_in(message)}"
    assert f"\r\nList-Unsubscribe: <{link}>\r\n".encode() in mailbox.raw[-1]
    assert message.get_content_type() == "text/plain"
    quote = "\n".join(f"> {line}" for line in REASON.split("\n"))
    assert quote in message.get_content().replace("\r\n", "\n")
    assert set(mailbox.greetings) == {"losslake.example"}  # not the name of this machine


@pytest.mark.parametrize("form", [{"wish": "stop"}, {"List-Unsubscribe": "One-Click"}])
def test_the_owner_of_an_address_deletes_it_with_a_click(
    service: Service, ada: Sender, notifier: Notifier, mailbox: Mailbox, form: dict[str, str]
) -> None:
    path = confirmed(service, ada, notifier, mailbox)
    assert "The address was deleted" in service.client.post(path, data=form).text
    assert ada.send("GET", "/v1/notifications").json()["email"] is None
    assert service.client.get(path, headers={"Accept": "application/json"}).status_code == 404


def test_another_address_ends_the_first_with_its_link(
    service: Service, ada: Sender, notifier: Notifier, mailbox: Mailbox
) -> None:
    path = confirmed(service, ada, notifier, mailbox)
    assert set_email(ada, "ada@other.example").json()["is_confirmed"] is False
    assert service.client.post(path, data={"wish": "confirm"}).status_code == 404


@pytest.mark.parametrize("wish", ["", "confirm"])
def test_an_address_that_nobody_confirms_is_deleted_after_two_days(
    service: Service, ada: Sender, notifier: Notifier, mailbox: Mailbox, wish: str
) -> None:
    set_email(ada)
    notifier.deliver()
    service.client.post(link_in(mailbox.messages[-1]), data={"wish": wish})
    with Session(service.lake.engine) as session:
        session.execute(update(Channel).values(created_at=datetime.now(UTC) - timedelta(days=2)))
        session.commit()
    notifier.deliver()
    assert (ada.send("GET", "/v1/notifications").json()["email"] is not None) == (wish == "confirm")


def test_what_is_no_single_plain_address_is_refused(ada: Sender, notifier: Notifier) -> None:
    addresses = [
        "", "ada", "ada@", "@mail.example", "ada@mail", "a b@mail.example", "ada@mail.example\nBcc: all@mail.example",
        "ada@mail.example\r\n\r\nbuy", "ada@mail.example, bob@mail.example", "<ada@mail.example>", "ada@-mail.example",
        "Ada <ada@mail.example>", '"a\\"b"@mail.example', "ada@[127.0.0.1]", "\u00e4da@mail.example", ".a@mail.example",
        f"{'a' * 65}@mail.example", f"a@{'b.' * 130}example", "ada@mail.example\x00", "a..b@mail.example",
    ]  # fmt: skip
    answers = {address: set_email(ada, address) for address in addresses}
    assert {address for address, answer in answers.items() if answer.status_code != 422} == set()
    assert not any("\n" in answer.json()["detail"] for answer in answers.values())
    assert notifier.deliveries() == []


def test_at_most_three_e_mails_a_day_ask_to_confirm_an_address(
    service: Service, ada: Sender, notifier: Notifier, mailbox: Mailbox
) -> None:
    senders = [service.sender(f"Person {number}", None) for number in range(4)]
    assert [set_email(sender).status_code for sender in senders] == [201, 201, 201, 429]
    assert [set_email(sender).status_code for sender in senders[:3]] == [200, 200, 200]
    notifier.deliver()
    assert len(mailbox.messages) == 3


def test_a_refused_receiver_is_given_up_at_once(ada: Sender, notifier: Notifier, mailbox: Mailbox) -> None:
    mailbox.refuses = {ADDRESS}
    set_email(ada)
    notifier.deliver()
    (delivery,) = notifier.deliveries()
    assert (delivery.state, delivery.error) == ("given-up", "the mail server doesn't take e-mails to this address")


@pytest.mark.parametrize("fault", ["no server", "wrong password", "another certificate"])
def test_what_the_host_has_to_correct_is_logged_once_without_an_address(
    service: Service,
    ada: Sender,
    notifier: Notifier,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    fault: str,
) -> None:
    mailbox = Mailbox(login=("user", "right"), tls=certificate(tmp_path, "mail.example"))
    password = tmp_path / "password"
    password.write_text("wrong\n")
    set_email(ada)
    set_email(service.sender("Bob", None), "bob@mail.example")
    with mail_server(mailbox), caplog.at_level(logging.ERROR):
        settings = mailbox.settings
        if fault == "no server":
            settings["smtp_port"] = 9
        if fault == "wrong password":
            settings |= {"smtp_security": "none", "smtp_user": "user", "smtp_password_file": str(password)}
        notifier.settings = settings
        notifier.deliver()
    (line,) = [record.getMessage() for record in caplog.records]
    reason = {"no server": "refused", "wrong password": "code 535", "another certificate": "CERTIFICATE_VERIFY_FAILED"}
    assert line.startswith(f"no e-mail can be sent by 127.0.0.1:{settings['smtp_port']} (")
    assert reason[fault] in line
    assert line.endswith("smtp_user, smtp_password_file and email_from")
    assert "@" not in line
    assert {each.state for each in notifier.deliveries()} == {"pending"}
    assert notifier.deliveries()[0].error == "the service can't send e-mails now: its operator has to correct that"


def test_e_mails_are_sent_encrypted_with_the_user_of_the_settings(
    ada: Sender, notifier: Notifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailbox = Mailbox(login=("user", "right"), tls=certificate(tmp_path, "mail.example"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    password = tmp_path / "password"
    password.write_text("right\n")
    set_email(ada)
    with mail_server(mailbox):
        notifier.settings = {**mailbox.settings, "smtp_user": "user", "smtp_password_file": str(password)}
        notifier.deliver()
    assert mailbox.sessions == [(True, "user")]


def test_a_service_without_an_smtp_server_says_so(empty_lake: Lake) -> None:
    with serving(empty_lake) as service:
        response = set_email(service.sender("Ada", ADA))
    assert response.status_code == 409
    assert response.json()["detail"] == (
        "this service sends no e-mail, as its operator has set no SMTP server: set a webhook"
    )


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "smtp_host is set without email_from"),
        ({"email_from": "a@b.example", "smtp_security": "none"}, "smtp_security is none, and other machines could"),
        ({"email_from": "a@b.example", "smtp_user": "a"}, "smtp_user and smtp_password_file are only useful together"),
        (
            {"email_from": "a@b.example", "smtp_user": "a", "smtp_password_file": "/nowhere"},
            "smtp_password_file: /nowhere can't be read: No such file or directory",
        ),
    ],
)
def test_settings_with_which_nothing_can_be_sent_are_refused_at_the_start(
    settings: dict[str, str], reason: str
) -> None:
    with pytest.raises(LossLakeError, match=reason):
        check_email_settings(Settings.model_validate({"smtp_host": "mail.example", **settings}))


def test_the_key_that_is_rotated_ends_the_links(
    service: Service, ada: Sender, notifier: Notifier, mailbox: Mailbox
) -> None:
    path = confirmed(service, ada, notifier, mailbox)
    SigningKey.of(service.lake).replace()
    assert service.client.get(path).status_code == 404
    assert socket.gethostname() not in mailbox.messages[0].as_string()

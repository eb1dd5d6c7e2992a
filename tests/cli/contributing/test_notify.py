"""`losslake notify` sets, shows and deletes where a contributor is told of events, and says what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_cli.contributing.notify import notify
from losslake_contributions.people.tokens import create_token
from losslake_contributions.store.database import Database
from losslake_schema.errors import LossLakeError
from tests.contributions.notifications.receivers import Mailbox, Webhook, mail_server, receiving
from tests.contributions.running import running_service

SET = ": returned, accepted, silent, diverged"


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    with mail_server(Mailbox()) as made:
        yield made


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, mailbox: Mailbox) -> Iterator[str]:
    lake = Lake.create(tmp_path_factory.mktemp("told") / "lake")
    settings = {"webhook_networks": ("127.0.0.0/8",), **mailbox.settings}
    with running_service(lake, **settings) as service, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOSSLAKE_TOKEN", create_token(Database.open(lake), "Ada", None, ["contribute"], 1))
        yield service.url


def test_addresses_are_set_with_what_became_of_the_first_message_shown_and_deleted(
    url: str, mailbox: Mailbox, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with receiving(Webhook()) as webhook:
        notify(url, webhook=webhook.url, email="ada@mail.example")
    lines = capsys.readouterr().out.splitlines()
    shown = f"http://127.0.0.1:{webhook.port}/…"
    assert lines[0] == f"webhook      {shown}{SET}"
    assert lines[1].startswith("             signed with llw_")
    assert lines[1].endswith(", which is shown only once")
    assert lines[2:] == [
        "             the first message was delivered",
        f"email        a…@mail.example{SET}, not confirmed yet",
        "             an e-mail with a link was sent: confirm the address there within two days",
    ]
    assert (len(webhook.requests), len(mailbox.messages)) == (1, 1)
    notify(url)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[0] != " "] == ["webhook", "email"]
    notify(url, off=True)
    notify(url)
    assert capsys.readouterr().out.splitlines() == [
        "your webhook and your e-mail address are deleted from the service",
        "nothing is set: give --webhook URL or --email ADDRESS",
    ]


def test_a_webhook_that_nothing_reaches_is_said_at_once(url: str) -> None:
    with pytest.raises(LossLakeError, match="the first message can't be delivered: it can't be connected to; correct"):
        notify(url, webhook="http://127.0.0.1:9/")


def test_options_that_contradict_each_other_are_refused_before_anything_is_sent() -> None:
    nowhere = "http://127.0.0.1:9"
    with pytest.raises(LossLakeError, match="--off deletes everything: give it alone"):
        notify(nowhere, off=True, email="a@b.example")
    with pytest.raises(LossLakeError, match="--event belongs to --webhook or --email"):
        notify(nowhere, events=["silent"])
    with pytest.raises(LossLakeError, match="there is no event 'done': there are returned, accepted, silent, diverged"):
        notify(nowhere, events=["done"], email="a@b.example")

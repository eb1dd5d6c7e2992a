"""Documents of notifications: where a contributor wants to be told of what became of runs."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field, StringConstraints

from losslake_contributions.protocol.texts import Document

Event = Literal["returned", "accepted", "silent", "diverged"]
EVENTS: tuple[str, ...] = get_args(Event)
ChannelKind = Literal["webhook", "email"]
DeliveryState = Literal["pending", "delivered", "given-up", "left-out", "outdated"]
LONGEST_URL = 2_000
_LONGEST_ADDRESS = 254  # RFC 5321
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS = re.compile(rf"(?=.{{1,64}}@){_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})+")


def email_address(text: str) -> str:
    """Return an e-mail address in ASCII; raise ValueError for anything else."""
    if not _ADDRESS.fullmatch(text):
        raise ValueError("give one e-mail address in ASCII, such as ada@example.org")
    return text


def _events(events: tuple[Event, ...]) -> tuple[Event, ...]:
    if len(set(events)) < len(events):
        raise ValueError("the same event is named twice")
    return events


Events = Annotated[tuple[Event, ...], Field(min_length=1, strict=False), AfterValidator(_events)]
_ALL: tuple[Event, ...] = get_args(Event)


class WebhookRequest(Document):
    """The webhook that is told of events. url: https."""

    url: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_URL)]
    events: Events = _ALL


class EmailRequest(Document):
    """The e-mail address that is told of events, once somebody has confirmed it."""

    address: Annotated[str, StringConstraints(max_length=_LONGEST_ADDRESS), AfterValidator(email_address)]
    events: Events = _ALL


class DeliveryFacts(Document):
    """A notification. event: also `hello` and `confirm`, which a new webhook or address gets first.

    subject: the submission or the run. error: of the last try that failed.
    """

    id: str
    event: str
    subject: str
    state: DeliveryState
    tries: int
    created_at: datetime
    changed_at: datetime
    error: str | None = None


class ChannelFacts(Document):
    """A webhook or an e-mail address. address: without what is secret in it. deliveries: the last 20, newest first.

    secret: that signs what is sent to a webhook, only in the answer to the request that set it.
    """

    kind: ChannelKind
    address: str
    events: Annotated[tuple[Event, ...], Field(strict=False)]
    is_confirmed: bool
    created_at: datetime
    deliveries: Annotated[tuple[DeliveryFacts, ...], Field(strict=False)] = ()
    secret: str | None = None


class Notifications(Document):
    """The addresses of a contributor that are told of events; None for none."""

    webhook: ChannelFacts | None = None
    email: ChannelFacts | None = None

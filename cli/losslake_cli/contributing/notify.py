"""`losslake notify`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, cast

import typer

from losslake_cli.console import echo
from losslake_cli.contributing.push import TokenFileOption, UrlOption, read_token
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake_contributions.client.connection import ContributionClient
    from losslake_contributions.protocol.notifications import (
        ChannelFacts,
        DeliveryFacts,
        EmailRequest,
        Event,
        Notifications,
        WebhookRequest,
    )

_PATH = "v1/notifications"
_SECONDS, _BETWEEN_LOOKS = 20.0, 0.5
_MOST_SHOWN = 5


def notify(
    url: UrlOption,
    webhook: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Send notifications there: https, as a chat has it."),
    ] = None,
    email: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Send them there, once you confirm it.")] = None,
    events: Annotated[
        list[str] | None,
        typer.Option("--event", metavar="EVENT", help="returned, accepted, silent or diverged; may be repeated."),
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Delete your webhook and your address from the service.")] = False,
    token_file: TokenFileOption = None,
) -> None:
    """Be told what becomes of your runs, by webhook or e-mail.

    Of submissions that are returned or accepted, and live runs that fall silent or diverge. Without options, it shows
    what is set, and the last notifications. It is the same for all of your tokens.
    """
    from losslake_contributions.client.connection import ContributionClient
    from losslake_contributions.protocol.notifications import EVENTS, EmailRequest, Notifications, WebhookRequest

    if off and (webhook or email or events):
        raise LossLakeError("--off deletes everything: give it alone")
    if events and not (webhook or email):
        raise LossLakeError("--event belongs to --webhook or --email: give one of them, too")
    wanted = _checked(events or EVENTS)
    with ContributionClient(url, read_token(token_file, url)) as client:
        if off:
            client.send("DELETE", _PATH, Notifications)
            echo("your webhook and your e-mail address are deleted from the service")
            return
        if webhook is not None:
            _set(client, WebhookRequest.model_construct(url=webhook, events=wanted))
        if email is not None:
            _set(client, EmailRequest.model_construct(address=email, events=wanted))
        if webhook is None and email is None:
            _show(client.send("GET", _PATH, Notifications))


def _checked(events: Sequence[str]) -> tuple[Event, ...]:
    from losslake_contributions.protocol.notifications import EVENTS

    for event in events:
        if event not in EVENTS:
            raise LossLakeError(f"there is no event '{event}': there are {', '.join(EVENTS)}")
    return cast("tuple[Event, ...]", tuple(dict.fromkeys(events)))


def _set(client: ContributionClient, request: WebhookRequest | EmailRequest) -> None:
    """Set an address, and print what became of the first message to it."""
    from losslake_contributions.protocol.notifications import ChannelFacts, WebhookRequest

    kind = "webhook" if isinstance(request, WebhookRequest) else "email"
    _show_channel(facts := client.send("PUT", f"{_PATH}/{kind}", ChannelFacts, request))
    if facts.secret is not None:
        echo(f"             signed with {facts.secret}, which is shown only once")
    first = _first_message(client, facts)
    if first is not None and first.error is not None:
        raise LossLakeError(f"the first message can't be delivered: {first.error}; correct that, and run this again")
    if first is None or first.state == "pending":
        echo("             the first message is not delivered yet: run 'losslake notify' later to see it")
    elif kind == "webhook":
        echo("             the first message was delivered")
    elif not facts.is_confirmed:
        echo("             an e-mail with a link was sent: confirm the address there within two days")


def _first_message(client: ContributionClient, facts: ChannelFacts) -> DeliveryFacts | None:
    """Return the first message of a channel once it was tried, or as it is after some seconds."""
    from losslake_contributions.protocol.notifications import Notifications

    deadline = time.monotonic() + _SECONDS
    while True:
        stored = client.send("GET", _PATH, Notifications)
        channel = stored.webhook if facts.kind == "webhook" else stored.email
        first = [each for each in channel.deliveries if each.event in ("hello", "confirm")] if channel else []
        if not first or first[0].tries or time.monotonic() > deadline:
            return first[0] if first else None
        time.sleep(_BETWEEN_LOOKS)


def _show(stored: Notifications) -> None:
    channels = [each for each in (stored.webhook, stored.email) if each is not None]
    if not channels:
        echo("nothing is set: give --webhook URL or --email ADDRESS")
    for channel in channels:
        _show_channel(channel)
        for each in channel.deliveries[:_MOST_SHOWN]:
            reason = f": {each.error}" if each.error else ""
            echo(f"             {each.changed_at:%Y-%m-%d %H:%M} {each.event} {each.subject} {each.state}{reason}")


def _show_channel(channel: ChannelFacts) -> None:
    state = "" if channel.is_confirmed else ", not confirmed yet"
    echo(f"{channel.kind:<12} {channel.address}: {', '.join(channel.events)}{state}")

"""Routes of notifications: where one is told of events, set, listed and deleted."""

from __future__ import annotations

import math
from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import Response

from losslake_contributions.notifications import channels as store
from losslake_contributions.notifications.webhook import Reach
from losslake_contributions.people.links import Links
from losslake_contributions.people.requests import ERRORS, body_of, in_thread, parse_body, respond, sender
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.notifications import (
    ChannelFacts,
    ChannelKind,
    EmailRequest,
    Notifications,
    WebhookRequest,
)
from losslake_contributions.settings import Settings
from losslake_contributions.store.database import Database
from losslake_service.shares.allowances import HOUR, Allowance

PREFIX = "/v1/notifications"
CHANGES_PER_HOUR = 10
CONFIRMATIONS_PER_DAY = 3
_DAY = 24 * HOUR


class Changes:
    """The changes of addresses that are allowed, for one process, so that the service is no relay of strangers."""

    def __init__(self) -> None:
        self._of_contributors = Allowance(CHANGES_PER_HOUR, HOUR)
        self._to_addresses = Allowance(CONFIRMATIONS_PER_DAY, _DAY)

    def use(self, contributor: str, email: str | None = None) -> None:
        """Count a change, and a confirmation that is sent to an e-mail address. Raises ContributionError."""
        self._take(self._of_contributors, contributor, f"addresses change {CHANGES_PER_HOUR} times an hour at most")
        if email is not None:
            most = f"{CONFIRMATIONS_PER_DAY} e-mails a day ask to confirm an address at most"
            self._take(self._to_addresses, email.lower(), most)

    def _take(self, allowance: Allowance, of: str, most: str) -> None:
        balance = allowance.take(of)
        if not balance.is_allowed:
            seconds = math.ceil(balance.retry)
            raise ContributionError("too-fast", f"{most}: try again in {seconds:,} s", retry_after=seconds)


def add_notifications(router: APIRouter, database: Database, links: Links, settings: Settings) -> None:
    """Add the routes."""
    contributor = sender(database, "contribute")
    reach, changes = Reach.of(settings.webhook_networks), Changes()
    _add_deletions(router, database)
    put = partial(router.put, responses=ERRORS, response_model=ChannelFacts)

    @router.get(PREFIX, responses=ERRORS, response_model=Notifications)
    async def get_notifications(identity: Identity = contributor) -> Response:
        """Return where one is told of events, and the last notifications with their state."""
        return respond(await in_thread(store.list_channels, database, identity.contributor))

    @put(f"{PREFIX}/webhook", openapi_extra=body_of(WebhookRequest))
    async def put_webhook(request: Request, identity: Identity = contributor) -> Response:
        """Have a webhook told of events. 201 with its secret, and 200 for the same again."""
        wanted = await parse_body(request, WebhookRequest)
        reach.check(wanted.url)
        changes.use(identity.contributor)
        base = links.base(request)
        change = store.set_channel, database, identity, "webhook", wanted.url, wanted.events, base
        is_new = await in_thread(*change)
        secret = await in_thread(store.secret_of, database, links.key, identity.contributor) if is_new else None
        return await answer(identity, "webhook", is_new, secret)

    @put(f"{PREFIX}/email", openapi_extra=body_of(EmailRequest))
    async def put_email(request: Request, identity: Identity = contributor) -> Response:
        """Have an e-mail address told of events, once its owner has confirmed it. 201, and 200 for the same again."""
        wanted = await parse_body(request, EmailRequest)
        if not settings.smtp_host:
            detail = "this service sends no e-mail, as its operator has set no SMTP server: set a webhook"
            raise ContributionError("no-email", detail)
        if await in_thread(store.has_address, database, identity.contributor, wanted.address):
            changes.use(identity.contributor)
        else:
            changes.use(identity.contributor, wanted.address)
        base = links.base(request)
        change = store.set_channel, database, identity, "email", wanted.address, wanted.events, base
        return await answer(identity, "email", await in_thread(*change))

    async def answer(identity: Identity, kind: ChannelKind, is_new: bool, secret: str | None = None) -> Response:
        stored = await in_thread(store.list_channels, database, identity.contributor)
        facts: ChannelFacts | None = getattr(stored, kind)
        if facts is None:
            raise ContributionError("unknown-address", f"the {kind} was deleted meanwhile: set it again")
        return respond(facts.model_copy(update={"secret": secret}), 201 if is_new else 200)


def _add_deletions(router: APIRouter, database: Database) -> None:
    contributor = sender(database, "contribute")
    remove = partial(router.delete, responses=ERRORS, response_model=Notifications)

    @remove(PREFIX)
    async def delete_notifications(identity: Identity = contributor) -> Response:
        """Delete one's webhook and e-mail address. 200 with what remains, also for the same again."""
        return await delete(identity, None)

    @remove(f"{PREFIX}/webhook")
    async def delete_webhook(identity: Identity = contributor) -> Response:
        """Delete one's webhook. 200 with what remains, also for the same again."""
        return await delete(identity, "webhook")

    @remove(f"{PREFIX}/email")
    async def delete_email(identity: Identity = contributor) -> Response:
        """Delete one's e-mail address. 200 with what remains, also for the same again."""
        return await delete(identity, "email")

    async def delete(identity: Identity, kind: ChannelKind | None) -> Response:
        await in_thread(store.delete_channels, database, identity, kind)
        return respond(await in_thread(store.list_channels, database, identity.contributor))

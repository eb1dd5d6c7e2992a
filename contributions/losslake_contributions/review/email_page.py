"""The page behind the link in e-mails: it confirms an address, and later deletes it.

Programs that look at links in e-mails confirm nothing: that takes a button.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from losslake_contributions.notifications.channels import PAGES, confirm_email, find_email, stop_email
from losslake_contributions.people.links import Links
from losslake_contributions.people.requests import in_thread
from losslake_contributions.review.site import page, private, read_form
from losslake_contributions.store.database import Database

_ONE_CLICK = "One-Click"  # RFC 8058: what mail programs send


def add_email_page(router: APIRouter, database: Database, links: Links) -> None:
    """Add the page and its form."""

    @router.get(f"{PAGES}/{{token}}", include_in_schema=False)
    async def get_email_page(token: str) -> Response:
        row = await in_thread(find_email, database, links.key, token)
        return _page("ask" if row.confirmed_at is None else "confirmed", row.base)

    @router.post(f"{PAGES}/{{token}}", include_in_schema=False)
    async def post_email_page(request: Request, token: str) -> Response:
        form = await read_form(request)
        row = await in_thread(find_email, database, links.key, token)
        if form.get("wish") == "confirm":
            await in_thread(confirm_email, database, row.id)
            return _page("confirmed", row.base)
        if form.get("wish") == "stop" or form.get("List-Unsubscribe") == _ONE_CLICK:
            await in_thread(stop_email, database, row.id)
            return _page("stopped", row.base)
        return _page("ask" if row.confirmed_at is None else "confirmed", row.base, 422)


def _page(state: str, base: str, code: int = 200) -> Response:
    return private(page("email.html", "E-mails about runs", PAGES, None, code, state=state, base=base))

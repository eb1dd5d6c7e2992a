"""Routes of links: list one's own, and revoke them."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request
from fastapi.responses import Response

from losslake_contributions.people import links as store
from losslake_contributions.people.requests import ERRORS, in_thread, respond, sender
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.links import LinkFacts, LinkList
from losslake_contributions.store.database import Database
from losslake_service.problems import ParameterProblem

PREFIX = "/v1/links"
_ID = re.compile(r"[0-9a-f]{32}")


def add_links(router: APIRouter, database: Database) -> None:
    """Add the routes."""
    owner = sender(database, "contribute", "review")
    reader = sender(database, "contribute", "review", parameters=("after",))

    @router.get(PREFIX, responses=ERRORS, response_model=LinkList)
    async def get_links(request: Request, identity: Identity = reader) -> Response:
        """Return the valid links that were made for one's tokens, a page of 100 at a time."""
        after = _parse_link(request.query_params["after"]) if "after" in request.query_params else None
        rows = await in_thread(store.list_links, database, identity.contributor, after, store.PAGE + 1)
        following = rows[store.PAGE - 1].id if len(rows) > store.PAGE else None
        facts = tuple(LinkFacts.model_validate(row, from_attributes=True) for row in rows[: store.PAGE])
        return respond(LinkList(links=facts, next=following))

    @router.delete(f"{PREFIX}/{{link}}", status_code=204, responses=ERRORS, response_class=Response)
    async def delete_link(link: str, identity: Identity = owner) -> Response:
        """Revoke a link: nobody sees anything by it any more, open pages included. 204, also for the same again."""
        await in_thread(store.revoke_link, database, _parse_link(link), identity)
        return Response(status_code=204, headers={"Cache-Control": "no-store"})


def _parse_link(text: str) -> str:
    if not _ID.fullmatch(text):
        raise ParameterProblem("bad-parameter", "link", "the id of a link has 32 hexadecimal digits in lower case")
    return text

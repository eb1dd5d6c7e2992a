"""Routes of links: list one's own, and revoke them."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request
from fastapi.responses import Response

from losslake_contributions.people import links as store
from losslake_contributions.people.requests import identify, in_thread, only_parameters, respond
from losslake_contributions.protocol.links import LinkFacts, LinkList
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Link
from losslake_service.problems import ParameterProblem, problem_responses

PREFIX = "/v1/links"
_ID = re.compile(r"[0-9a-f]{32}")
_ERRORS = problem_responses(413, 422)


def add_links(router: APIRouter, database: Database) -> None:
    """Add the routes."""

    @router.get(PREFIX, responses=_ERRORS, response_model=LinkList)
    async def get_links(request: Request) -> Response:
        """Return the valid links that were made for one's tokens, a page of 100 at a time."""
        query = only_parameters(request, "after")
        identity = await identify(request, database, "contribute", "review")
        after = _parse_link(query["after"]) if "after" in query else None
        rows = await in_thread(store.list_links, database, identity.contributor, after, store.PAGE + 1)
        following = rows[store.PAGE - 1].id if len(rows) > store.PAGE else None
        return respond(LinkList(links=tuple(map(_facts, rows[: store.PAGE])), next=following))

    @router.delete(f"{PREFIX}/{{link}}", status_code=204, responses=_ERRORS, response_class=Response)
    async def delete_link(request: Request, link: str) -> Response:
        """Revoke a link: nobody sees anything by it any more, open pages included. 204, also for the same again."""
        only_parameters(request)
        identity = await identify(request, database, "contribute", "review")
        await in_thread(store.revoke_link, database, _parse_link(link), identity)
        return Response(status_code=204, headers={"Cache-Control": "no-store"})


def _parse_link(text: str) -> str:
    if not _ID.fullmatch(text):
        raise ParameterProblem("bad-parameter", "link", "the id of a link has 32 hexadecimal digits in lower case")
    return text


def _facts(row: Link) -> LinkFacts:
    return LinkFacts.model_construct(
        id=row.id,
        kind=row.kind,
        subject=row.subject,
        token=row.token,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )

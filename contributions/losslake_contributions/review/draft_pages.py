"""Drafts in the explorer: a link with a token leads into one, by a cookie for pages or by the path for programs.

Pages of the explorer link to each other from the root of the site. So a browser that follows `/drafts/TOKEN/PATH` gets
the token as a cookie and goes on to `/PATH`; every path that the contribution service doesn't have itself is then one
of the draft. A program asks `/drafts/TOKEN/v1/…`.
"""

from __future__ import annotations

import logging
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, unquote

from fastapi.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from losslake_contributions.people.link_addresses import Links
from losslake_contributions.people.requests import in_thread
from losslake_contributions.protocol.errors import KINDS, ContributionError, public_reason
from losslake_contributions.review.draft_apps import DraftApps
from losslake_contributions.review.private import as_private, private
from losslake_schema.errors import LossLakeError
from losslake_service.problems import problem, problem_document
from losslake_service.web.bare_page import accepts_html
from losslake_service.web.static_files import PREFIX as STATIC

FOLDER = "/drafts/"
COOKIE = "losslake_draft"
HOME = "/contribute"
LEAVE = "leave"
_log = logging.getLogger(__name__)
_UNKNOWN = "the link to this draft is wrong or has expired: ask its contributor or the reviewers for a new one"
_NOWHERE = "there is nothing at this path; a link to a draft leads to its pages, {home} says what this service does"


class Drafts:
    """The application for every path that the contribution service doesn't have itself."""

    def __init__(self, apps: DraftApps, links: Links, is_secure: bool) -> None:
        self._apps = apps
        self._links = links
        self._is_secure = is_secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from the draft that the path or the cookie names, or with a problem."""
        respond = await self._responder(scope)
        await respond(scope, receive, send)

    async def _responder(self, scope: Scope) -> ASGIApp:
        path: str = scope["path"]
        if not path.startswith(FOLDER):
            submission = await self._submission(_cookie(scope))
            if submission is not None:
                return self._draft(submission, path)
            if path == "/":
                return RedirectResponse(HOME, 303)
            return private(problem(scope, "unknown-path", _NOWHERE.format(home=HOME)))
        token, _, rest = path.removeprefix(FOLDER).partition("/")
        if token == LEAVE and not rest:
            return self._with_cookie(RedirectResponse(HOME, 303), "")
        submission = await self._submission(token)
        if submission is None:
            return private(problem_document(scope, "unknown-draft", *KINDS["unknown-draft"], _UNKNOWN))
        inner = {**scope, "path": f"/{rest}", "headers": scope["headers"]}
        if accepts_html(inner):
            query = f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
            # No more than one slash: two would begin the address of another site.
            place = quote(f"/{rest.lstrip('/')}", safe="/") + query
            return self._with_cookie(RedirectResponse(place, 303), token)
        return self._draft(submission, f"/{rest}")

    async def _submission(self, token: str) -> str | None:
        """Return the submission whose draft a token shows; None for a wrong token, or one that has ended."""
        link = await in_thread(self._links.find, "draft", token) if token else None
        return link.subject if link is not None else None

    def _draft(self, submission: str, path: str) -> ASGIApp:
        """Return the application that answers for a path of a draft, which nobody else may keep."""

        async def respond(scope: Scope, receive: Receive, send: Send) -> None:
            # To the draft's own application, it is at the root of the site.
            inner = {**scope, "path": path, "raw_path": quote(path, safe="/%").encode(), "root_path": ""}
            is_static = path.startswith(STATIC)
            try:
                await self._apps.respond(submission, inner, receive, send if is_static else as_private(send))
            except LossLakeError as error:
                kind = error.kind if isinstance(error, ContributionError) else "draft-unavailable"
                if kind == "draft-unavailable":
                    _log.error("the draft of %s can't be shown: %s", submission, error)
                await private(problem_document(scope, kind, *KINDS[kind], public_reason(error)))(scope, receive, send)

        return respond

    def _with_cookie(self, response: Response, token: str) -> Response:
        if token:
            response.set_cookie(COOKIE, token, secure=self._is_secure, httponly=True, samesite="lax")
        else:
            response.delete_cookie(COOKIE, secure=self._is_secure, httponly=True, samesite="lax")
        return private(response)


def _cookie(scope: Scope) -> str:
    """Return the value of the cookie with a draft's token; empty for none."""
    for name, value in scope["headers"]:
        if name == b"cookie":
            try:
                cookies = SimpleCookie(value.decode("latin-1"))
            except CookieError:
                continue
            if COOKIE in cookies:
                return unquote(cookies[COOKIE].value)
    return ""

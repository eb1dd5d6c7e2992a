"""Drafts in the explorer: a link with a token leads into one, by a cookie for pages or by the path for programs.

Pages of the explorer link to each other from the root of the site. So a browser that follows `/drafts/TOKEN/PATH` gets
the token as a cookie and goes on to `/PATH`; every path that the contribution service doesn't have itself is then one
of the draft. A program asks `/drafts/TOKEN/v1/…`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.responses import RedirectResponse, Response
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from losslake.lake.lake import Lake
from losslake_contributions.people.links import Links
from losslake_contributions.people.requests import in_thread
from losslake_contributions.protocol.errors import KINDS, ContributionError, public_reason
from losslake_contributions.review.lake_app import LakeApp, application_over
from losslake_contributions.review.review import SECONDS_TO_WAIT, Reviews
from losslake_contributions.review.site import as_private, private
from losslake_schema.errors import LossLakeError
from losslake_service.problems import problem
from losslake_service.settings import ServerSettings
from losslake_service.shares.places import NoPlace, UsedUp
from losslake_service.web.bare_page import accepts_html
from losslake_service.web.static_files import PREFIX as STATIC

FOLDER = "/drafts/"
COOKIE = "losslake_draft"
HOME = "/contribute"
LEAVE = "leave"
MOST_OPEN = 4
_NOTICE = "Draft of the submission {submission}, not reviewed: don't cite it. {releases}"
_BESIDE_STORED = "Release 1 has the stored trials of the same data set and model, release 2 the submitted ones as well."
_ALONE = "The lake has no trials of the same data set and model, so it has the submitted ones only."
_UNKNOWN = "the link to this draft is wrong or has expired: ask its contributor or the reviewers for a new one"
_NOWHERE = "there is nothing at this path; a link to a draft leads to its pages, {home} says what this service does"
_log = logging.getLogger(__name__)
FolderOf = Callable[[str], Awaitable[Path]]
"""Returns the folder of a submission's draft lake, and makes it first. Raises LossLakeError."""


async def draft_folder(reviews: Reviews, name: str) -> Path:
    """Return the folder of a submission's draft lake; wait for its review. Raises ContributionError."""
    try:
        making = await in_thread(reviews.begin, name)
    except (NoPlace, UsedUp):
        detail = f"the draft waits for those of other submissions: try again in {SECONDS_TO_WAIT} s"
        raise ContributionError("draft-unavailable", detail, retry_after=SECONDS_TO_WAIT) from None
    # Others wait for it as well, so that it goes on if this request is cancelled.
    waiting = asyncio.wrap_future(making)
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
    await asyncio.wait([waiting])
    return await in_thread(reviews.draft, name, making)


class Drafts:
    """The application for every path that the contribution service doesn't have itself.

    Of more than `most` open drafts, the one used longest ago is closed. settings: of the contribution service.
    """

    def __init__(self, folder_of: FolderOf, settings: ServerSettings, links: Links, most: int = MOST_OPEN) -> None:
        self._folder_of = folder_of
        self._settings = settings
        self._links = links
        self._most = most
        self._open: OrderedDict[tuple[str, Path], LakeApp] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from the draft that the path or the cookie names, or with a problem."""
        respond = await self._responder(scope)
        await respond(scope, receive, send)

    async def close(self) -> None:
        """Close every draft."""
        while self._open:
            self._close_oldest()
        await asyncio.gather(*self._closing)

    async def _responder(self, scope: Scope) -> ASGIApp:
        path: str = scope["path"]
        if not path.startswith(FOLDER):
            submission = await self._submission(HTTPConnection(scope).cookies.get(COOKIE, ""))
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
            return private(problem(scope, "unknown-draft", _UNKNOWN, None, KINDS))
        if accepts_html({**scope, "path": f"/{rest}"}):
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
                app = await self._app(submission)
                await app(inner, receive, send if is_static else as_private(send))
            except LossLakeError as error:
                kind = error.kind if isinstance(error, ContributionError) else "draft-unavailable"
                if kind == "draft-unavailable":
                    _log.error("the draft of %s can't be shown: %s", submission, error)
                await private(problem(scope, kind, public_reason(error), None, KINDS))(scope, receive, send)

        return respond

    async def _app(self, submission: str) -> LakeApp:
        """Return the application of a draft. Raises LossLakeError if the draft can't be made."""
        key = submission, await self._folder_of(submission)
        app = self._open.setdefault(key, LakeApp(partial(self._application, *key)))
        self._open.move_to_end(key)
        while len(self._open) > self._most:
            self._close_oldest()
        return app

    def _application(self, submission: str, folder: Path) -> FastAPI:
        lake = Lake.open(folder)
        releases = _BESIDE_STORED if len(lake.releases()) > 1 else _ALONE
        notice = _NOTICE.format(submission=submission, releases=releases)
        # A draft never changes, and its files are deleted once its submission is decided.
        changes = {"seconds_between_looks": 0.0, "sql_workers": 1, "releases_open": 2}
        return application_over(lake, self._settings, notice=notice, **changes)

    def _close_oldest(self) -> None:
        _, app = self._open.popitem(last=False)
        task = asyncio.create_task(app.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _with_cookie(self, response: Response, token: str) -> Response:
        is_secure = self._settings.public_url.startswith("https://")
        if token:
            response.set_cookie(COOKIE, token, secure=is_secure, httponly=True, samesite="lax")
        else:
            response.delete_cookie(COOKIE, secure=is_secure, httponly=True, samesite="lax")
        return private(response)

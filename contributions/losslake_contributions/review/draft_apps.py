"""The read service's applications over drafts, opened when they are asked for; few are open at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from losslake.lake.lake import Lake
from losslake_contributions.people.requests import in_thread
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.review.open_app import OpenApp, application_over
from losslake_contributions.review.review import SECONDS_TO_WAIT, Reviews
from losslake_service.settings import ServerSettings
from losslake_service.shares.places import NoPlace, UsedUp

MOST_OPEN = 4
NOTICE = "Draft of the submission {submission}, not reviewed: don't cite it. {releases}"
BESIDE_STORED = "Release 1 has the stored trials of the same data set and model, release 2 the submitted ones as well."
ALONE = "The lake has no trials of the same data set and model, so it has the submitted ones only."
# Returns the folder of a submission's draft lake, and makes it first. Raises LossLakeError.
FolderOf = Callable[[str], Awaitable[Path]]


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


class DraftApps:
    """The applications of the drafts that are open. Of more than `most`, the one used longest ago is closed.

    settings: of the contribution service, whose host, port and names of hosts the drafts share.
    """

    def __init__(self, folder_of: FolderOf, settings: ServerSettings, most: int = MOST_OPEN) -> None:
        self._folder_of = folder_of
        self._settings = settings
        self._most = most
        self._open: OrderedDict[tuple[str, Path], OpenApp] = OrderedDict()
        self._opening: dict[str, asyncio.Lock] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def respond(self, submission: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request from a draft. Raises LossLakeError if the draft can't be made."""
        draft = await self._draft(submission)
        await draft.respond(scope, receive, send)

    async def close(self) -> None:
        """End every application."""
        for draft in self._open.values():
            self._end(draft)
        self._open.clear()
        await asyncio.gather(*self._closing)

    async def _draft(self, submission: str) -> OpenApp:
        lock = self._opening.setdefault(submission, asyncio.Lock())
        async with lock:
            folder = await self._folder_of(submission)
            draft = self._open.get((submission, folder))
            if draft is None:
                app = await asyncio.to_thread(self._application, submission, folder)
                draft = self._open[submission, folder] = OpenApp(app)
                try:
                    await draft.started()
                except Exception:
                    del self._open[submission, folder]
                    raise
            self._open.move_to_end((submission, folder))
        while len(self._open) > self._most:
            self._end(self._open.popitem(last=False)[1])
        if not lock.locked():
            self._opening.pop(submission, None)
        return draft

    def _application(self, submission: str, folder: Path) -> FastAPI:
        lake = Lake.open(folder)
        releases = BESIDE_STORED if len(lake.releases()) > 1 else ALONE
        notice = NOTICE.format(submission=submission, releases=releases)
        # A draft never changes, and its files are deleted once its submission is decided.
        changes = {"seconds_between_looks": 0.0, "sql_workers": 1, "releases_open": 2}
        return application_over(lake, self._settings, notice=notice, **changes)

    def _end(self, draft: OpenApp) -> None:
        task = asyncio.create_task(draft.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

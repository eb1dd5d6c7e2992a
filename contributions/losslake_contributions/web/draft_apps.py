"""The read service's applications over drafts, opened when they are asked for; few are open at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from losslake.lake.lake import Lake
from losslake_service.app import create_app
from losslake_service.settings import ServerSettings, Settings

MOST_OPEN = 4
NOTICE = "Draft of the submission {submission}, not reviewed: don't cite it. {releases}"
BESIDE_STORED = "Release 1 has the stored trials of the same data set and model, release 2 the submitted ones as well."
ALONE = "The lake has no trials of the same data set and model, so it has the submitted ones only."
# Returns the folder of a submission's draft lake, and makes it first. Raises LossLakeError.
FolderOf = Callable[[str], Path]


class _OpenDraft:
    """An application in a task of its own, which starts it, waits, and ends it."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self.n_requests = 0
        self.is_idle = asyncio.Event()
        self.is_idle.set()
        self._may_end = asyncio.Event()
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        """Start and end the application in one task, as its cancel scopes need."""
        try:
            async with self.app.router.lifespan_context(self.app):
                self._started.set_result(None)
                await self._may_end.wait()
        except Exception as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def started(self) -> None:
        """Wait until the application has started. Raises what its start raised."""
        await asyncio.shield(self._started)

    async def close(self) -> None:
        """End the application after its last request."""
        await self.is_idle.wait()
        self._may_end.set()
        await self._task


class DraftApps:
    """The applications of the drafts that are open. Of more than `most`, the one used longest ago is closed.

    settings: of the contribution service, whose host, port and names of hosts the drafts share.
    """

    def __init__(self, folder_of: FolderOf, settings: ServerSettings, most: int = MOST_OPEN) -> None:
        self._folder_of = folder_of
        self._settings = settings
        self._most = most
        self._open: OrderedDict[tuple[UUID, Path], _OpenDraft] = OrderedDict()
        self._opening: dict[UUID, asyncio.Lock] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def respond(self, submission: UUID, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request from a draft. Raises LossLakeError if the draft can't be made."""
        draft = await self._draft(submission)
        draft.n_requests += 1
        draft.is_idle.clear()
        try:
            await draft.app(scope, receive, send)
        finally:
            draft.n_requests -= 1
            if not draft.n_requests:
                draft.is_idle.set()

    async def close(self) -> None:
        """End every application."""
        for draft in self._open.values():
            self._end(draft)
        self._open.clear()
        await asyncio.gather(*self._closing)

    async def _draft(self, submission: UUID) -> _OpenDraft:
        lock = self._opening.setdefault(submission, asyncio.Lock())
        async with lock:
            folder = await asyncio.to_thread(self._folder_of, str(submission))
            draft = self._open.get((submission, folder))
            if draft is None:
                app = await asyncio.to_thread(self._application, submission, folder)
                draft = self._open[submission, folder] = _OpenDraft(app)
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

    def _application(self, submission: UUID, folder: Path) -> FastAPI:
        lake = Lake.open(folder)
        releases = BESIDE_STORED if len(lake.releases()) > 1 else ALONE
        shared = {name: getattr(self._settings, name) for name in ServerSettings.model_fields}
        changes = {
            "lake": str(folder),
            "notice": NOTICE.format(submission=submission, releases=releases),
            "log_format": "off",
            "rate_limit": 0.0,
            "cors_origins": (),
            "sql_workers": 1,
            "releases_open": 2,
            "answer_cache_mb": 4,
        }
        return create_app(lake, Settings.model_construct(**{**shared, **changes}))

    def _end(self, draft: _OpenDraft) -> None:
        task = asyncio.create_task(draft.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

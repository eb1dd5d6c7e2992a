"""The read service's application over the lake itself, for the figures of live pages."""

from __future__ import annotations

import asyncio

from starlette.types import Receive, Scope, Send

from losslake.lake.lake import Lake
from losslake.questions.release.releases import Releases
from losslake_contributions.review.open_app import OpenApp, application_over
from losslake_service.settings import ServerSettings


class LakeApp:
    """The application, started when it is first asked for. settings: of the contribution service."""

    def __init__(self, lake: Lake, settings: ServerSettings) -> None:
        self._lake = lake
        self._settings = settings
        self._opening: asyncio.Task[OpenApp] | None = None

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await (await self._opened()).respond(scope, receive, send)

    async def releases(self) -> Releases:
        """Return its open releases."""
        releases: Releases = (await self._opened()).app.state.releases
        return releases

    async def close(self) -> None:
        """End the application, if it was started."""
        if self._opening is not None:
            await (await self._opening).close()

    async def _opened(self) -> OpenApp:
        """Return the application; the first request starts it, and others wait for that."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._start())
        try:
            # A client that leaves doesn't end it for the others.
            return await asyncio.shield(self._opening)
        except Exception:
            self._opening = None
            raise

    async def _start(self) -> OpenApp:
        app = await asyncio.to_thread(application_over, self._lake, self._settings, sql_enabled=False, releases_open=1)
        opened = OpenApp(app)
        await opened.started()
        return opened

"""The open releases of a lake: the newest by default, older ones as asked for, shared by all threads."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from losslake.index.shared import is_shared, touch
from losslake.lake.lake import Lake
from losslake.questions.errors import UnknownName, near_numbers
from losslake.questions.release_view import ReleaseView
from losslake_schema.database import Release
from losslake_schema.errors import UnknownRelease

SECONDS_BETWEEN_LOOKS = 1.0
MOST_OPEN = 4
_SECONDS_TO_STOP = 1.0

_log = logging.getLogger(__name__)


class Releases:
    """Gives the view of a release, keeping the last used ones open.

    Between `start` and `stop` a thread looks for a newer release and opens it; until it is open, questions are answered
    from the one before, and asking for the newest never waits and never touches the catalog.
    """

    def __init__(
        self, lake: Lake, seconds_between_looks: float = SECONDS_BETWEEN_LOOKS, most_open: int = MOST_OPEN
    ) -> None:
        self.lake = lake
        self._seconds_between_looks = seconds_between_looks
        self._most_open = most_open
        self._open: OrderedDict[int, ReleaseView] = OrderedDict()
        self._newest: ReleaseView | None = None
        self._changing = threading.Lock()
        self._looking = threading.Lock()
        self._opening: dict[int, threading.Lock] = {}
        self._thread: threading.Thread | None = None
        self._is_stopped = threading.Event()
        self._trouble = ""

    @property
    def newest(self) -> int | None:
        """The number of the newest open release; None before there is one."""
        return self._newest.number if self._newest is not None else None

    @property
    def n_open(self) -> int:
        """How many releases are open."""
        return len(self._open)

    def start(self) -> None:
        """Open the newest release, if it can be, and begin to look for newer ones."""
        self._look_and_log()
        self._is_stopped.clear()
        self._thread = threading.Thread(target=self._keep_looking, name="looks for releases", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more; a release that is being opened may still be."""
        self._is_stopped.set()
        if self._thread is not None:
            self._thread.join(_SECONDS_TO_STOP)
            self._thread = None

    def look(self) -> ReleaseView:
        """Look into the catalog and open its newest release unless it is; raises UnknownRelease and LakeBroken."""
        with self._looking:
            self._newest = self._opened(self.lake.release())
            self._close_unlisted(self._newest.number)
            return self._newest

    def _close_unlisted(self, newest: int) -> None:
        """Answer no more from releases that were taken out of the list: their files may go."""
        with self._changing:
            older = [number for number in self._open if number != newest]
        for number in older:
            release = self.lake.release_ever(number)
            if release is None or release.unlisted_at is not None:
                with self._changing:
                    self._open.pop(number, None)

    def view(self, number: int | None = None) -> ReleaseView:
        """The release of that number, by default the newest; raises UnknownName, UnknownRelease and LakeBroken.

        May take long where `recall` gives None: then not to be called from an event loop.
        """
        found = self.recall(number)
        if found is not None:
            return found
        if number is None:
            return self.look()
        try:
            release = self.lake.release(number)
        except UnknownRelease:
            known = near_numbers(number, (release.number for release in self.lake.releases()))
            raise UnknownName("release", str(number), [str(other) for other in known], "the lake") from None
        return self._opened(release)

    async def opened(self, number: int | None = None) -> ReleaseView:
        """As `view`, for an event loop: from memory at once, else in a thread."""
        found = self.recall(number)
        return found if found is not None else await run_in_threadpool(self.view, number)

    def recall(self, number: int | None = None) -> ReleaseView | None:
        """The release of that number, by default the newest, if it is open: at once, from memory."""
        newest = self._newest
        if newest is not None and number in (None, newest.number):
            return newest
        with self._changing:
            found = self._open.get(number) if number is not None else None
            if found is not None:
                self._open.move_to_end(found.number)
        return found

    def _opened(self, release: Release) -> ReleaseView:
        """The view of a release, opened once however many ask; beyond the limit the least recently used is dropped."""
        with self._changing:
            opening = self._opening.setdefault(release.number, threading.Lock())
        with opening:
            found = self.recall(release.number)
            if found is not None:
                return found
            try:
                opened = ReleaseView.open(self.lake, release)
                with self._changing:
                    self._open[release.number] = opened
                    while len(self._open) > self._most_open:
                        self._open.popitem(last=False)
            finally:
                with self._changing:
                    self._opening.pop(release.number, None)
            return opened

    def _keep_looking(self) -> None:
        while not self._is_stopped.wait(self._seconds_between_looks):
            self._look_and_log()
            if is_shared(self.lake):
                self._keep_files()

    def _keep_files(self) -> None:
        """Have nobody forget the files of open releases: workers for SQL open them anew."""
        with self._changing:
            views = [*self._open.values()]
        for view in views:
            touch(view.serving_file)

    def _look_and_log(self) -> None:
        """Look; trouble is logged once, as long as it stays the same, and ends when the lake can be read again."""
        before = self.newest
        try:
            now = self.look().number
        except Exception as error:  # noqa: BLE001 whatever it is, the open releases still answer
            trouble = f"can't look for a new release: {error}"
            if trouble != self._trouble:
                _log.error("%s", trouble)
            self._trouble = trouble
            return
        self._trouble = ""
        if now != before:
            _log.info("answering from release %d", now)


def open_releases(request: Request) -> Releases:
    """The releases that the application of a request answers from."""
    releases: Releases = request.app.state.releases
    return releases

"""The open releases of a lake, the newest by default, shared by all threads."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict

from anyio.to_thread import run_sync

from losslake.index.serving import is_built
from losslake.index.shared import touch
from losslake.lake.lake import Lake
from losslake.questions.release.errors import UnknownName, near_numbers
from losslake.questions.release.notices import Notices
from losslake.questions.release.view import ReleaseView
from losslake_schema.errors import UnknownRelease
from losslake_schema.release import Release

SECONDS_BETWEEN_LOOKS = 1.0
MOST_OPEN = 4
LOOKING = "looks for releases"
"""The name of the threads that look for newer releases."""
# A process that ends while a thread opens a release in C++ aborts, and opening takes seconds.
SECONDS_TO_STOP = 30.0

_log = logging.getLogger(__name__)


class Releases:
    """A cache of open releases, the least recently used closed first.

    Between `start` and `stop` a thread looks for a newer release and opens it; until it is open, questions are answered
    from the one before, and asking for the newest never waits and never touches the catalog.
    """

    def __init__(
        self, lake: Lake, seconds_between_looks: float = SECONDS_BETWEEN_LOOKS, most_open: int = MOST_OPEN
    ) -> None:
        """Take the lake. seconds_between_looks: 0 for a lake that gets no release any more."""
        self.lake = lake
        self._seconds_between_looks = seconds_between_looks
        self._most_open = most_open
        self._open: OrderedDict[int, ReleaseView] = OrderedDict()
        self._newest: ReleaseView | None = None
        self._changing = threading.Lock()
        self._refreshing = threading.Lock()
        self._opening: dict[int, threading.Lock] = {}
        self._thread: threading.Thread | None = None
        self._is_stopped = threading.Event()
        self._is_starting = False
        self._trouble = ""
        self.notices = Notices(lake)

    @property
    def newest(self) -> int | None:
        """The number of the newest open release; None before there is one."""
        return self._newest.number if self._newest is not None else None

    @property
    def n_open(self) -> int:
        """The number of open releases."""
        return len(self._open)

    @property
    def is_starting(self) -> bool:
        """True while the files of the first release to be opened are built; `view` waits for it."""
        return self._is_starting

    def start(self) -> None:
        """Start to look for newer releases; open the newest first, unless its files have to be built, if possible."""
        self._is_starting = bool(self._seconds_between_looks) and not self._opens_at_once()
        if self._is_starting:
            # Requests for older releases, which don't wait for the newest, have to say what was withdrawn from them.
            self.notices.refresh(None)
        else:
            self._refresh_and_log()
        if not self._seconds_between_looks:
            return
        self._is_stopped.clear()
        self._thread = threading.Thread(target=self._keep_refreshing, name=LOOKING, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop looking for releases; waits for one that is being opened."""
        self._is_stopped.set()
        if self._thread is not None:
            self._thread.join(SECONDS_TO_STOP)
            self._thread = None

    def refresh(self) -> ReleaseView:
        """Read the catalog and open its newest release if needed; raises UnknownRelease and LakeBroken."""
        with self._refreshing:
            self._newest = self._opened(self.lake.release())
            self._close_unlisted(self._newest.number)
            return self._newest

    def _close_unlisted(self, newest: int) -> None:
        """Close releases that are no longer listed: their files may be deleted."""
        with self._changing:
            older = [number for number in self._open if number != newest]
        for number in older:
            release = self.lake.find_release(number)
            if release is None or release.unlisted_at is not None:
                with self._changing:
                    self._open.pop(number, None)

    def view(self, number: int | None = None) -> ReleaseView:
        """Return a release by number, by default the newest; raises UnknownName, UnknownRelease and LakeBroken.

        May take long where `cached_view` gives None: then not to be called from an event loop.
        """
        view = self.cached_view(number)
        if view is not None:
            return view
        if number is None:
            return self.refresh()
        try:
            release = self.lake.release(number)
        except UnknownRelease:
            near = near_numbers(number, (release.number for release in self.lake.releases()))
            raise UnknownName("release", str(number), [str(other) for other in near], "the lake") from None
        return self._opened(release)

    async def view_async(self, number: int | None = None) -> ReleaseView:
        """Return the same from an event loop: at once if it is open, otherwise through a thread."""
        view = self.cached_view(number)
        return view if view is not None else await run_sync(self.view, number)

    def cached_view(self, number: int | None = None) -> ReleaseView | None:
        """Return a release by number, by default the newest, if it is open; never waits."""
        newest = self._newest
        if newest is not None and number in (None, newest.number):
            return newest
        with self._changing:
            view = self._open.get(number) if number is not None else None
            if view is not None:
                self._open.move_to_end(view.number)
        return view

    def _opened(self, release: Release) -> ReleaseView:
        """Return the view of a release, opened once for all threads; beyond the limit, drop the least recently used."""
        with self._changing:
            opening = self._opening.setdefault(release.number, threading.Lock())
        with opening:
            view = self.cached_view(release.number)
            if view is not None:
                return view
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

    def _opens_at_once(self) -> bool:
        """Return False if files of the newest release have to be built before."""
        try:
            newest = self.lake.newest_release()
        except Exception:  # noqa: BLE001 whatever it is, `refresh` will report it
            return True
        return newest is None or is_built(self.lake, newest)

    def _keep_refreshing(self) -> None:
        if self._is_starting:
            self._refresh_and_log()
            self._is_starting = False
        while not self._is_stopped.wait(self._seconds_between_looks):
            self._refresh_and_log()
            self._keep_files()

    def _keep_files(self) -> None:
        """Mark the files of open releases as used: SQL workers reopen them, and ingests build those of the next."""
        with self._changing:
            views = [*self._open.values()]
        for view in views:
            touch(view.serving_file)

    def _refresh_and_log(self) -> None:
        """Refresh; log each new error once."""
        before = self.newest
        try:
            now = self.refresh().number
        except Exception as error:  # noqa: BLE001 whatever it is, the open releases still answer
            trouble = f"can't look for a new release: {error}"
            if trouble != self._trouble:
                _log.error("%s", trouble)
            self._trouble = trouble
            return
        self._trouble = ""
        self.notices.refresh(now)
        if now != before:
            _log.info("answering from release %d", now)

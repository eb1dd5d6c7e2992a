"""The open releases of a lake: the newest by default, older ones as asked for, shared by all threads."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from schema.database import Release
from schema.errors import UnknownRelease
from schema.lake import Lake
from service.errors import UnknownName, near_numbers
from service.release_view import ReleaseView

SECONDS_BETWEEN_LOOKS = 1.0
MOST_OPEN = 4


class Releases:
    """Gives the view of a release, keeping the last used ones open.

    The catalog is looked at for a newer release at most once a second. Who asks while one is being opened is answered
    from the one before.
    """

    def __init__(
        self, lake: Lake, seconds_between_looks: float = SECONDS_BETWEEN_LOOKS, most_open: int = MOST_OPEN
    ) -> None:
        self.lake = lake
        self._seconds_between_looks = seconds_between_looks
        self._most_open = most_open
        self._open: OrderedDict[int, ReleaseView] = OrderedDict()
        self._newest: ReleaseView | None = None
        self._looked_at = float("-inf")
        self._changing = threading.Lock()
        self._looking = threading.Lock()

    def view(self, number: int | None = None) -> ReleaseView:
        """The release of that number, by default the newest; raises UnknownName, UnknownRelease and LakeBroken."""
        return self._view_of_newest() if number is None else self._view_numbered(number)

    def _view_of_newest(self) -> ReleaseView:
        newest = self._newest
        is_due = newest is None or time.monotonic() - self._looked_at >= self._seconds_between_looks
        if is_due and self._looking.acquire(blocking=newest is None):
            try:
                if self._newest is newest:
                    self._newest = self._opened(self.lake.release())
                    self._looked_at = time.monotonic()
            finally:
                self._looking.release()
        assert self._newest is not None
        return self._newest

    def _view_numbered(self, number: int) -> ReleaseView:
        found = self._recall(number)
        if found is not None:
            return found
        try:
            release = self.lake.release(number)
        except UnknownRelease:
            known = near_numbers(number, (release.number for release in self.lake.releases()))
            raise UnknownName("release", str(number), [str(other) for other in known], "the lake") from None
        return self._opened(release)

    def _opened(self, release: Release) -> ReleaseView:
        """The view of a release, opened unless it is; the least recently used one beyond the limit is dropped."""
        found = self._recall(release.number)
        if found is None:
            found = ReleaseView.open(self.lake, release)
            with self._changing:
                found = self._open.setdefault(release.number, found)
                while len(self._open) > self._most_open:
                    self._open.popitem(last=False)
        return found

    def _recall(self, number: int) -> ReleaseView | None:
        with self._changing:
            found = self._open.get(number)
            if found is not None:
                self._open.move_to_end(number)
        return found

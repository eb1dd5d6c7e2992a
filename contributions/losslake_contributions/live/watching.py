"""The runs that somebody watches: each is read once for all who watch it, and only while somebody does."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from cachetools import LRUCache

from losslake_contributions.intake.runs import contributor_of
from losslake_contributions.live.reader import RunReader, RunState
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.store.database import Database
from losslake_service.shares.places import NoPlace, Places

T = TypeVar("T")
MOST_RUNS, MOST_RUNS_OF_ONE = 32, 8
MOST_WATCHERS, MOST_WATCHERS_OF_ONE = 100, 40
"""In this process; of one: of one contributor, so that nobody's links keep others from their runs."""
SECONDS_BETWEEN_READS = 1.0
_SECONDS_KEPT = 30.0
_LONGEST_PAUSE_S = 30.0
# Views of a run: of each metric, goal and stored workload that somebody looks at.
_MOST_VIEWS = 128
# Other requests need the other threads.
_THREADS = 2
_WATCHED = "runs{} are watched"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Overview:
    """A run as it was read last. metrics: that are measured. last_step: of all metrics; None before a measurement."""

    state: RunState
    metrics: tuple[str, ...]
    last_step: int | None


class WatchedRun:
    """A run that is read periodically. version: changes with its measurements and its state.

    owner: who sent it. trouble: why it can't be read any more; None while it can.
    """

    def __init__(self, reader: RunReader, owner: str, seconds: float, threads: CapacityLimiter) -> None:
        self.owner = owner
        self.version = 0
        self.trouble: ContributionError | None = None
        self.n_users = self.n_watchers = 0
        self._reader = reader
        self._seconds = seconds
        self._threads = threads
        self._overview: Overview | None = None
        self._seen: object = None
        self._read_at = -seconds
        self._views: LRUCache[Hashable, Any] = LRUCache(_MOST_VIEWS)
        self._turn = asyncio.Lock()
        # Also for threads whose request was cancelled: a reader is for one at a time.
        self._reading = threading.Lock()
        self._changed = asyncio.Event()
        self._refreshing: asyncio.Task[None] | None = None

    async def refresh(self) -> None:
        """Read what is new, unless that was done a moment ago. Raises ContributionError and LakeBroken."""
        async with self._turn:
            now = asyncio.get_running_loop().time()
            if now - self._read_at < self._seconds:
                return
            overview = await self._in_thread(self._read)
            self._read_at = now
            if overview is not None:
                self._overview = overview
                self._change()

    def _read(self) -> Overview | None:
        """Read what is new, and return the overview; None if nothing is."""
        state = self._reader.refresh()
        seen = self._reader.version, state.status, state.is_silent
        if seen == self._seen:
            return None
        self._seen = seen
        last = self._reader.curves.last_steps()
        return Overview(state, tuple(last), max(last.values(), default=None))

    @property
    def overview(self) -> Overview:
        """The run as it was read last; it must have been read."""
        assert self._overview is not None
        return self._overview

    async def view(self, key: Hashable, work: Callable[[RunReader, Overview], T]) -> tuple[int, Overview, T]:
        """Return the version, the overview, and what `work` gives of them: once for all who ask for the key.

        The run must have been read.
        """
        async with self._turn:
            overview = self.overview
            if key not in self._views:
                self._views[key] = await self._in_thread(partial(work, self._reader, overview))
            view: T = self._views[key]
            return self.version, overview, view

    async def wait(self, version: int, seconds: float) -> bool:
        """Wait until there is another version than this one, or trouble; return False if so many seconds pass first."""
        changed = self._changed
        if self.version == version and self.trouble is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), seconds)
        return self.version != version or self.trouble is not None

    def begin(self) -> None:
        """Start the periodic refresh."""
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._keep_refreshing())

    async def end(self) -> None:
        """Stop refreshing."""
        if self._refreshing is not None:
            task, self._refreshing = self._refreshing, None
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _keep_refreshing(self) -> None:
        loop, pause = asyncio.get_running_loop(), self._seconds
        while True:
            started = loop.time()
            try:
                await self.refresh()
                # A large run leaves half of the time to others.
                pause = max(self._seconds, loop.time() - started)
            except ContributionError as error:
                self.trouble = error
                self._change()
                return
            except Exception:  # noqa: BLE001 - whatever it is, the next read may do better
                _log.exception("a run that is watched can't be read")
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause)

    def _change(self) -> None:
        self.version += 1
        self._views.clear()
        self._changed.set()
        self._changed = asyncio.Event()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        def alone() -> T:
            with self._reading:
                return work()

        return await run_sync(alone, limiter=self._threads)


class Watching:
    """The watched runs of this process, and the places for those who watch."""

    def __init__(self, database: Database, seconds: float | None = None, seconds_kept: float = _SECONDS_KEPT) -> None:
        """Take the database. seconds: between two reads of a run; None: SECONDS_BETWEEN_READS."""
        self._database = database
        self._seconds = SECONDS_BETWEEN_READS if seconds is None else seconds
        self._seconds_kept = seconds_kept
        self._threads = CapacityLimiter(_THREADS)
        self._in_use = Places(MOST_RUNS, MOST_RUNS_OF_ONE)
        self._watchers = Places(MOST_WATCHERS, MOST_WATCHERS_OF_ONE)
        self._runs: dict[str, WatchedRun] = {}
        self._expiring: dict[str, asyncio.TimerHandle] = {}

    @asynccontextmanager
    async def look(self, run: str) -> AsyncIterator[WatchedRun]:
        """Yield a run as it is now. Raises ContributionError, also if too many are watched, and LakeBroken."""
        watched = await self._acquire(run)
        try:
            await watched.refresh()
            yield watched
        finally:
            self._release(run, watched)

    @asynccontextmanager
    async def watch(self, run: str) -> AsyncIterator[WatchedRun]:
        """Yield a run that is refreshed periodically. Raises the same as `look`, also if too many watch."""
        async with self.look(run) as watched:
            _take_place(self._watchers, watched.owner, "browsers follow runs{}")
            watched.n_watchers += 1
            watched.begin()
            try:
                yield watched
            finally:
                self._watchers.leave(watched.owner)
                watched.n_watchers -= 1
                if not watched.n_watchers:
                    await watched.end()

    async def close(self) -> None:
        """Stop reading."""
        for handle in self._expiring.values():
            handle.cancel()
        self._expiring.clear()
        for watched in self._runs.values():
            await watched.end()
        self._runs.clear()

    async def _acquire(self, run: str) -> WatchedRun:
        """Return a run, which is kept until it is released. Raises ContributionError."""
        if run not in self._runs:
            owner = await run_sync(contributor_of, self._database, run, limiter=self._threads)
            if owner is None:
                raise ContributionError("unknown-contribution", f"the run {run} is not here")
            # Another request may have come first.
            if run not in self._runs:
                watched = WatchedRun(RunReader(self._database, run), owner, self._seconds, self._threads)
                _take_place(self._in_use, owner, _WATCHED)
                if len(self._runs) >= MOST_RUNS:
                    self._forget(next(iter(self._expiring)))  # the run that was left first
                self._runs[run] = watched
        watched = self._runs[run]
        if run in self._expiring:
            _take_place(self._in_use, watched.owner, _WATCHED)
            self._expiring.pop(run).cancel()
        watched.n_users += 1
        return watched

    def _release(self, run: str, watched: WatchedRun) -> None:
        """Forget a run that nobody uses, a while later: a page is followed by its stream."""
        watched.n_users -= 1
        if watched.n_users:
            return
        self._in_use.leave(watched.owner)
        if self._runs.get(run) is not watched:
            return
        if watched.trouble is not None:
            del self._runs[run]
        else:
            loop = asyncio.get_running_loop()
            self._expiring[run] = loop.call_later(self._seconds_kept, self._forget, run)

    def _forget(self, run: str) -> None:
        self._expiring.pop(run).cancel()
        del self._runs[run]


def _take_place(places: Places, owner: str, holders: str) -> None:
    """Take a place; raise ContributionError if there is none. holders: of the places, with {} for whose runs it is."""
    try:
        places.take(owner)
    except NoPlace as error:
        taken = holders.format(" of this contributor" if error.is_of_client else "")
        detail = f"{error.count} {taken} already: open the page again later"
        raise ContributionError("too-many-watchers", detail, retry_after=30) from None

"""Places for expensive work: how much of it runs and waits at once, in all and of one client."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from losslake_service.shares.allowances import Allowance

T = TypeVar("T")


class NoPlace(Exception):
    """All places are taken. count: of places. is_of_client: they are those of this client, and others may have some."""

    def __init__(self, count: int, *, is_of_client: bool) -> None:
        super().__init__(f"{count} places are taken")
        self.count = count
        self.is_of_client = is_of_client


class UsedUp(Exception):
    """A client has used its seconds. seconds: until it has some again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the seconds are used up for {seconds:g} s")
        self.seconds = seconds


class Places:
    """Places that clients hold: `most` in all, `most_of_client` of one, by default half, but at least one.

    A client that is None has no limit of its own. Thread-safe; reentrant, as an object that holds a place may be
    collected meanwhile.
    """

    def __init__(self, most: int, most_of_client: int | None = None) -> None:
        self._most = most
        self._most_of_client = max(1, most // 2) if most_of_client is None else most_of_client
        self._held: Counter[str | None] = Counter()
        self._lock = threading.RLock()

    def take(self, client: str | None) -> None:
        """Take a place; raise NoPlace if there is none."""
        with self._lock:
            if client is not None and self._held[client] >= self._most_of_client:
                raise NoPlace(self._held[client], is_of_client=True)
            if (taken := self._held.total()) >= self._most:
                raise NoPlace(taken, is_of_client=False)
            self._held[client] += 1

    def leave(self, client: str | None) -> None:
        """Leave a place."""
        with self._lock:
            self._held[client] -= 1
            if not self._held[client]:
                del self._held[client]

    def __len__(self) -> int:
        return self._held.total()


class FairThreads:
    """Threads for expensive work, before which a bounded number of requests wait.

    A client has at most half of the threads, and half of all places; with one thread it may have that. The next work is
    that of the client that used the fewest seconds. Work that takes more than a client's seconds is finished; then the
    client has to wait.
    """

    def __init__(
        self,
        name: str,
        threads: int,
        waiting: int,
        seconds: Allowance | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make the threads. seconds: what a client may use; None: anything."""
        self._clock = clock
        self._executor = ThreadPoolExecutor(threads, name)
        self._seconds = seconds
        self._lock = threading.RLock()
        self._waiting: list[_Work] = []
        self._running = Places(threads)
        self._places = Places(threads + waiting)

    def submit(self, client: str | None, work: Callable[[], T]) -> Future[T]:
        """Have work done for a client; one that waits can be cancelled. Raises NoPlace and UsedUp."""
        if client is not None and self._seconds is not None:
            balance = self._seconds.take(client, 0)
            if not balance.is_allowed:
                raise UsedUp(balance.retry)
        self._places.take(client)
        waiting = _Work(client, work)
        waiting.future.add_done_callback(lambda _: self._leave(waiting))
        with self._lock:
            self._waiting.append(waiting)
        try:
            self._executor.submit(self._work)
        except RuntimeError:
            waiting.future.cancel()  # shut down meanwhile
        return waiting.future

    def shutdown(self, *, wait: bool = True) -> None:
        """Begin no more work, and cancel what waits. wait: for what runs."""
        with self._lock:
            waiting = [*self._waiting]
        for each in waiting:
            each.future.cancel()
        self._executor.shutdown(wait=wait, cancel_futures=True)

    def _leave(self, work: _Work) -> None:
        with self._lock:
            if work in self._waiting:
                self._waiting.remove(work)
        self._places.leave(work.client)

    def _work(self) -> None:
        """Work until none waits that may run: the end of one may let another of its client run."""
        while (work := self._next()) is not None:
            began = self._clock()
            result, error = None, None
            try:
                result = work.function()
            except BaseException as raised:  # noqa: BLE001 - whoever waits for it gets it
                error = raised
            if work.client is not None and self._seconds is not None:
                self._seconds.charge(work.client, self._clock() - began)
            self._running.leave(work.client)
            if error is not None:
                work.future.set_exception(error)
            else:
                work.future.set_result(result)
            del work, result, error

    def _next(self) -> _Work | None:
        """Return the work to do now, if any."""
        with self._lock:
            for work in sorted(self._waiting, key=self._used):
                try:
                    self._running.take(work.client)
                except NoPlace:
                    continue
                self._waiting.remove(work)
                if work.future.set_running_or_notify_cancel():
                    return work
                self._running.leave(work.client)
        return None

    def _used(self, work: _Work) -> float:
        return self._seconds.used(work.client) if work.client is not None and self._seconds is not None else 0.0


@dataclass(eq=False)
class _Work:
    """Work that waits or runs."""

    client: str | None
    function: Callable[[], Any]
    future: Future[Any] = field(default_factory=Future)

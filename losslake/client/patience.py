"""How often, and for how long in all, a failed request is tried again."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import TypeVar

from losslake.client.errors import Interrupted, RemoteError, Stopped

TRIES = 6
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 120.0
WAITING_IN_ALL_S = 600.0

Result = TypeVar("Result")


class Patience:
    """Shared by all threads of a command.

    A request is tried six times without progress, with waits that double from a quarter of a second, or as long as the
    other side asks, up to two minutes. All waits of a connection together take at most ten minutes.
    """

    def __init__(self, connections: int = 1) -> None:
        self.stopped = threading.Event()
        self._left = WAITING_IN_ALL_S * connections
        self._lock = threading.Lock()

    def keep_trying(self, attempt: Callable[[], Result]) -> Result:
        """What the attempt gives, tried again after each Interrupted; raises RemoteError when patience is spent."""
        tries = 0
        while True:
            try:
                return attempt()
            except Interrupted as failure:
                tries = 1 if failure.has_progressed else tries + 1
                self._wait(tries, failure)

    def check(self) -> None:
        """Raise Stopped once the command is to end."""
        if self.stopped.is_set():
            raise Stopped("stopped")

    def _wait(self, tries: int, failure: Interrupted) -> None:
        if tries >= TRIES:
            raise RemoteError(f"{failure}; gave up after {TRIES} tries: run the same command again later") from None
        seconds = FIRST_WAIT_S * 2 ** (tries - 1) * random.uniform(0.75, 1.25)
        if failure.after is not None:
            seconds = max(seconds, failure.after)
        if seconds > LONGEST_WAIT_S:
            raise RemoteError(f"{failure}; it asks to come back in {seconds:,.0f} s: do so") from None
        with self._lock:
            self._left -= seconds
            is_spent = self._left < 0
        if is_spent:
            raise RemoteError(f"{failure}; too much of this already: run the same command again later") from None
        self.stopped.wait(seconds)
        self.check()

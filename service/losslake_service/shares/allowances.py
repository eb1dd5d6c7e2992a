"""Amounts per time for each client: requests, seconds of work, bytes; in bounded memory, for one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache

MINUTE, HOUR = 60.0, 3600.0
MAX_CLIENTS = 100_000


@dataclass(frozen=True, slots=True)
class Balance:
    """The state of a client's allowance after a request.

    remaining: the amount. retry: seconds until the refused cost fits. full: seconds until the whole amount is back.
    """

    is_allowed: bool
    remaining: float
    retry: float
    full: float


class Allowance:
    """An amount that each client may use, which comes back at a constant rate, all of it within `seconds`.

    A client is stored as the time when its amount is whole again (generic cell rate algorithm). Beyond `max_clients`,
    the least recently active ones are dropped, which gives them the whole amount. Thread-safe.
    """

    def __init__(
        self,
        amount: float,
        seconds: float,
        max_clients: int = MAX_CLIENTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.amount = amount
        self._seconds = seconds
        self._seconds_per_unit = seconds / amount
        self._clock = clock
        self._whole_at: LRUCache[str, float] = LRUCache(max_clients)
        self._lock = threading.Lock()

    def take(self, client: str, cost: float = 1.0) -> Balance:
        """Use a part of a client's amount, if it has as much. A cost of 0 asks if it has used more than it may."""
        with self._lock:
            now = self._clock()
            whole_at = max(self._whole_at.get(client, now), now) + cost * self._seconds_per_unit
            excess = whole_at - now - self._seconds
            # Tolerate rounding errors.
            if excess > self._seconds_per_unit * 1e-6:
                return Balance(False, 0.0, excess, whole_at - now - cost * self._seconds_per_unit)
            if cost:
                self._whole_at[client] = whole_at
            return Balance(True, -excess / self._seconds_per_unit, 0.0, whole_at - now)

    def charge(self, client: str, cost: float) -> None:
        """Count what a client has used, though it may be more than it has left."""
        with self._lock:
            now = self._clock()
            self._whole_at[client] = max(self._whole_at.get(client, now), now) + cost * self._seconds_per_unit

    def used(self, client: str) -> float:
        """Return what a client has used and not yet got back."""
        with self._lock:
            return max(0.0, self._whole_at.get(client, 0.0) - self._clock()) / self._seconds_per_unit

    def __len__(self) -> int:
        return len(self._whole_at)

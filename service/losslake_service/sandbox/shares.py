"""Limit the SQL of one client: half of the places, and some seconds a minute."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache

from losslake_service.sandbox.errors import CLIENT, SqlLimits, SqlProblem, busy

MAX_CLIENTS = 100_000
_MINUTE = 60.0


@dataclass(slots=True)
class _Use:
    """The places that a client uses now. statements: running and waiting ones. results: being sent."""

    statements: int = 0
    running: int = 0
    results: int = 0


class ClientShares:
    """The use of SQL by client; the caller holds a lock. A client that is None is not limited.

    Clients with statements or results are as many as there are places. The seconds of a client are stored as the time
    when it has used none any more, of the most recently active clients.
    """

    def __init__(self, limits: SqlLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._uses: dict[str | None, _Use] = {}
        self._rested_at: LRUCache[str, float] = LRUCache(MAX_CLIENTS)

    def check(self, client: str | None) -> None:
        """Raise SqlProblem if a client may not send another statement now."""
        if client is None:
            return
        limits, use = self._limits, self._uses.get(client, _Use())
        most = max(1, (limits.workers + limits.waiting) // 2)
        if use.statements >= most:
            raise busy(limits, f"{use.statements} statements from your address are running or waiting", CLIENT)
        if use.statements + use.results >= max(1, limits.open_results // 2):
            raise busy(limits, f"{use.results} results are being sent to your address", CLIENT)
        excess = self.used_seconds(client) - limits.client_seconds
        if limits.client_seconds and excess > 0:
            seconds = math.ceil(excess * _MINUTE / limits.client_seconds) + 1
            why = f"statements from your address ran {limits.client_seconds:g} s a minute, the limit sql_client_seconds"
            raise SqlProblem(CLIENT, f"{why}: try again in {seconds} s", retry_after=seconds)

    def may_run(self, client: str | None) -> bool:
        """Return True if a client uses less than half of the workers."""
        running = self._uses[client].running if client in self._uses else 0
        return client is None or running < max(1, self._limits.workers // 2)

    def used_seconds(self, client: str | None) -> float:
        """Return the seconds that a client has used, less those that it has regained since."""
        if client is None:
            return 0.0
        return max(0.0, self._rested_at.get(client, 0.0) - self._clock()) * self._limits.client_seconds / _MINUTE

    def change(self, client: str | None, *, statements: int = 0, running: int = 0, results: int = 0) -> None:
        """Count places that a client takes (1) or leaves (-1)."""
        use = self._uses.setdefault(client, _Use())
        use.statements += statements
        use.running += running
        use.results += results
        if use == _Use():
            del self._uses[client]

    def charge(self, client: str | None, seconds: float) -> None:
        """Add the seconds that a statement of a client ran."""
        if client is not None and self._limits.client_seconds:
            rested_at = max(self._rested_at.get(client, 0.0), self._clock())
            self._rested_at[client] = rested_at + seconds * _MINUTE / self._limits.client_seconds

    def __len__(self) -> int:
        return len(self._uses) + len(self._rested_at)

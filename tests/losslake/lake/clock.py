"""A clock that only sleeping moves."""

from __future__ import annotations


class Clock:
    """Stands in for the module `time`. seconds: how long was slept."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

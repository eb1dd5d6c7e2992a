"""What takes long to make and is needed again, kept: the last used ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from cachetools import LRUCache

Made = TypeVar("Made")


class Kept(Generic[Made]):
    """Things by key, at most so many; shared by threads, of which two may happen to make the same thing."""

    def __init__(self, most: int) -> None:
        self._made: LRUCache[Hashable, Made] = LRUCache(most)
        self._changing = threading.Lock()

    def recall(self, key: Hashable) -> Made | None:
        """Return what is kept for that key; never waits."""
        with self._changing:
            return self._made.get(key)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made for that key, made now if need be."""
        kept = self.recall(key)
        if kept is None:
            kept = make()
            with self._changing:
                self._made[key] = kept
        return kept

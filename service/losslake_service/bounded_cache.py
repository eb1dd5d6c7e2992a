"""A thread-safe cache of bounded length for values that are slow to make."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from cachetools import LRUCache

Value = TypeVar("Value")


class BoundedCache(Generic[Value]):
    """A cache of the most recently used values, shared by threads; two threads may make the same value at once."""

    def __init__(self, max_values: int) -> None:
        self._values: LRUCache[Hashable, Value] = LRUCache(max_values)
        self._lock = threading.Lock()

    def peek(self, key: Hashable) -> Value | None:
        """Return the cached value, or None; never wait."""
        with self._lock:
            return self._values.get(key)

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the cached value, or make and cache it."""
        value = self.peek(key)
        if value is None:
            value = make()
            with self._lock:
                self._values[key] = value
        return value

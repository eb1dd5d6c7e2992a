"""What takes long to make and is needed again, kept: the last used ones."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Kept(Generic[Made]):
    """Things by key, at most so many; shared by threads, of which two may happen to make the same thing."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: OrderedDict[Hashable, Made] = OrderedDict()
        self._changing = threading.Lock()

    def recall(self, key: Hashable) -> Made | None:
        """What is kept for that key; never waits."""
        with self._changing:
            if key in self._made:
                self._made.move_to_end(key)
            return self._made.get(key)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What was made for that key, made now if need be."""
        kept = self.recall(key)
        if kept is not None:
            return kept
        made = make()
        with self._changing:
            self._made[key] = made
            while len(self._made) > self._most:
                self._made.popitem(last=False)
        return made

"""Reading a source to where it breaks off, and telling of the break after everything that was whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from losslake_ingest.errors import SourceBroken

Item = TypeVar("Item")


class UntilBreak(Generic[Item]):
    """The items that come before the break; broken is the break, once they are drawn."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = items
        self.broken: SourceBroken | None = None

    def __iter__(self) -> Iterator[Item]:
        try:
            yield from self._items
        except SourceBroken as error:
            self.broken = error

    def tell(self) -> None:
        """Raise the break, if there was one."""
        if self.broken is not None:
            raise self.broken

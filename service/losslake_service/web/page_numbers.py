"""Tables that are longer than a page: which rows are on it, and where the other pages are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class PageNumbers:
    """Where a page of a table stands. first, last: its rows, counted from 1; both 0 in a table without rows.

    before, after: the URLs of the pages beside it; None at either end.
    """

    number: int
    n_pages: int
    first: int
    last: int
    total: int
    before: str | None
    after: str | None

    @property
    def rows(self) -> slice:
        """The rows of the page among all."""
        return slice(max(self.first - 1, 0), self.last)


def page_numbers(total: int, size: int, asked: int | None, url: Callable[[int], str]) -> PageNumbers:
    """The page asked for, or the last one where there aren't so many. size: rows on a page; url: of a page."""
    n_pages = max(1, -(-total // size))
    number = min(asked or 1, n_pages)
    return PageNumbers(
        number=number,
        n_pages=n_pages,
        first=min((number - 1) * size + 1, total),
        last=min(number * size, total),
        total=total,
        before=url(number - 1) if number > 1 else None,
        after=url(number + 1) if number < n_pages else None,
    )

"""What a browser shows while the lake has no release: what this is, and how something gets into it."""

from __future__ import annotations

from dataclasses import dataclass

from service.web.page import SITE
from service.web.templates import rendered


@dataclass(frozen=True)
class _About:
    title: str = "Nothing is here yet"
    description: str = "A LossLake without data: nothing has been ingested yet."
    styles: tuple[str, ...] = ()


def empty_page() -> str:
    """The page as HTML."""
    return rendered("empty.html", site=SITE, about=_About(), page=None, asked=None, picture=None)

"""The main pages of the site, from site_pages.toml: for the navigation, the search and the sitemap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from losslake_schema.package_files import read_toml


@dataclass(frozen=True)
class SitePage:
    """A page. navigation: its text there; empty if it isn't there. sections: beginnings of the paths below it."""

    path: str
    title: str
    about: str
    words: Sequence[str]
    navigation: str = ""
    sections: Sequence[str] = ()

    def place(self, path: str) -> str:
        """Return aria-current of its link on the page with a path: page for itself, true for one below, else empty."""
        if path == self.path:
            return "page"
        return "true" if any(path.startswith(f"{each}/") or path == each for each in self.sections) else ""


@cache
def site_pages() -> Sequence[SitePage]:
    """Return the pages, in the order of the file."""
    return tuple(SitePage(**page) for page in _file()["pages"])


@cache
def navigation() -> Sequence[SitePage]:
    """Return the pages that the navigation of every page leads to."""
    return tuple(page for page in site_pages() if page.navigation)


def words_of_documents() -> dict[str, list[str]]:
    """Return other names for what documents are about, by the name of the document."""
    words: dict[str, list[str]] = _file()["documents"]
    return words


@cache
def _file() -> dict[str, Any]:
    return dict(read_toml("losslake_service.web", "site_pages.toml"))

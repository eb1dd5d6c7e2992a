"""Pages without a release: folders of files, a lake without a release, and the frame of problems."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.types import Scope

from losslake_service.files.release_files import Entry
from losslake_service.web.templates import render

SITE = "LossLake"
_WITHOUT_PAGES = ("/v1/", "/data/", "/hive/", "/static/", "/openapi.json", "/metrics", "/healthz", "/readyz")


def bare_page(template: str, title: str, description: str, content: object, styles: tuple[str, ...] = ()) -> str:
    """Return a page as HTML, without scripts. content: `page` in the template; styles: names of static files."""
    about = {"title": title, "description": description, "styles": styles}
    return render(template, site=SITE, about=about, page=content, request=None, picture=None)


def empty_page() -> str:
    """Return the page of a lake without a release, with instructions."""
    title, description = "No data yet", "A LossLake without data: nothing has been ingested yet."
    return bare_page("empty.html", title, description, None)


def folder_page(title: str, entries: Sequence[Entry], has_parent: bool) -> str:
    """Return a folder as a page of relative links, for browsers and for `wget -r`.

    Names are shown unchanged, with percent signs.
    """
    description = f"{title}: Parquet files and the documents beside them, to be downloaded with any tool."
    return bare_page("listing.html", title, description, {"rows": entries, "has_parent": has_parent})


def accepts_html(scope: Scope) -> bool:
    """Return True if the request is for a page and its client accepts HTML."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or scope["path"].startswith(_WITHOUT_PAGES):
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])

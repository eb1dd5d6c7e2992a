"""Pages without a release: problems, folders of files, a lake without a release."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from starlette.types import Scope

from losslake.questions.lists.lists import MOST_LETTERS
from losslake_service.files.release_files import Entry
from losslake_service.web.search.pages import search_pages
from losslake_service.web.templates import render

SITE = "LossLake"
_MOST_NEAR = 5
_WORD = re.compile(r"[^\W_]+")
_FOLDERS = {"workload": "workloads", "study": "studies", "trial": "trials", "release": "releases"}
_WITHOUT_PAGES = ("/v1/", "/data/", "/hive/", "/static/", "/openapi.json", "/metrics", "/healthz", "/readyz")


def bare_page(template: str, title: str, description: str, content: object, styles: tuple[str, ...] = ()) -> str:
    """Return a page as HTML, without scripts. content: `page` in the template; styles: names of static files."""
    about = {"title": title, "description": description, "styles": styles}
    return render(template, site=SITE, about=about, page=content, request=None, picture=None)


def empty_page() -> str:
    """Return the page of a lake without a release, with instructions."""
    title, description = "No data yet", "A LossLake without data: nothing has been ingested yet."
    return bare_page("empty.html", title, description, None)


def problem_page(scope: Scope, document: Mapping[str, object]) -> str | None:
    """Return the page of a problem, with suggestions; None if the client doesn't accept HTML.

    document: the problem document.
    """
    if not accepts_html(scope):
        return None
    title, detail = str(document["title"]), str(document["detail"])
    what = str(document["type"]).rpartition("unknown-")[2]
    names = document.get("near_matches") or ()
    assert isinstance(names, Sequence)
    near = [(str(name), _url(what, str(name))) for name in names]
    words = " ".join(_WORD.findall(scope["path"]))[:MOST_LETTERS]
    if what == "path":
        near = [(entry.title, entry.path) for entry in search_pages(words)[:_MOST_NEAR]]
    content = {
        "title": title,
        "detail": detail[:1].upper() + detail[1:],
        "status": document["status"],
        "near": near,
        "search": words if what == "path" else "",
        "request_id": document.get("request_id", ""),
    }
    return bare_page("problem.html", title, detail, content)


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


def _url(what: str, name: str) -> str:
    """Return the address of a suggested name; empty if it has no page."""
    return f"/{_FOLDERS[what]}/{quote(name)}" if what in _FOLDERS else ""

"""The page of a problem, with suggestions of what may have been meant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from starlette.types import Scope

from losslake.questions.lists.lists import MOST_LETTERS
from losslake_service.web.bare_page import accepts_html, bare_page
from losslake_service.web.search.pages import search_pages

_FOLDERS = {"workload": "workloads", "study": "studies", "trial": "trials", "release": "releases"}
_MOST_NEAR = 5
_WORD = re.compile(r"[^\W_]+")


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


def _url(what: str, name: str) -> str:
    """Return the address of a suggested name; empty if it has no page."""
    return f"/{_FOLDERS[what]}/{quote(name)}" if what in _FOLDERS else ""

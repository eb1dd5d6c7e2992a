"""Pages that are about no release: a problem, a folder of files.

What a browser shows while the lake has no release: what this is, and how something gets into it.
What a browser shows when something went wrong: the problem in a sentence, and ways out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from starlette.types import Scope

from losslake_service.web.templates import rendered

_SITE = "LossLake"


@dataclass(frozen=True)
class _About:
    title: str
    description: str
    styles: tuple[str, ...]


def bare_page(template: str, title: str, description: str, content: object, styles: tuple[str, ...] = ()) -> str:
    """A page as HTML, without scripts. content: what its template finds as `page`; styles: names of static files."""
    about = _About(title, description, styles)
    return rendered(template, site=_SITE, about=about, page=content, asked=None, picture=None)


def empty_page() -> str:
    """The page as HTML."""
    title, description = "Nothing is here yet", "A LossLake without data: nothing has been ingested yet."
    return bare_page("empty.html", title, description, None)


_FOLDERS = {"workload": "workloads", "study": "studies", "trial": "trials", "release": "releases"}
_FOR_PROGRAMS = ("/v1/", "/data/", "/hive/", "/static/", "/openapi.json", "/metrics", "/healthz", "/readyz")


@dataclass(frozen=True)
class _Near:
    text: str
    url: str


@dataclass(frozen=True)
class _Problem:
    title: str
    detail: str
    status: int
    near: Sequence[_Near]
    request_id: str


def is_for_people(scope: Scope) -> bool:
    """Whether a page was asked for, by a browser, which says that it takes HTML."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or scope["path"].startswith(_FOR_PROGRAMS):
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


def problem_page(document: Mapping[str, object]) -> str:
    """The page as HTML. document: the problem document."""
    title, detail = str(document["title"]), str(document["detail"])
    what = str(document["type"]).rpartition("unknown-")[2]
    names = document.get("near_matches") or ()
    assert isinstance(names, Sequence)
    problem = _Problem(
        title=title,
        detail=detail[:1].upper() + detail[1:],
        status=int(str(document["status"])),
        near=[_Near(str(name), _url(what, str(name))) for name in names],
        request_id=str(document.get("request_id", "")),
    )
    return bare_page("problem.html", title, detail, problem)


def _url(what: str, name: str) -> str:
    """Where what was perhaps meant is; empty where that isn't a page of its own."""
    if what == "path":
        return quote(name) if name.startswith("/") and "{" not in name else ""
    return f"/{_FOLDERS[what]}/{quote(name)}" if what in _FOLDERS else ""

"""A page: what it is asked, and what its template is given.

Tables that are longer than a page: which rows are on it, and where the other pages are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from losslake.questions.parameters import Natural
from losslake.questions.release_view import ReleaseView
from losslake.questions.releases import Releases
from losslake_schema.database import Release
from losslake_schema.names import Study, Trial, Workload
from losslake_service.files.release_files import BulkReleases
from losslake_service.sandbox.errors import SqlLimits
from losslake_service.web.chart import Chart
from losslake_service.web.reference import Interface
from losslake_service.web.templates import page_of, with_query

SITE = "LossLake"
PICTURE_WIDTH, PICTURE_HEIGHT = 1200, 630
"""px of the picture that a link to a page unfolds to."""


class PageParameters(BaseModel):
    """What the query of a page may say. Anything else in it is passed over, since links pick up marks on their way."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    release: Annotated[Natural | None, Field(ge=1)] = None
    """The release to look at, by number; default: the newest."""


@dataclass(frozen=True)
class PageAsked:
    """A request for a page.

    name: what the path names, `collection/dataset/model/optimizer` for a workload. parameters: those of the page.
    release: the one looked at. newest: the number of the newest one. address: of the service, without a slash at the
    end. interface: the REST interface of the service. sql: what a statement may take; None where SQL is switched off.
    prepared: what the page waited for.
    """

    name: str
    parameters: Any
    view: ReleaseView
    release: Release
    newest: int
    releases: Releases
    bulk: BulkReleases
    address: str
    interface: Interface
    sql: SqlLimits | None = None
    prepared: Any = None

    @property
    def pinned(self) -> int | None:
        """The release that links have to name, so that whoever looks at an old one stays there; None for the newest."""
        number: int | None = self.parameters.release
        return number

    def url(self, path: str, **query: object) -> str:
        """The address of a page of the same release; what is None is left out."""
        return with_query(path, [*query.items(), ("release", self.pinned)])

    def page_of(self, what: Workload | Study | Trial, **query: object) -> str:
        """The address of the page about something in the same release."""
        return self.url(page_of(what), **query)


@dataclass(frozen=True)
class Crumb:
    """A page above this one."""

    text: str
    url: str


@dataclass(frozen=True)
class Page:
    """A page.

    template: in templates/, which extends base.html and finds `content` as `page`. title, description: for search
    engines and for those who are sent a link. url: of this very state, from the root. content: a frozen dataclass.
    picture: what a link unfolds to. above: the pages above this one, outermost first. styles, scripts: names of
    static files, beside those of every page. json_ld: a JSON document about what the page shows. data: the URL, from
    the root, of the same in JSON. status, headers: of the response.
    """

    template: str
    title: str
    description: str
    url: str
    content: object
    picture: Chart | None = None
    above: tuple[Crumb, ...] = ()
    styles: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    json_ld: str = ""
    data: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Prepare = Callable[[Request, PageParameters, ReleaseView], Awaitable[object | None]]


@dataclass(frozen=True, eq=False)
class PageKind:
    """A kind of page.

    path: as the router has it. build: makes the page; runs in a thread, raises what REST raises. prepare: waits,
    without a thread, for what the page needs and gives it to it as `prepared`; a page that needed something is not kept
    by caches.
    """

    path: str
    parameters: type[PageParameters]
    build: Callable[[PageAsked], Page]
    prepare: Prepare | None = None


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

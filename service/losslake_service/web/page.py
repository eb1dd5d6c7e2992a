"""A page of the site: its request, what its template is given, and the handler that answers with it as HTML.

A module of `pages/` declares a `PageKind`, whose `build` makes a `Page` from a `PageRequest`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from losslake import __version__
from losslake.questions.parameters import Natural
from losslake.questions.release_view import ReleaseView
from losslake.questions.releases import Releases, open_releases
from losslake_schema.database import Release
from losslake_schema.errors import UnknownRelease
from losslake_schema.names import Study, Trial, Workload
from losslake_service.files.conditions import REVALIDATED, entity_tag, not_modified_response
from losslake_service.files.documents import base_url
from losslake_service.files.release_files import BulkReleases
from losslake_service.routes.reading import read_query
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.sandbox.errors import SqlLimits
from losslake_service.web.bare_page import SITE, empty_page, is_for_people
from losslake_service.web.chart import Chart
from losslake_service.web.reference import Interface
from losslake_service.web.templates import Query, digest, page_of, rendered, with_query

PICTURE_SIZE = 1200, 630
"""px of the picture that a link to a page unfolds to."""
Content = dict[str, object]
"""What a template finds as `page`, by name."""


class PageParameters(BaseModel):
    """The query of a page. Other parameters are ignored, since links pick up marks on their way."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    release: Annotated[Natural | None, Field(ge=1)] = None
    """The release to look at, by number; default: the newest."""


class GoalParameters(PageParameters):
    """The query of a page about a goal."""

    metric: str | None = None
    """The metric of the goal; default: that of a goal of the workload."""
    target: Annotated[float | None, Field(allow_inf_nan=False)] = None
    """The target; default: the workload's goal, else one that every batch size reaches."""

    @property
    def goal(self) -> dict[str, object]:
        """The parameters that links to pages about the same goal have."""
        return {"metric": self.metric, "target": self.target}


@dataclass(frozen=True)
class PageRequest:
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
        """Return the address of a page of the same release; what is None is left out."""
        return with_query(path, [*query.items(), ("release", self.pinned)])

    def page_of(self, what: Workload | Study | Trial, **query: object) -> str:
        """Return the address of the page about something in the same release."""
        return self.url(page_of(what), **query)

    def chart(self, kind: str, query: Query, title: str, name: str = "", **options: Any) -> Chart:
        """Return a chart of this release. name: to be told from others of its kind; options: fields of Chart."""
        return Chart(kind, query, self.view.number, title, self.address, name or kind, **options)


@dataclass(frozen=True)
class Page:
    """A page.

    template: in templates/, which extends base.html and finds `content` as `page`. title, description: for search
    engines and for those who are sent a link. url: of this very state, from the root. picture: what a link unfolds to.
    above: text and url of the pages above this one, outermost first. styles, scripts: names of static files, beside
    those of every page. json_ld: a JSON document about what the page shows. data: the URL, from the root, of the same
    in JSON. status, headers: of the response.
    """

    template: str
    title: str
    description: str
    url: str
    content: Content
    picture: Chart | None = None
    above: tuple[tuple[str, str], ...] = ()
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
    build: Callable[[PageRequest], Page]
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


def page_numbers(total: int, size: int, wanted: int | None, url: Callable[[int], str]) -> PageNumbers:
    """Return the wanted page, or the last one where there aren't so many. size: rows on a page; url: of a page."""
    n_pages = max(1, -(-total // size))
    number = min(wanted or 1, n_pages)
    return PageNumbers(
        number=number,
        n_pages=n_pages,
        first=min((number - 1) * size + 1, total),
        last=min(number * size, total),
        total=total,
        before=url(number - 1) if number > 1 else None,
        after=url(number + 1) if number < n_pages else None,
    )


def page_handler(kind: PageKind) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers requests for a kind of page: it makes the page in a thread, and writes it as HTML."""

    async def handle(http: Request) -> Response:
        releases, state = open_releases(http), http.app.state
        query = http.scope["query_string"]
        parameters = read_query(query, kind.parameters)
        headers = {"cache-control": REVALIDATED}
        try:
            view = await releases.opened(parameters.release)
        except UnknownRelease:
            if not is_for_people(http.scope):
                raise
            return HTMLResponse(empty_page(), headers=headers)
        address = base_url(http, state.public_url)
        statements: SqlStatements | None = state.sql
        prepared = await kind.prepare(http, parameters, view) if kind.prepare is not None else None
        if prepared is not None:
            headers["cache-control"] = "no-cache"
        else:
            by = f"{__version__} {digest()} {address} {releases.newest} {statements is None}"
            headers["etag"] = entity_tag(view, by, http.scope["path"], query, "html")
            known = not_modified_response(http.headers, headers, exists=False)
            if known is not None:
                return known

        def page() -> Response:
            request = PageRequest(
                name=http.path_params.get("name", ""),
                parameters=parameters,
                view=view,
                release=releases.lake.release(view.number),
                newest=max(view.number, releases.newest or 0),
                releases=releases,
                bulk=state.bulk,
                address=address,
                interface=state.interface,
                sql=statements.limits if statements is not None else None,
                prepared=prepared,
            )
            return _response(kind.build(request), request, headers)

        return await run_in_threadpool(page)

    return handle


def _response(page: Page, request: PageRequest, headers: Mapping[str, str]) -> Response:
    width, height = PICTURE_SIZE
    html = rendered(
        page.template,
        site=SITE,
        about=page,
        page=page.content,
        request=request,
        picture=page.picture and page.picture.figure("png", width=width, height=height, scale=1),
        picture_size=PICTURE_SIZE,
    )
    return HTMLResponse(html, page.status, {**headers, **page.headers})

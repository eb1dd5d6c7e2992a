"""A page of the website: its request, the content for its template, and the handler that renders it.

A module of `pages/` declares a `PageKind`, whose `build` makes a `Page` from a `PageRequest`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from pydantic import ConfigDict

from losslake import __version__
from losslake.questions.declaration.parameters import PinnedParameters, TargetParameters
from losslake.questions.release.notices import TrialNotices, together
from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake_schema.errors import UnknownRelease
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.release import Release
from losslake_service.entity_tags import REVALIDATED, entity_tag, not_modified_response
from losslake_service.expensive.answers import Answers
from losslake_service.files.release_documents import base_url
from losslake_service.files.release_files import ReleaseFilesCache
from losslake_service.routes.reading import read_query
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.sandbox.errors import SqlLimits
from losslake_service.web.bare_page import SITE, accepts_html, empty_page
from losslake_service.web.chart import Chart
from losslake_service.web.reference import Interface
from losslake_service.web.templates import digest, page_path, query_pairs, render, with_query

# Width and height in px of the preview picture of a link.
PICTURE_SIZE = 1200, 630
# The variable `page` of a template.
Content = dict[str, object]


class PageParameters(PinnedParameters):
    """The query of a page. Other parameters are ignored, since other sites append some to links."""

    model_config = ConfigDict(extra="ignore")


class MetricParameters(PageParameters):
    """The query of a page about a metric."""

    metric: str | None = None
    """The metric; default: the metric of a goal of the workload."""


class GoalParameters(TargetParameters, MetricParameters):
    """The query of a page about a goal. Default target: that of the workload's goal, else one that all sizes reach."""

    @property
    def goal(self) -> dict[str, object]:
        """The parameters of links to pages about the same goal."""
        return {"metric": self.metric, "target": self.target}


@dataclass(frozen=True)
class PageRequest:
    """A request for a page.

    name: from the path, `collection/dataset/model/optimizer` for a workload. parameters: those of the page. release:
    the requested one. newest: the number of the newest one. address: of the service, without a slash at the end.
    interface: the REST interface of the service. sql: the limits of statements; None if SQL is switched off. prepared:
    the result of PageKind.prepare. notice: of the host, above every page.
    """

    name: str
    parameters: Any
    view: ReleaseView
    release: Release
    newest: int
    releases: Releases
    bulk: ReleaseFilesCache
    address: str
    interface: Interface
    sql: SqlLimits | None = None
    prepared: Any = None
    notice: str = ""

    @property
    def pinned(self) -> int | None:
        """The release that links must name, so that visitors of an old release stay there; None for the newest."""
        number: int | None = self.parameters.release
        return number

    def url(self, path: str, **query: object) -> str:
        """Return the address of a page of the same release, without values that are None."""
        return with_query(path, [*query.items(), ("release", self.pinned)])

    def page_url(self, what: Workload | Study | Trial, **query: object) -> str:
        """Return the address of the page of a workload, study or trial in the same release."""
        return self.url(page_path(what), **query)

    def withdrawn(self, what: Workload | Study | Trial) -> Sequence[TrialNotices]:
        """Return the trials that the page of a workload, study or trial shows, and that were withdrawn later."""
        notices = self.releases.notices.of(self.release).withdrawn
        if not notices:
            return ()
        if isinstance(what, Trial):
            named = [each for each in notices.get(what.study, ()) if what in each.trials]
            return [replace(each, trials=[what]) for each in named]
        if isinstance(what, Study):
            return notices.get(what, ())
        workloads = {facts.workload for facts in self.view.matching(what)}
        return together(each for study, many in notices.items() if study.workload in workloads for each in many)

    def chart(
        self,
        kind: str,
        query: Mapping[str, object],
        title: str,
        *,
        options: Mapping[str, object] | None = None,
        **more: Any,
    ) -> Chart:
        """Return a chart of this release. query, options: as for a URL; more: fields of Chart."""
        about = {"name": kind, "options": query_pairs((options or {}).items())} | more
        return Chart(kind, query_pairs(query.items()), self.view.number, title, self.address, **about)


@dataclass(frozen=True)
class Page:
    """A page.

    template: in templates/, extends base.html and reads `content` as `page`. title, description: for search engines
    and previews of links. url: path and query of this state. picture: for previews of links. above: breadcrumbs, text
    and url, outermost first. styles, scripts: names of additional static files. json_ld: structured data. data: path
    and query of the same data in JSON. withdrawn: trials of the page that a later release doesn't have. status,
    headers: of the response.
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
    withdrawn: Sequence[TrialNotices] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DocsPage(Page):
    """A page of the documentation."""

    styles: tuple[str, ...] = ("docs.css",)
    scripts: tuple[str, ...] = ("docs.js",)


Prepare = Callable[[Request, PageParameters, ReleaseView, SqlStatements | None], Awaitable[object | None]]


@dataclass(frozen=True, eq=False)
class PageKind:
    """A kind of page.

    path: for the router. build: makes the page in a thread, and raises the same errors as REST. prepare: awaits data
    that the page needs, for its `prepared`; such pages are not cached. is_fragment: no page by itself, but what the
    script of another page fetches. is_of_release: it depends on releases and notices only, so that it is cached.
    """

    path: str
    parameters: type[PageParameters]
    build: Callable[[PageRequest], Page]
    prepare: Prepare | None = None
    is_fragment: bool = False
    is_of_release: bool = True


@dataclass(frozen=True)
class Pagination:
    """A page of a table and its neighbours. first, last: its rows, counted from 1; both 0 in a table without rows.

    before, after: the URLs of the neighbouring pages; None at the ends.
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
        """The rows of the page, as a slice of all rows."""
        return slice(max(self.first - 1, 0), self.last)


def paginate(total: int, size: int, requested: int | None, url: Callable[[int], str]) -> Pagination:
    """Return the requested page, or the last one if there are fewer. size: rows per page; url: returns a page's."""
    n_pages = max(1, -(-total // size))
    number = min(requested or 1, n_pages)
    return Pagination(
        number=number,
        n_pages=n_pages,
        first=min((number - 1) * size + 1, total),
        last=min(number * size, total),
        total=total,
        before=url(number - 1) if number > 1 else None,
        after=url(number + 1) if number < n_pages else None,
    )


@dataclass(frozen=True, eq=False)
class PageSources:
    """The sources of pages. public_url, notice: of the service. sql: None if SQL is switched off."""

    releases: Releases
    bulk: ReleaseFilesCache
    interface: Interface
    public_url: str
    sql: SqlStatements | None
    answers: Answers
    notice: str = ""


def page_handler(kind: PageKind, sources: PageSources) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler for a kind of page, which makes the page in a thread and renders it as HTML."""
    releases, statements = sources.releases, sources.sql

    async def handle(http: Request) -> Response:
        query = http.scope["query_string"]
        parameters = read_query(query, kind.parameters)
        headers = {"cache-control": REVALIDATED}
        try:
            view = await releases.view_async(parameters.release)
        except UnknownRelease:
            if not accepts_html(http.scope):
                raise
            return HTMLResponse(empty_page(), headers=headers)
        address = base_url(http, sources.public_url)
        prepared = await kind.prepare(http, parameters, view, statements) if kind.prepare is not None else None
        if prepared is not None:
            headers["cache-control"] = "no-cache"
        else:
            notices = f"{sources.notice} {releases.notices.version}"
            by = f"{__version__} {digest()} {address} {releases.newest} {statements is None} {notices}"
            headers["etag"] = entity_tag(view, by, http.scope["path"], query, "html")
            not_modified = not_modified_response(http.headers, headers, exists=False)
            if not_modified is not None:
                return not_modified

        def page() -> Response:
            request = PageRequest(
                name=http.path_params.get("name", ""),
                parameters=parameters,
                view=view,
                release=releases.lake.release(view.number),
                newest=max(view.number, releases.newest or 0),
                releases=releases,
                bulk=sources.bulk,
                address=address,
                interface=sources.interface,
                sql=statements.limits if statements is not None else None,
                prepared=prepared,
                notice=sources.notice,
            )
            return _response(kind.build(request), request, headers)

        return await sources.answers.respond(http, view.number, page)

    return handle


def _response(page: Page, request: PageRequest, headers: Mapping[str, str]) -> Response:
    width, height = PICTURE_SIZE
    html = render(
        page.template,
        site=SITE,
        about=page,
        page=page.content,
        request=request,
        picture=page.picture and page.picture.figure("png", width=width, height=height, scale=1),
        picture_size=PICTURE_SIZE,
    )
    return HTMLResponse(html, page.status, {**headers, **page.headers})

"""Answers a request for a page: reads the query, makes the page in a thread, and writes it as HTML."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from starlette.concurrency import run_in_threadpool

from losslake.questions.releases import open_releases
from losslake_schema.errors import UnknownRelease
from losslake_service.files.documents import base_url
from losslake_service.routes.reading import read_known
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.routes.validity import REVALIDATED, entity_tag, is_named
from losslake_service.version import VERSION
from losslake_service.web.bare_page import empty_page, is_for_people
from losslake_service.web.page import PICTURE_HEIGHT, PICTURE_WIDTH, SITE, Page, PageAsked, PageKind
from losslake_service.web.templates import digest, rendered

_NOT_KEPT = "no-cache"
Handler = Callable[[Request], Awaitable[Response]]


def page_handler(kind: PageKind) -> Handler:
    """What answers requests for a kind of page."""

    async def handle(request: Request) -> Response:
        releases = open_releases(request)
        query = request.scope["query_string"]
        parameters = read_known(query, kind.parameters)
        headers = {"cache-control": REVALIDATED}
        try:
            view = await releases.opened(parameters.release)
        except UnknownRelease:
            if not is_for_people(request.scope):
                raise
            return HTMLResponse(empty_page(), headers=headers)
        address = base_url(request, request.app.state.public_url)
        statements: SqlStatements | None = request.app.state.sql
        prepared = await kind.prepare(request, parameters, view) if kind.prepare is not None else None
        if prepared is not None:
            headers["cache-control"] = _NOT_KEPT
        else:
            by = f"{VERSION} {digest()} {address} {releases.newest} {statements is None}"
            headers["etag"] = entity_tag(view, by, request.scope["path"], query, "html")
            if is_named(request.headers, headers["etag"]):
                return Response(status_code=304, headers=headers)

        def page() -> Response:
            asked = PageAsked(
                name=request.path_params.get("name", ""),
                parameters=parameters,
                view=view,
                release=releases.lake.release(view.number),
                newest=max(view.number, releases.newest or 0),
                releases=releases,
                bulk=request.app.state.bulk,
                address=address,
                interface=request.app.state.interface,
                sql=statements.limits if statements is not None else None,
                prepared=prepared,
            )
            return _response(kind.build(asked), asked, headers)

        return await run_in_threadpool(page)

    return handle


def _response(page: Page, asked: PageAsked, headers: Mapping[str, str]) -> Response:
    html = rendered(
        page.template,
        site=SITE,
        about=page,
        page=page.content,
        asked=asked,
        picture=page.picture and page.picture.figure("png", width=PICTURE_WIDTH, height=PICTURE_HEIGHT, scale=1),
        picture_size=(PICTURE_WIDTH, PICTURE_HEIGHT),
    )
    return HTMLResponse(html, page.status, {**headers, **page.headers})

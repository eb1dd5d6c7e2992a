"""Answers a request for a page: reads the query, makes the page in a thread, and writes it as HTML."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from starlette.concurrency import run_in_threadpool

from service.bulk.base_url import base_url
from service.operating.security_headers import STRICT_POLICY
from service.release_view import ReleaseView
from service.releases import Releases, open_releases
from service.rest.reading import read_known
from service.rest.validity import REVALIDATED, entity_tag, is_named
from service.version import VERSION
from service.web.interface import Interface
from service.web.page import PICTURE_HEIGHT, PICTURE_WIDTH, SITE, PageAsked, PageKind, PageParameters
from service.web.templates import digest, rendered

Handler = Callable[[Request], Awaitable[Response]]


def page_handler(kind: PageKind) -> Handler:
    """What answers requests for a kind of page."""

    async def handle(request: Request) -> Response:
        releases = open_releases(request)
        query = request.scope["query_string"]
        parameters = read_known(query, kind.parameters)
        view = await releases.opened(parameters.release)
        address = base_url(request, request.app.state.public_url)
        by = f"{VERSION} {digest()} {address} {releases.newest}"
        etag = entity_tag(view, by, request.scope["path"], query, "html")
        headers = {"cache-control": REVALIDATED, "etag": etag, "content-security-policy": STRICT_POLICY}
        if is_named(request.headers, etag):
            return Response(status_code=304, headers=headers)
        name: str = request.path_params.get("name", "")
        interface: Interface = request.app.state.interface
        html = await run_in_threadpool(_html, kind, name, parameters, view, releases, address, interface)
        return HTMLResponse(html, headers=headers)

    return handle


def _html(
    kind: PageKind,
    name: str,
    parameters: PageParameters,
    view: ReleaseView,
    releases: Releases,
    address: str,
    interface: Interface,
) -> str:
    asked = PageAsked(
        name=name,
        parameters=parameters,
        view=view,
        release=releases.lake.release(view.number),
        newest=max(view.number, releases.newest or 0),
        releases=releases,
        address=address,
        interface=interface,
    )
    page = kind.build(asked)
    return rendered(
        page.template,
        site=SITE,
        about=page,
        page=page.content,
        asked=asked,
        picture=page.picture and page.picture.figure("png", width=PICTURE_WIDTH, height=PICTURE_HEIGHT, scale=1),
        picture_size=(PICTURE_WIDTH, PICTURE_HEIGHT),
    )

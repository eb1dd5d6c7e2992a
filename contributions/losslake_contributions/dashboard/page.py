"""The routes of the dashboard: the page, and what changed since its script asked last."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment
from starlette.concurrency import run_in_threadpool

from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake_contributions.dashboard.content import ROWS, Dashboard
from losslake_contributions.dashboard.index import RunIndex
from losslake_contributions.dashboard.query import DashboardQuery
from losslake_schema.errors import LossLakeError
from losslake_service.routes.reading import add_undocumented_route, read_query
from losslake_service.web.bare_page import SITE
from losslake_service.web.page import paginate
from losslake_service.web.templates import environment_of, with_query

PATH = "/live"
_HEADERS = {"Cache-Control": "no-store", "X-Robots-Tag": "noindex", "Referrer-Policy": "no-referrer"}
_AXES = ("step", "examples", "tokens", "seconds")


def add_dashboard(router: APIRouter, index: RunIndex, releases: Releases | None) -> None:
    """Add the routes. releases: of the lake whose pages are there, too; None without one."""

    async def get_page(request: Request) -> Response:
        query = read_query(request.scope["query_string"], DashboardQuery)
        return HTMLResponse(await run_in_threadpool(_page, index, query, releases is not None), headers=_HEADERS)

    async def get_changes(request: Request) -> Response:
        query = read_query(request.scope["query_string"], DashboardQuery)
        view = await _newest(releases)
        return Response(await run_in_threadpool(_changes, index, query, view), 200, _HEADERS, "application/json")

    add_undocumented_route(router, PATH, get_page)
    add_undocumented_route(router, f"{PATH}/changes.json", get_changes)


async def _newest(releases: Releases | None) -> ReleaseView | None:
    """Return the newest release; None if it can't be read: the runs are shown all the same."""
    try:
        return await releases.view_async() if releases is not None else None
    except LossLakeError:
        return None


def _changes(index: RunIndex, query: DashboardQuery, view: ReleaseView | None) -> bytes:
    snapshot = index.snapshot
    # A run that left may change the parameters that differ, as one that came does: then all is sent.
    since = query.since if query.since >= snapshot.gone_at else 0
    if query.since and query.since == snapshot.version and not snapshot.n_unread:
        return orjson.dumps({"version": snapshot.version})
    return orjson.dumps({"is_whole": since == 0, **Dashboard(snapshot, query, view).changes(since)})


def _page(index: RunIndex, query: DashboardQuery, has_lake: bool) -> str:
    shown = Dashboard(index.snapshot, query)

    def url(**other: object) -> str:
        stated = query.model_dump(exclude_defaults=True, exclude={"since"})
        return with_query(PATH, [*({**stated, **other}).items()])

    at = paginate(len(shown.runs), ROWS, query.page, lambda number: url(page=number))
    rows = [shown.row(run) for run in shown.runs[at.rows]]
    content: dict[str, Any] = {
        "folder": index.folder.resolve().name,
        "shown": shown,
        "query": query,
        "axes": _AXES,
        "at": at,
        "rows": rows,
        "columns": shown.columns(),
        "has_lake": has_lake,
        "by_name": url(sort=None, page=None),
        "by_best": url(sort="best", page=None),
    }
    about = {
        "title": f"Runs in {content['folder']}/",
        "description": "Runs while they train.",
        "styles": ("viewer.css", "dashboard.css"),
    }
    template = _environment().get_template("dashboard.html")
    return template.render(site=SITE, about=about, page=content, request=None, picture=None)


@cache
def _environment() -> Environment:
    return environment_of(Path(__file__).parents[1] / "templates")

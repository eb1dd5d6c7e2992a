"""The routes of live pages: a run over stored curves, its stream of events, and the figures below its link."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from math import isfinite
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from losslake.figures.figure import MEDIA_TYPES
from losslake.questions.release.view import ReleaseView
from losslake_contributions.live.content import content_of
from losslake_contributions.live.empty_figure import EmptyFigure
from losslake_contributions.live.events import EventStream, curve_of, view_key
from losslake_contributions.live.subject import LiveQuery, subject_of
from losslake_contributions.live.watching import Watching
from losslake_contributions.people.links import LIVE, Links
from losslake_contributions.people.requests import in_thread, only_parameters
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.review.lake_app import LakeApp
from losslake_contributions.review.site import as_private, page
from losslake_contributions.store.tables import Link
from losslake_schema.errors import LossLakeError
from losslake_service.problems import ParameterProblem, problem

_UNKNOWN = "the link to this run is wrong or has expired: ask its contributor for a new one"
_FIGURES = re.compile(r"figures/(curves|scaling)\.vl\.json|(scaling|steps-to-target)\.(json|csv)")
_PARAMETERS = ("metric", "target", "workload")


class PrivateRoute(APIRoute):
    """A route whose responses no cache keeps, errors included."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await super().handle(scope, receive, as_private(send))


def add_live_pages(router: APIRouter, links: Links, watching: Watching, lake_app: LakeApp) -> None:
    """Add the routes."""
    add: Callable[..., None] = partial(
        router.add_api_route, include_in_schema=False, route_class_override=PrivateRoute, methods=["GET"]
    )

    async def get_page(request: Request, token: str) -> Response:
        link, query = await in_thread(_link, links, token), _query(request)
        view = await _newest(lake_app)
        async with watching.look(link.subject) as watched:
            subject = await in_thread(subject_of, query, watched.overview.state.facts, watched.overview.metrics, view)
            _, overview, event = await watched.view(view_key(subject), partial(curve_of, subject))
        content = await in_thread(content_of, token, link, overview, subject, event, view)
        return page("live.html", content["heading"], "", None, **content)

    async def get_events(request: Request, token: str) -> Response:
        link, query = await in_thread(_link, links, token), _query(request)
        view = await _newest(lake_app)
        async with AsyncExitStack() as places:
            watched = await places.enter_async_context(watching.watch(link.subject))
            subject = await in_thread(subject_of, query, watched.overview.state.facts, watched.overview.metrics, view)
            find = partial(in_thread, links.find, "live", token)
            return EventStream(request, places.pop_all(), watched, subject, link, find)

    async def get_stored(request: Request, token: str, rest: str) -> Response:
        await in_thread(_link, links, token)
        if not _FIGURES.fullmatch(rest):
            return problem(request.scope, "unknown-path", "a live page has figures of curves and scaling only")
        return _Stored(lake_app, f"/v1/{rest}")

    async def get_frame(token: str, figure: Annotated[EmptyFigure, Query()]) -> Response:
        await in_thread(_link, links, token)
        return Response(figure.specification(), media_type=MEDIA_TYPES["vl.json"])

    add(f"{LIVE}/{{token}}", get_page)
    add(f"{LIVE}/{{token}}/figures/curves.vl.json", get_frame)
    add(f"{LIVE}/{{token}}/events", get_events)
    add(f"{LIVE}/{{token}}/v1/{{rest:path}}", get_stored)


class _Stored(Response):
    """The response of the read service's application to a request below a link."""

    def __init__(self, lake_app: LakeApp, path: str) -> None:
        super().__init__()
        self._lake_app = lake_app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request as if its path began at the root."""
        inner = {**scope, "path": self._path, "raw_path": self._path.encode(), "root_path": "", "path_params": {}}
        await self._lake_app(inner, receive, send)


def _link(links: Links, token: str) -> Link:
    """Return the link whose token this is; raise ContributionError if it is wrong."""
    link = links.find("live", token)
    if link is None:
        raise ContributionError("unknown-live-run", _UNKNOWN)
    return link


def _query(request: Request) -> LiveQuery:
    """Return what the reader has chosen; raise ParameterProblem. Empty parameters are those of an empty form field."""
    chosen = {name: value for name, value in only_parameters(request, *_PARAMETERS).items() if value}
    target = chosen.get("target")
    try:
        number = None if target is None else float(target)
    except ValueError:
        number = float("nan")
    if number is not None and not isfinite(number):
        raise ParameterProblem("bad-parameter", "target", "target is a number")
    return LiveQuery(chosen.get("metric"), number, chosen.get("workload"))


async def _newest(lake_app: LakeApp) -> ReleaseView | None:
    """Return the newest release; None if there is none, or it can't be read: the run is shown all the same."""
    try:
        return await (await lake_app.releases()).view_async()
    except LossLakeError:
        return None

"""Addresses of pages that are sections of others now: each leads there with its query."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from losslake.questions.release.pool import ANY
from losslake_service.routes.reading import add_undocumented_route
from losslake_service.web.templates import Query, with_query

_PERMANENTLY = 308


def _advice(query: Query) -> str:
    names = {"accelerators": "trial_accelerators"}
    workload = next((value for name, value in query if name == "workload"), "")
    rest = [(names.get(name, name), value) for name, value in query if name != "workload"]
    path = f"/workloads/{quote(workload, safe='/')}" if workload else "/workloads"
    return f"{with_query(path, rest)}#advice"


def _frontier(query: Query) -> str:
    has_dataset = any(name == "dataset" for name, _ in query)
    return with_query("/compare", query if has_dataset else [("dataset", ANY), *query])


# By path: where it leads with a query.
MOVED: Mapping[str, Callable[[Query], str]] = {
    "/advice": _advice,
    "/critical-batch-sizes": lambda query: with_query("/batch-size", query),
    "/frontier": _frontier,
    "/papers": lambda query: with_query("/docs/papers", query),
}


def add_moved(router: APIRouter) -> None:
    """Add the routes."""
    for path, target in MOVED.items():
        add_undocumented_route(router, path, _redirection(target))


def _redirection(target: Callable[[Query], str]) -> Callable[[Request], Awaitable[Response]]:
    async def redirect(request: Request) -> Response:
        """Return the redirection to where the page is now."""
        query = parse_qsl(request.scope["query_string"].decode("ascii", "replace"))
        return RedirectResponse(target(query), _PERMANENTLY)

    return redirect

"""Errors over HTTP: problem documents (RFC 9457), each kind with a stable `type`; for a browser, as a page."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any

import duckdb
import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from losslake.figures.renderer import FiguresBusy
from losslake.questions.errors import BadParameter, UnknownName, near_names
from losslake_schema.errors import LakeBroken, StoreFailed, UnknownRelease
from losslake_service.sandbox.errors import KINDS as SQL_KINDS
from losslake_service.sandbox.errors import AskerLeft, SqlProblem

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:losslake:problem:"
ProblemPage = Callable[[Scope, Mapping[str, object]], str | None]
"""Gives a problem document as an HTML page, or None where the request of this scope isn't a browser's."""

KINDS = {
    "unknown-workload": (404, "There is no such workload"),
    "unknown-study": (404, "There is no such study"),
    "unknown-trial": (404, "There is no such trial"),
    "unknown-metric": (404, "The metric is not measured here"),
    "unknown-release": (404, "There is no such release"),
    "unknown-metaparameter": (404, "No trial has such a metaparameter"),
    "unknown-collection": (404, "There is no such collection"),
    "unknown-paper": (404, "There is no such paper"),
    "unknown-figure": (404, "There is no such figure"),
    "unknown-path": (404, "There is nothing at this path"),
    "wrong-method": (405, "The method is not allowed here"),
    "precondition-failed": (412, "It is another version"),
    "unsatisfiable-range": (416, "The range has no byte of it"),
    "bad-parameter": (422, "A parameter has a bad value"),
    "missing-parameter": (422, "A parameter is missing"),
    "unknown-parameter": (422, "There is no such parameter"),
    "too-slow": (408, "The request took too long to arrive"),
    "too-large": (413, "The request's body is too large"),
    "rate-limited": (429, "Too many requests"),
    "too-long": (431, "The request's path, query and headers are too long"),
    "internal-error": (500, "The service failed"),
    "figures-busy": (503, "Too many figures at once"),
    "lake-unavailable": (503, "The lake can't be read"),
    "not-ready": (503, "The service is not ready to answer"),
    **SQL_KINDS,
}
"""By kind, the HTTP status and the title."""

_NOBODY_WAITS = 499
_SECONDS_AWAY = 5
_METHODS = ("GET", "HEAD", "POST")
_LONGEST_QUOTE = 80
_log = logging.getLogger(__name__)


class ProblemDocument(BaseModel):
    """Why a request was not answered."""

    model_config = ConfigDict(use_attribute_docstrings=True, json_schema_extra={"additionalProperties": True})

    type: Annotated[str, Field(examples=["urn:losslake:problem:unknown-parameter"])]
    """The kind of problem, stable: urn:losslake:problem: and its name."""
    title: Annotated[str, Field(examples=["There is no such parameter"])]
    """The kind of problem in words."""
    status: Annotated[int, Field(examples=[422])]
    """The HTTP status, again."""
    detail: Annotated[str, Field(examples=["there is no parameter 'colour' here"])]
    """What is wrong with this request and what to do."""
    request_id: Annotated[str | None, Field(examples=["0f8c3a"])] = None
    """The request's X-Request-ID, as the service's log has it."""
    near_matches: Annotated[Sequence[str] | None, Field(examples=[["val/classification_error"]])] = None
    """Where a name is unknown: what may have been meant, likeliest first."""
    parameter: Annotated[str | None, Field(examples=["colour"])] = None
    """Where a parameter is wrong: its name."""
    line: Annotated[int | None, Field(examples=[1], json_schema_extra={"x-unit": "lines"})] = None
    """Where a statement has an error: its line, from 1."""
    column: Annotated[int | None, Field(examples=[8], json_schema_extra={"x-unit": "characters"})] = None
    """Where a statement has an error: its column, from 1."""


_WHEN = {
    404: "A name or a path is unknown; near matches are listed.",
    405: "The method is not allowed here.",
    412: "It is another version than If-Match or If-Unmodified-Since names.",
    413: "The request's body is too large.",
    416: "The range has no byte of it; Content-Range says how many there are.",
    422: "A parameter is missing, unknown or has a bad value.",
    429: "Too many requests; Retry-After says when to come again.",
    431: "The request's path, query and headers are too long.",
    500: "The service failed.",
    503: "The lake has no release, or can't be read.",
}


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says of errors with these statuses, and with 429 and 431, which any request may meet."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    return {status: {"description": _WHEN[status], "content": content} for status in sorted({*statuses, 429, 431})}


class ParameterProblem(Exception):
    """A parameter is missing, unknown or bad, told by its name in the URL."""

    def __init__(self, kind: str, parameter: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.parameter = parameter


async def no_parameters(request: Request) -> None:
    """Refuse parameters where there are none."""
    for name in request.query_params:
        raise ParameterProblem("unknown-parameter", name, f"there is no parameter '{name}' here: leave it out")


def answer_with_problems(app: FastAPI, page: ProblemPage | None = None) -> None:
    """Have every error of the application answered by a problem document. page: what browsers get instead."""
    app.state.problem_page = page
    for error, handler in _HANDLERS.items():
        app.add_exception_handler(error, handler)


def problem(scope: Scope, kind: str, detail: str, headers: Mapping[str, str] | None = None, **more: object) -> Response:
    """Return the problem document that answers the request of this scope, for a browser as a page.

    kind: a key of KINDS. more: further members.
    """
    status, title = KINDS[kind]
    document = {"type": TYPE + kind, "title": title, "status": status, "detail": detail, **more}
    request_id = scope.get("state", {}).get("request_id")
    if request_id is not None:
        document["request_id"] = request_id
    page: ProblemPage | None = getattr(scope["app"].state, "problem_page", None) if "app" in scope else None
    html = page(scope, document) if page is not None else None
    if html is not None:
        return HTMLResponse(html, status, headers)
    return Response(orjson.dumps(document), status, headers, MEDIA_TYPE)


async def _parameter(request: Request, error: Any) -> Response:
    kind = error.kind if isinstance(error, ParameterProblem) else "bad-parameter"
    return problem(request.scope, kind, str(error), parameter=error.parameter)


async def _invalid(request: Request, error: Any) -> Response:
    """The first fault that pydantic found, in our words as far as they go."""
    fault = error.errors()[0]
    name = str(fault["loc"][1]) if len(fault["loc"]) > 1 else "query"
    if fault["type"] == "missing":
        kind, detail = "missing-parameter", f"the parameter '{name}' is missing: add {name}=… to the query"
    else:
        why = str(fault["ctx"]["error"]) if fault["type"] == "value_error" else str(fault["msg"])
        kind, detail = "bad-parameter", f"{name}={_quoted(fault['input'])}: {why[:1].lower()}{why[1:]}"
    return problem(request.scope, kind, detail, parameter=name)


def _quoted(given: object) -> str:
    """A value that was given, as far as it helps to recognize it."""
    text = f"({len(given):,} values)" if isinstance(given, list) else str(given)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"


async def _sql(request: Request, error: Any) -> Response:
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else None
    place = {} if error.line is None else {"line": error.line, "column": error.column}
    return problem(request.scope, error.kind, error.detail, headers, **place)


async def _left(_: Request, __: Exception) -> Response:
    """What nobody gets any more; the log shows the status."""
    return Response(status_code=_NOBODY_WAITS)


async def _figures_busy(request: Request, error: Any) -> Response:
    return problem(request.scope, "figures-busy", str(error), {"Retry-After": str(error.retry_after)})


async def _unknown_name(request: Request, error: Any) -> Response:
    return problem(request.scope, f"unknown-{error.what}", str(error), near_matches=error.near_matches)


async def _http(request: Request, error: Any) -> Response:
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = headers["Allow"] = _allowed(request)
        return problem(request.scope, "wrong-method", f"{request.method} is not allowed here: use {allowed}", headers)
    for kind in ("precondition-failed", "unsatisfiable-range"):
        if error.status_code == KINDS[kind][0]:
            return problem(request.scope, kind, error.detail, headers)
    detail = f"there is nothing at {request.url.path}: GET / has examples, GET /docs describes every path"
    near = near_names(request.url.path, request.app.openapi()["paths"])
    return problem(request.scope, "unknown-path", detail, headers, near_matches=near)


def _allowed(request: Request) -> str:
    """The methods that any route has for this path; each route alone would tell of its own."""
    scopes = {method: {**request.scope, "method": method} for method in _METHODS}
    found = [m for m in _METHODS if any(r.matches(scopes[m])[0] == Match.FULL for r in request.app.routes)]
    return ", ".join(found)


async def _unavailable(request: Request, error: Exception) -> Response:
    _log.error("the lake can't be read: %s", error)
    detail = "a file of this release can't be read: ask its operator, or name another release"
    if isinstance(error, UnknownRelease):
        detail = "the lake has no release yet: ingest something, then ask again"
    return problem(request.scope, "lake-unavailable", detail)


async def _away(request: Request, error: Exception) -> Response:
    what = "store" if isinstance(error, StoreFailed) else "database"
    _log.error("the lake's %s can't be reached: %s", what, " ".join(str(error).split()))
    detail = f"the lake's {what} can't be reached now: ask again in {_SECONDS_AWAY} s"
    return problem(request.scope, "lake-unavailable", detail, {"Retry-After": str(_SECONDS_AWAY)})


async def _internal(request: Request, _: Exception) -> Response:
    return problem(request.scope, "internal-error", "the fault is ours and has been logged: report what led to it")


_HANDLERS: dict[type[Exception], Callable[[Request, Any], Awaitable[Response]]] = {
    ParameterProblem: _parameter,
    BadParameter: _parameter,
    RequestValidationError: _invalid,
    UnknownName: _unknown_name,
    SqlProblem: _sql,
    AskerLeft: _left,
    FiguresBusy: _figures_busy,
    HTTPException: _http,
    StoreFailed: _away,
    DBAPIError: _away,
    UnknownRelease: _unavailable,
    LakeBroken: _unavailable,
    duckdb.IOException: _unavailable,
    Exception: _internal,
}

"""HTTP errors as problem documents (RFC 9457), each kind with a stable `type`; as HTML pages for browsers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

import duckdb
import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import Scope

from losslake.figures.renderer import FiguresBusy
from losslake.questions.release.errors import BadParameter, UnknownName, near_names, reason_of
from losslake_schema.errors import LakeBroken, StoreFailed, UnknownRelease
from losslake_schema.package_files import read_toml
from losslake_service.sandbox.errors import KINDS as SQL_KINDS
from losslake_service.sandbox.errors import SqlProblem

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:losslake:problem:"
# Return a problem document as an HTML page, or None if the request of this scope isn't from a browser.
ProblemPage = Callable[[Scope, Mapping[str, object]], str | None]

_TEXTS = read_toml("losslake_service", "problems.toml")
# HTTP status and title by kind.
KINDS: Mapping[str, tuple[int, str]] = {
    kind: (status, title) for kind, (status, title) in _TEXTS["kinds"].items()
} | SQL_KINDS
_RETRY_SECONDS = 5
_METHODS = ("GET", "HEAD", "POST", "PUT")
_MAX_QUOTED = 80
_LONGEST_LINE = 500
_log = logging.getLogger(__name__)


class ProblemDocument(BaseModel):
    """The reason for which a request was not answered."""

    model_config = ConfigDict(use_attribute_docstrings=True, json_schema_extra={"additionalProperties": True})

    type: Annotated[str, Field(examples=["urn:losslake:problem:unknown-parameter"])]
    """The kind of problem, stable: urn:losslake:problem: and its name."""
    title: Annotated[str, Field(examples=["There is no such parameter"])]
    """The kind of problem in words."""
    status: Annotated[int, Field(examples=[422])]
    """The HTTP status."""
    detail: Annotated[str, Field(examples=["there is no parameter 'colour' here"])]
    """The fault of this request and what to do."""
    request_id: Annotated[str | None, Field(examples=["0f8c3a"])] = None
    """The X-Request-ID of the request, as in the service's log."""
    near_matches: Annotated[Sequence[str] | None, Field(examples=[["val/classification_error"]])] = None
    """For an unknown name: similar names, the best match first."""
    parameter: Annotated[str | None, Field(examples=["colour"])] = None
    """For a wrong parameter: its name."""
    line: Annotated[int | None, Field(examples=[1], json_schema_extra={"x-unit": "lines"})] = None
    """For an error in a statement: its line, from 1."""
    column: Annotated[int | None, Field(examples=[8], json_schema_extra={"x-unit": "characters"})] = None
    """For an error in a statement: its column, from 1."""


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses for errors with these statuses, and 429 and 431, which apply to every path."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    texts = _TEXTS["statuses"]
    return {each: {"description": texts[str(each)], "content": content} for each in sorted({*statuses, 429, 431})}


class ParameterProblem(Exception):
    """A parameter is missing, unknown or invalid."""

    def __init__(self, kind: str, parameter: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.parameter = parameter


class QuestionProblem(Exception):
    """An expensive question that isn't answered. kind: of KINDS. retry_after: seconds until it may be asked again."""

    def __init__(self, kind: str, detail: str, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.retry_after = retry_after


async def no_parameters(request: Request) -> None:
    """Raise ParameterProblem if the request has any parameter."""
    for name in request.query_params:
        raise ParameterProblem("unknown-parameter", name, f"there is no parameter '{name}' here: leave it out")


def add_problem_handlers(app: FastAPI, page: ProblemPage | None = None) -> None:
    """Respond to every error of the application with a problem document; page: renders it for browsers."""
    app.state.problem_page = page
    for error, handler in _HANDLERS.items():
        app.add_exception_handler(error, handler)


async def error_detail(error: Exception) -> str:
    """Return what is wrong and what to do in one line, as the problem document says it; log a fault of the service."""
    handler = next(_HANDLERS[kind] for kind in type(error).__mro__ if kind in _HANDLERS)
    if handler is _internal:
        _log.error("an answer failed", exc_info=error)
    response = await handler(Request({"type": "http", "headers": []}), error)
    line = " ".join(str(orjson.loads(response.body)["detail"]).split())
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def problem(
    scope: Scope,
    kind: str,
    detail: str,
    headers: Mapping[str, str] | None = None,
    kinds: Mapping[str, tuple[int, str]] = KINDS,
    /,
    **more: object,
) -> Response:
    """Return a response with a problem document, or with an HTML page for a browser.

    kind: a key of kinds, which have status and title. more: additional members of the document.
    """
    status, title = kinds[kind]
    document = {"type": TYPE + kind, "title": title, "status": status, "detail": detail, **more}
    request_id = scope.get("state", {}).get("request_id")
    if request_id is not None:
        document["request_id"] = request_id
    page: ProblemPage | None = getattr(scope["app"].state, "problem_page", None) if "app" in scope else None
    headers = {"Cache-Control": "no-store", **(headers or {})}
    html = page(scope, document) if page is not None else None
    if html is not None:
        return HTMLResponse(html, status, headers)
    return Response(orjson.dumps(document), status, headers, MEDIA_TYPE)


async def _parameter(request: Request, error: Any) -> Response:
    kind = error.kind if isinstance(error, ParameterProblem) else "bad-parameter"
    return problem(request.scope, kind, str(error), parameter=error.parameter)


async def _invalid(request: Request, error: Any) -> Response:
    """Respond with the first validation error of pydantic."""
    fault = error.errors()[0]
    name = str(fault["loc"][1]) if len(fault["loc"]) > 1 else "query"
    if fault["type"] == "missing":
        kind, detail = "missing-parameter", f"the parameter '{name}' is missing: add {name}=… to the query"
    else:
        kind, detail = "bad-parameter", f"{name}={_shortened(fault['input'])}: {reason_of(fault)}"
    return problem(request.scope, kind, detail, parameter=name)


def _shortened(value: object) -> str:
    """Return a parameter's value, shortened."""
    text = f"({len(value):,} values)" if isinstance(value, list) else str(value)
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"


async def _refused(request: Request, error: Any, kind: str | None = None, **more: object) -> Response:
    """Respond to what may be sent again later. kind: default: that of the error."""
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else None
    return problem(request.scope, kind or error.kind, str(error), headers, **more)


async def _sql(request: Request, error: Any) -> Response:
    position = {} if error.line is None else {"line": error.line, "column": error.column}
    return await _refused(request, error, **position)


async def _disconnected(_: Request, __: Exception) -> Response:
    """Return a status for the log; the client has left."""
    return Response(status_code=499)


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
    detail = f"there is nothing at {request.url.path}: / has examples, /docs/reference describes every path"
    near = near_names(request.url.path, _documented_paths(request.app))
    return problem(request.scope, "unknown-path", detail, headers, near_matches=near)


def _documented_paths(app: FastAPI) -> Iterable[str]:
    """Return the paths of the OpenAPI document, whose making takes half a second and would hold up all requests."""
    routes = iter_route_contexts(app.routes)
    return dict.fromkeys(route.path_format for route in routes if route.path_format and route.include_in_schema)


def _allowed(request: Request) -> str:
    """Return the methods that any route has for this path; a single route knows only its own."""
    scopes = {method: {**request.scope, "method": method} for method in _METHODS}
    return ", ".join(m for m in _METHODS if any(r.matches(scopes[m])[0] == Match.FULL for r in request.app.routes))


async def _unavailable(request: Request, error: Exception) -> Response:
    _log.error("the lake can't be read: %s", error)
    detail = "a file of this release can't be read: tell the operator, or use another release"
    if isinstance(error, UnknownRelease):
        detail = "the lake has no release yet: ingest a study, then try again"
    return problem(request.scope, "lake-unavailable", detail)


async def _unreachable(request: Request, error: Exception) -> Response:
    what = "store" if isinstance(error, StoreFailed) else "database"
    _log.error("the lake's %s can't be reached: %s", what, " ".join(str(error).split()))
    detail = f"the lake's {what} can't be reached now: try again in {_RETRY_SECONDS} s"
    return problem(request.scope, "lake-unavailable", detail, {"Retry-After": str(_RETRY_SECONDS)})


async def _internal(request: Request, _: Exception) -> Response:
    return problem(request.scope, "internal-error", "an error in the service, which has been logged: please report it")


_HANDLERS: dict[type[Exception], Callable[[Request, Any], Awaitable[Response]]] = {
    ParameterProblem: _parameter,
    BadParameter: _parameter,
    RequestValidationError: _invalid,
    UnknownName: _unknown_name,
    SqlProblem: _sql,
    QuestionProblem: _refused,
    ClientDisconnect: _disconnected,
    FiguresBusy: partial(_refused, kind="figures-busy"),
    HTTPException: _http,
    StoreFailed: _unreachable,
    DBAPIError: _unreachable,
    UnknownRelease: _unavailable,
    LakeBroken: _unavailable,
    duckdb.IOException: _unavailable,
    Exception: _internal,
}

"""Errors over HTTP: problem documents as RFC 9457 has them, each kind with a stable `type`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import duckdb
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from schema.errors import LakeBroken, UnknownRelease
from service.errors import BadParameter, UnknownName, near_names

MEDIA_TYPE = "application/problem+json"
_TYPE = "urn:losslake:problem:"

KINDS = {
    "unknown-workload": (404, "There is no such workload"),
    "unknown-study": (404, "There is no such study"),
    "unknown-trial": (404, "There is no such trial"),
    "unknown-metric": (404, "The metric is not measured here"),
    "unknown-release": (404, "There is no such release"),
    "unknown-path": (404, "There is nothing at this path"),
    "wrong-method": (405, "The method is not allowed here"),
    "bad-parameter": (422, "A parameter has a bad value"),
    "precondition-failed": (412, "The file is another version"),
    "unsatisfiable-range": (416, "The range has no byte of the file"),
    "missing-parameter": (422, "A parameter is missing"),
    "unknown-parameter": (422, "There is no such parameter"),
    "internal-error": (500, "The service failed"),
    "lake-unavailable": (503, "The lake can't be read"),
}
"""By kind, the HTTP status and the title."""

_log = logging.getLogger(__name__)


class ProblemDocument(BaseModel):
    """Why a request was not answered."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: str
    """The kind of problem, stable: urn:losslake:problem: and its name."""
    title: str
    """The kind of problem in words."""
    status: int
    """The HTTP status, again."""
    detail: str
    """What is wrong with this request and what to do."""


class NotFoundDocument(ProblemDocument):
    """Why a name or a path was not found."""

    near_matches: Sequence[str]
    """What may have been meant, likeliest first."""


class ParameterDocument(ProblemDocument):
    """What is wrong with a parameter."""

    parameter: str
    """The name of the parameter."""


RESPONSES: dict[int | str, dict[str, Any]] = {
    404: {"model": NotFoundDocument, "description": "A name is unknown; near matches are listed."},
    422: {"model": ParameterDocument, "description": "A parameter is missing, unknown or has a bad value."},
    500: {"model": ProblemDocument, "description": "The service failed."},
    503: {"model": ProblemDocument, "description": "The lake has no release, or can't be read."},
}


class ParameterProblem(Exception):
    """A parameter is missing, unknown or bad, told by its name in the URL."""

    def __init__(self, kind: str, parameter: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.parameter = parameter


def answer_with_problems(app: FastAPI) -> None:
    """Have every error of the application answered by a problem document."""
    app.add_exception_handler(ParameterProblem, _parameter_problem)
    app.add_exception_handler(BadParameter, _bad_parameter)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(UnknownName, _unknown_name)
    app.add_exception_handler(HTTPException, _http)
    for unavailable in (UnknownRelease, LakeBroken, duckdb.IOException):
        app.add_exception_handler(unavailable, _unavailable)
    app.add_exception_handler(Exception, _internal)


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, made once; FastAPI itself would give problem documents the media type of answers."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        for path in document["paths"].values():
            for status in map(str, RESPONSES):
                response = path["get"]["responses"][status]
                response["content"] = {MEDIA_TYPE: next(iter(response["content"].values()))}
        app.openapi_schema = document
    return app.openapi_schema


def _document(
    kind: str,
    detail: str,
    headers: dict[str, str] | None = None,
    shape: type[ProblemDocument] = ProblemDocument,
    **more: Any,
) -> Response:
    status, title = KINDS[kind]
    document = shape(type=_TYPE + kind, title=title, status=status, detail=detail, **more)
    return Response(document.model_dump_json(), status, headers, MEDIA_TYPE)


async def _parameter_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, ParameterProblem)
    return _document(error.kind, str(error), shape=ParameterDocument, parameter=error.parameter)


async def _bad_parameter(_: Request, error: Exception) -> Response:
    assert isinstance(error, BadParameter)
    return _document("bad-parameter", str(error), shape=ParameterDocument, parameter=error.parameter)


async def _invalid(_: Request, error: Exception) -> Response:
    """The first fault that pydantic found, in our words as far as they go."""
    assert isinstance(error, RequestValidationError)
    fault = error.errors()[0]
    name = str(fault["loc"][1]) if len(fault["loc"]) > 1 else "query"
    if fault["type"] == "missing":
        kind, detail = "missing-parameter", f"the parameter '{name}' is missing: add {name}=… to the query"
    else:
        why = str(fault["ctx"]["error"]) if fault["type"] == "value_error" else str(fault["msg"])
        kind, detail = "bad-parameter", f"{name}={fault['input']}: {why[:1].lower()}{why[1:]}"
    return _document(kind, detail, shape=ParameterDocument, parameter=name)


async def _unknown_name(_: Request, error: Exception) -> Response:
    assert isinstance(error, UnknownName)
    return _document(f"unknown-{error.what}", str(error), shape=NotFoundDocument, near_matches=error.near_matches)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = headers.get("Allow", "GET")
        return _document("wrong-method", f"{request.method} is not allowed here: use {allowed}", headers)
    for kind in ("precondition-failed", "unsatisfiable-range"):
        if error.status_code == KINDS[kind][0]:
            return _document(kind, error.detail, headers)
    detail = f"there is nothing at {request.url.path}: GET / has examples, GET /openapi.json describes every path"
    near = near_names(request.url.path, request.app.openapi()["paths"])
    return _document("unknown-path", detail, headers, NotFoundDocument, near_matches=near)


async def _unavailable(_: Request, error: Exception) -> Response:
    _log.error("the lake can't be read: %s", error)
    if isinstance(error, UnknownRelease):
        return _document("lake-unavailable", "the lake has no release yet: ingest something, then ask again")
    return _document(
        "lake-unavailable", "a file of this release can't be read: ask its operator, or name another release"
    )


async def _internal(_: Request, __: Exception) -> Response:
    return _document("internal-error", "the fault is ours and has been logged: report the request that led to it")

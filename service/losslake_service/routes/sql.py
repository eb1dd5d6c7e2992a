"""SQL over HTTP: one statement on a release's views, run in the sandbox, answered in any format."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import orjson
import pyarrow as pa
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from losslake import __version__
from losslake.output.answer import Answer
from losslake.output.formats import OutputFormat
from losslake.output.plain import plain_answer
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import FormatParameters, Natural, ReleaseParameters
from losslake.questions.release_view import ReleaseView
from losslake.questions.releases import Releases
from losslake_service.files.conditions import not_modified_response
from losslake_service.problems import ParameterProblem
from losslake_service.routes.openapi import answered, in_every_format
from losslake_service.routes.reading import ENDINGS, JSON, ReadRoute, wanted_format
from losslake_service.routes.respond import response_of
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.sandbox.spool import SqlResult

PATH = "/v1/sql"
_DOC = """One statement, SELECT, DESCRIBE, SUMMARIZE, EXPLAIN or SHOW, on the views and macros of a release:
collections, workloads, studies, trials, measurements, records, metrics, goals, steps_to_target, steps_to_result, and
for any target steps_to(metric, target) by trial and result_at(metric, target) by study. It runs within limits of time,
memory and size: a problem document says which one it met, and a result that was cut says so."""
_RESPONSES = answered(
    "The result; in the other formats than JSON: its rows.",
    in_every_format("SqlRows", is_binary=False),
    known="result",
    partial=None,
    problems=(404, 413, 422, 500, 503),
)
_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SqlStatement"}}},
    }
}
_KINDS = {"missing": "missing-parameter", "extra_forbidden": "unknown-parameter"}


_LIMIT_DOC = "Most rows of the result; default: as many as the service gives at all."
_Limit = Annotated[
    Natural | None, Field(ge=1, description=_LIMIT_DOC, examples=[100], json_schema_extra={"x-unit": "rows"})
]


class SqlParameters(ReleaseParameters):
    """A statement in a URL."""

    q: Annotated[str, Field(examples=["SELECT * FROM result_at('val/classification_error', 0.05)"])]
    """One statement: SELECT, DESCRIBE, SUMMARIZE, EXPLAIN or SHOW."""
    parameters: Annotated[str | None, Field(examples=['{"target": 0.05}', "[0.05]"])] = None
    """Values for the statement, as JSON: a list for ? or $1, an object for $name."""
    limit: _Limit = None


class SqlStatement(BaseModel):
    """A statement as a document."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid", json_schema_extra={"x-unit": "none"})

    sql: Annotated[str, Field(examples=["SELECT * FROM result_at('val/classification_error', ?)"])]
    """One statement: SELECT, DESCRIBE, SUMMARIZE, EXPLAIN or SHOW."""
    parameters: Annotated[list[Any] | dict[str, Any] | None, Field(examples=[[0.05]])] = None
    """Values for the statement: a list for ? or $1, an object for $name."""
    release: Annotated[Natural | None, Field(ge=1, examples=[1])] = None
    """The release to ask, by number; default: the newest."""
    limit: _Limit = None


class SqlColumn(BaseModel):
    """A column of a result."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: Annotated[str, Field(examples=["steps"])]
    """Its name."""
    type: Annotated[str, Field(examples=["int64"])]
    """The type of its values, by the name that Arrow has for it."""


class SqlRows(BaseModel):
    """The result of a statement."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    release: Annotated[int, Field(examples=[1])]
    """The release that answered."""
    truncated: Annotated[Literal[False, "rows", "bytes"], Field(examples=[False])]
    """The limit that cut the result, the service's or `limit`; false for a whole one."""
    columns: Annotated[list[SqlColumn], Field(examples=[[{"name": "batch_size", "type": "int64"}]])]
    """The columns of the result, in its order, also where it has no rows."""
    rows: Annotated[list[dict[str, Any]], Field(examples=[[{"batch_size": 64, "steps": 400}]])]
    """The rows, with a field for each column of the statement."""


def add_sql(router: APIRouter, statements: SqlStatements, releases: Releases) -> None:
    """Have a router answer SQL, also under the endings of formats."""

    async def get_sql(request: Request, parameters: Annotated[SqlParameters, Query()]) -> Response:
        output = wanted_format(request, parameters.format)
        values = _values(parameters.parameters)
        statement = SqlStatement(
            sql=parameters.q, parameters=values, release=parameters.release, limit=parameters.limit
        )
        return await answered_by(request, statement, output)

    async def post_sql(request: Request, parameters: Annotated[FormatParameters, Query()]) -> Response:
        output = wanted_format(request, parameters.format)
        return await answered_by(request, _statement(await request.body()), output)

    async def answered_by(request: Request, statement: SqlStatement, output: OutputFormat) -> Response:
        view = await releases.opened(statement.release)
        result = await statements.run(request, view, statement.sql, statement.parameters, statement.limit)
        return await run_in_threadpool(_response, request, view, result, output)

    for ending in ("", *ENDINGS):
        for method, endpoint, body in (("GET", get_sql, None), ("POST", post_sql, _BODY)):
            router.add_api_route(
                PATH + ending,
                endpoint,
                methods=[method],
                response_class=Response,
                route_class_override=ReadRoute,
                include_in_schema=not ending,
                operation_id=f"{method.lower()}Sql",
                summary="sql",
                description=_DOC,
                responses=_RESPONSES,
                openapi_extra=body,
            )


def _values(text: str | None) -> list[Any] | dict[str, Any] | None:
    if text is None:
        return None
    try:
        values = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadParameter("parameters", f"parameters is no JSON ({error}): give a list or an object") from None
    if not isinstance(values, (list, dict)):
        raise BadParameter("parameters", "parameters is neither a JSON list nor an object: give one of them")
    return values


def _statement(body: bytes) -> SqlStatement:
    example = '{"sql": "SELECT …", "parameters": […], "release": 1}'
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ParameterProblem("bad-parameter", "body", f"the body is no JSON ({error}): send {example}") from None
    if not isinstance(document, Mapping):
        raise ParameterProblem("bad-parameter", "body", f"the body is no JSON object: send {example}")
    try:
        return SqlStatement.model_validate(document)
    except ValidationError as error:
        fault = error.errors()[0]
        name = str(fault["loc"][0]) if fault["loc"] else "body"
        kind = _KINDS.get(fault["type"], "bad-parameter")
        raise ParameterProblem(kind, name, f"{name} in the body: {fault['msg']}; send {example}") from None


def _response(request: Request, view: ReleaseView, result: SqlResult, output: OutputFormat) -> Response:
    answer = plain_answer(Answer({}, result.schema, _until_closed(result)))
    facts = {"release": view.number, "truncated": result.truncated or False}
    if output is JSON:
        # The other formats say it in a way of their own.
        facts["columns"] = [{"name": column.name, "type": str(column.type)} for column in answer.schema]
    about = f"{view.digest} {__version__} {output.name} {result.digest} {result.truncated}"
    tag = hashlib.sha256(about.encode()).hexdigest()[:32]
    headers = {"etag": f'"{tag}"', "cache-control": "no-cache", "vary": "Accept"}
    known = not_modified_response(request.headers, headers) if request.method == "GET" else None
    if known is not None:
        result.close()
        return known
    return response_of(request, dataclasses.replace(answer, facts=facts), output, headers)


def _until_closed(result: SqlResult) -> Iterator[pa.RecordBatch]:
    """The batches; the file they are read from is closed after the last, or when nobody wants more."""
    with result:
        yield from result.batches

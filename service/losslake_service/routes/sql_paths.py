"""SQL over HTTP: one statement on a release's views, run in the sandbox, answered in any format."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import orjson
import pyarrow as pa
from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from losslake.output.answer import Answer
from losslake.output.formats import OutputFormat
from losslake.output.plain import plain_answer
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import FormatName, Natural, ReleaseParameters
from losslake.questions.release_view import ReleaseView
from losslake.questions.releases import Releases
from losslake_service.problems import ParameterProblem
from losslake_service.routes.negotiation import ENDINGS, JSON, wanted_format
from losslake_service.routes.reading import read_query
from losslake_service.routes.respond import response_of
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.routes.validity import is_known
from losslake_service.sandbox.spool import SqlResult
from losslake_service.version import VERSION

PATH = "/v1/sql"
_KINDS = {"missing": "missing-parameter", "extra_forbidden": "unknown-parameter"}


class SqlParameters(ReleaseParameters):
    """A statement in a URL."""

    q: Annotated[str, Field(examples=["SELECT * FROM result_at('val/classification_error', 0.05)"])]
    """One statement: SELECT, DESCRIBE, SUMMARIZE, EXPLAIN or SHOW."""
    parameters: Annotated[str | None, Field(examples=['{"target": 0.05}', "[0.05]"])] = None
    """Values for the statement, as JSON: a list for ? or $1, an object for $name."""
    limit: Annotated[Natural | None, Field(ge=1, examples=[100], json_schema_extra={"x-unit": "rows"})] = None
    """Most rows of the result; default: as many as the service gives at all."""


class SqlFormatParameters(BaseModel):
    """How the result of a posted statement is written."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    format: Annotated[FormatName | None, Field(examples=["csv"], json_schema_extra={"x-unit": "none"})] = None
    """How the result is written; default: as the header Accept or the ending of the path (.csv) says, else JSON."""


class SqlStatement(BaseModel):
    """A statement as a document."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid", json_schema_extra={"x-unit": "none"})

    sql: Annotated[str, Field(examples=["SELECT * FROM result_at('val/classification_error', ?)"])]
    """One statement: SELECT, DESCRIBE, SUMMARIZE, EXPLAIN or SHOW."""
    parameters: Annotated[list[Any] | dict[str, Any] | None, Field(examples=[[0.05]])] = None
    """Values for the statement: a list for ? or $1, an object for $name."""
    release: Annotated[Natural | None, Field(ge=1, examples=[1])] = None
    """The release to ask, by number; default: the newest."""
    limit: Annotated[Natural | None, Field(ge=1, examples=[100], json_schema_extra={"x-unit": "rows"})] = None
    """Most rows of the result; default: as many as the service gives at all."""


def sql_paths(statements: SqlStatements, releases: Releases) -> APIRouter:
    """The paths that answer SQL, under every ending."""
    router = APIRouter()

    async def get_sql(request: Request) -> Response:
        parameters, _ = read_query(request.scope["query_string"], SqlParameters)
        output = _output(request, parameters.format)
        statement = SqlStatement(
            sql=parameters.q,
            parameters=_values(parameters.parameters),
            release=parameters.release,
            limit=parameters.limit,
        )
        return await answered(request, statement, output)

    async def post_sql(request: Request) -> Response:
        parameters, _ = read_query(request.scope["query_string"], SqlFormatParameters)
        output = _output(request, parameters.format)
        return await answered(request, _statement(await request.body()), output)

    async def answered(request: Request, statement: SqlStatement, output: OutputFormat) -> Response:
        view = await releases.opened(statement.release)
        result = await statements.run(request, view, statement.sql, statement.parameters, statement.limit)
        return await run_in_threadpool(_response, request, view, result, output)

    for ending in ("", *ENDINGS):
        is_described = not ending
        for method, endpoint in (("GET", get_sql), ("POST", post_sql)):
            router.add_api_route(PATH + ending, endpoint, methods=[method], include_in_schema=is_described)
    return router


def _output(request: Request, parameter: str | None) -> OutputFormat:
    ending = ENDINGS.get(request.url.path.removeprefix(PATH))
    return wanted_format(ending, parameter, request.headers.get("accept"))


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
    about = f"{view.digest} {VERSION} {output.name} {result.digest} {result.truncated}"
    tag = hashlib.sha256(about.encode()).hexdigest()[:32]
    headers = {"etag": f'"{tag}"', "cache-control": "no-cache", "vary": "Accept"}
    if request.method == "GET" and is_known(request.headers, headers["etag"]):
        result.close()
        return Response(status_code=304, headers=headers)
    return response_of(request, dataclasses.replace(answer, facts=facts), output, headers)


def _until_closed(result: SqlResult) -> Iterator[pa.RecordBatch]:
    """The batches; the file they are read from is closed after the last, or when nobody wants more."""
    with result:
        yield from result.batches

"""SQL over HTTP: one statement on a release's views, run in the sandbox, with results in any format."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from losslake import __version__
from losslake.output.formats import OutputFormat
from losslake.questions.declaration.parameters import FormatParameters, Natural, ReleaseParameters
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake_service.entity_tags import digest_tag
from losslake_service.files.file_response import file_response
from losslake_service.problems import ParameterProblem
from losslake_service.routes.negotiation import JSON, requested_format
from losslake_service.routes.openapi import ROWS_ONLY, content_in_all_formats, describe_responses
from losslake_service.routes.reading import add_read_route
from losslake_service.routes.respond import attachment
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.sandbox.results import SqlResult

PATH = "/v1/sql"
_DOC = """One statement, SELECT, DESCRIBE, SUMMARIZE, EXPLAIN or SHOW, on the views and macros of a release:
collections, workloads, studies, trials, measurements, records, metrics, goals, steps_to_target, steps_to_result, and
for any target steps_to(metric, target) by trial, result_at(metric, target) by study and best_setting_at(metric, target)
by study of repeated settings, with direction := 'minimize' or 'maximize' where the metric has none;
pooled_result_at(metric, target, workload := 'collection/dataset/model/*') pools the workloads that match by batch size;
amounts_to(metric, target, measure := 'seconds') by trial and amount_at by study count examples, epochs, tokens, flops,
seconds or accelerator_seconds instead of steps. Time, memory and result size are limited: a problem document names the
limit that was exceeded, and a truncated result is marked."""
_RESPONSES = describe_responses(
    f"The result. {ROWS_ONLY}",
    content_in_all_formats("SqlRows", is_binary=False),
    cached="result",
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


# Rows of a result in JSON, where the request gives no limit.
JSON_ROWS = 10_000
_LIMIT_DOC = (
    f"Maximum number of rows of the result. Default: {JSON_ROWS:,} in JSON, the limit of the service in other formats."
)
_Limit = Annotated[
    Natural | None, Field(ge=1, description=_LIMIT_DOC, examples=[100], json_schema_extra={"x-unit": "rows"})
]


class SqlParameters(ReleaseParameters):
    """The query parameters of a statement."""

    q: Annotated[str, Field(examples=["SELECT * FROM result_at('val/classification_error', 0.05)"])]
    """One statement: SELECT, DESCRIBE, SUMMARIZE, EXPLAIN or SHOW."""
    parameters: Annotated[str | None, Field(examples=['{"target": 0.05}', "[0.05]"])] = None
    """Values of the statement's parameters, as JSON: a list for ? or $1, an object for $name."""
    limit: _Limit = None


class SqlStatement(BaseModel):
    """The JSON body with a statement."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid", json_schema_extra={"x-unit": "none"})

    sql: Annotated[str, Field(examples=["SELECT * FROM result_at('val/classification_error', ?)"])]
    """One statement: SELECT, DESCRIBE, SUMMARIZE, EXPLAIN or SHOW."""
    parameters: Annotated[list[Any] | dict[str, Any] | None, Field(examples=[[0.05]])] = None
    """Values of the statement's parameters: a list for ? or $1, an object for $name."""
    release: Annotated[Natural | None, Field(ge=1, examples=[1])] = None
    """The number of the release to query; default: the newest."""
    limit: _Limit = None


class SqlColumn(BaseModel):
    """A column of a result."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: Annotated[str, Field(examples=["steps"])]
    """Name of the column."""
    type: Annotated[str, Field(examples=["int64"])]
    """Arrow type of the column."""


class SqlRows(BaseModel):
    """The result of a statement."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    release: Annotated[int, Field(examples=[1])]
    """The release that was queried."""
    truncated: Annotated[Literal[False, "rows", "bytes"], Field(examples=[False])]
    """The limit that truncated the result, rows or bytes; false for a complete result."""
    all_rows: Annotated[str | None, Field(examples=[None])]
    """The way to get the rest of a result that was cut; null for a whole one."""
    columns: Annotated[list[SqlColumn], Field(examples=[[{"name": "batch_size", "type": "int64"}]])]
    """The columns of the result in order, also if it has no rows."""
    rows: Annotated[list[dict[str, Any]], Field(examples=[[{"batch_size": 64, "steps": 400}]])]
    """The rows, with a field for each column."""


def add_sql(router: APIRouter, statements: SqlStatements, releases: Releases) -> None:
    """Add the routes of SQL, also for paths with a format suffix."""

    async def get_sql(request: Request, parameters: Annotated[SqlParameters, Query()]) -> Response:
        output = requested_format(request, parameters.format)
        values = _values(parameters.parameters)
        statement = SqlStatement(
            sql=parameters.q, parameters=values, release=parameters.release, limit=parameters.limit
        )
        return await respond(request, statement, output)

    async def post_sql(request: Request, parameters: Annotated[FormatParameters, Query()]) -> Response:
        output = requested_format(request, parameters.format)
        return await respond(request, read_statement(await request.body()), output)

    async def respond(request: Request, statement: SqlStatement, output: OutputFormat) -> Response:
        check_depth(statement.parameters)
        view = await releases.view_async(statement.release)
        limit = JSON_ROWS if output is JSON and statement.limit is None else statement.limit
        result = await statements.run(request, view, statement.sql, statement.parameters, limit, output.name)
        return _response(request, view, result, output)

    for method, endpoint, body in (("GET", get_sql, None), ("POST", post_sql, _BODY)):
        add_read_route(
            router,
            PATH,
            endpoint,
            methods=[method],
            has_endings=True,
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
        raise BadParameter("parameters", f"parameters is not valid JSON ({error}): give a list or an object") from None
    if not isinstance(values, (list, dict)):
        raise BadParameter("parameters", "parameters must be a JSON list or object")
    return values


def check_depth(parameters: object) -> None:
    """Raise ParameterProblem for parameters that are nested too deep."""
    try:
        # orjson reads four times as many levels as it writes; DuckDB takes 5 s to infer the type of 500 levels.
        orjson.dumps(parameters)
    except orjson.JSONEncodeError:
        why = "parameters are nested more than 254 levels deep: give flatter values"
        raise ParameterProblem("bad-parameter", "parameters", why) from None


def read_statement(body: bytes) -> SqlStatement:
    """Return the statement in a JSON document; raises ParameterProblem."""
    example = '{"sql": "SELECT …", "parameters": […], "release": 1}'
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ParameterProblem("bad-parameter", "body", f"the body is not JSON ({error}): send {example}") from None
    if not isinstance(document, Mapping):
        raise ParameterProblem("bad-parameter", "body", f"the body is not a JSON object: send {example}")
    try:
        return SqlStatement.model_validate(document)
    except ValidationError as error:
        fault = error.errors()[0]
        name = str(fault["loc"][0]) if fault["loc"] else "body"
        kind = _KINDS.get(fault["type"], "bad-parameter")
        raise ParameterProblem(kind, name, f"{name} in the body: {fault['msg']}; send {example}") from None


def _response(request: Request, view: ReleaseView, result: SqlResult, output: OutputFormat) -> Response:
    tag = digest_tag(hashlib.sha256(f"{__version__} {output.name} {result.digest}".encode()).hexdigest())
    headers = {"etag": tag, "cache-control": "no-cache", "vary": "Accept", "LossLake-Release": str(view.number)}
    headers |= attachment(request, output.name)
    if result.truncated:
        headers["LossLake-Truncated"] = result.truncated
    try:
        return file_response(request, result.path, output.media_type, headers, result.close)
    except BaseException:
        result.close()
        raise

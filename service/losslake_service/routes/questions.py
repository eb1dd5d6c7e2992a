"""The routes of questions: /v1/scaling, and /v1/scaling.csv for the format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field, create_model
from starlette.concurrency import run_in_threadpool

from losslake import __version__
from losslake.lake.lake import Lake
from losslake.questions.errors import BadParameter
from losslake.questions.lists.filters import METAPARAMETER, filters_of, has_metaparameters
from losslake.questions.lists.listing import Listing
from losslake.questions.lists.lists import ListRequest
from losslake.questions.lists.paging import Cursor
from losslake.questions.parameters import FormatParameters, PageParameters, ReleaseParameters
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.releases import Releases
from losslake_service.files.conditions import cache_control, entity_tag, not_modified_response
from losslake_service.routes.openapi import (
    Document,
    answered,
    filter_parameters,
    in_every_format,
    release_headers,
)
from losslake_service.routes.reading import Endpoint, add_read_route, unknown_parameter, wanted_format
from losslake_service.routes.respond import response_of


def add_question(router: APIRouter, releases: Releases, question: Question) -> None:
    """Have a router answer a question."""
    name, listing = question.schema_name, question.listing
    shape = question.parameters if listing is None else _list_parameters(listing, question.parameters)
    filters = [] if listing is None else filter_parameters(listing)
    headers = release_headers(question.is_of_release, is_paged=listing is not None)
    add_read_route(
        router,
        question.path,
        _endpoint(releases, question, shape),
        has_endings=True,
        operation_id=f"get{name}",
        summary=question.subject,
        description=question.doc,
        responses=answered(f"{question.doc} In the other formats than JSON: its rows.", in_every_format(name), headers),
        # A parameter of the path goes before the column of its name: workloads have a column `workload`.
        openapi_extra={"parameters": [each for each in filters if each["name"] not in shape.model_fields]},
    )


def question_schemas(questions: Sequence[Question]) -> dict[str, Document]:
    """Return the schemas of answers and their rows, by name."""
    rows = {f"{question.schema_name}Row": question.row_schema() for question in questions}
    return rows | {question.schema_name: question.summary_schema() for question in questions}


def _list_parameters(listing: Listing, parameters: type[FormatParameters]) -> type[FormatParameters]:
    """Return the parameters of a list: with the names that `sort` and `fields` take; filters are extra ones."""
    fields: dict[str, Any] = {}
    ordered = [column.name for column in listing.shape.columns if column.is_ordered]
    for name, minus, known in (("sort", "-?", ordered), ("fields", "", list(listing.columns))):
        one = f"{minus}({'|'.join(known)})"
        examples = [f"-{known[0]}" if minus else ",".join(known[:2])]
        described = Field(examples=examples, json_schema_extra={"pattern": f"^({one}(,{one})*)?$"})
        fields[name] = (Annotated[str, parameters.model_fields[name], described], "")
    name = f"{parameters.__name__}Of{listing.name.capitalize()}"
    shape: type[FormatParameters] = create_model(name, __base__=parameters, __cls_kwargs__={"extra": "allow"}, **fields)
    return shape


def _endpoint(releases: Releases, question: Question, shape: type[FormatParameters]) -> Endpoint:
    listing = question.listing
    known_filters = filters_of(listing) if listing is not None else {}
    has_more = listing is not None and has_metaparameters(listing)

    async def answer_question(request: Request, parameters: Any) -> Response:
        filters: dict[str, list[str]] = parameters.model_extra or {}
        for name in filters:
            is_metaparameter = has_more and name.startswith(METAPARAMETER) and name != METAPARAMETER
            if name not in known_filters and not is_metaparameter:
                raise unknown_parameter(name, shape.model_fields)
        output = wanted_format(request, parameters.format)
        number = release_of(parameters)
        headers = {"vary": "Accept", "cache-control": cache_control(is_pinned=False)}
        subject: ReleaseView | Lake = releases.lake
        if question.is_of_release:
            subject = view = await releases.opened(number)
            headers["etag"] = entity_tag(view, __version__, question.path, request.scope["query_string"], output.name)
            headers["cache-control"] = cache_control(number is not None)
            known = not_modified_response(request.headers, headers, exists=False)
            if known is not None:
                return known
        given = parameters if listing is None else ListRequest(parameters, filters, output.name == "json")

        def answer() -> Response:
            return response_of(request, question.answer(subject, given), output, headers)

        if question.is_quick(parameters) and output.name == "json":
            return answer()
        return await run_in_threadpool(answer)

    answer_question.__annotations__["parameters"] = Annotated[shape, Query()]
    return answer_question


def release_of(parameters: FormatParameters) -> int | None:
    """Return the release asked for: by number, or by the cursor of a page; None for the newest."""
    if not isinstance(parameters, ReleaseParameters):
        return None
    cursor = parameters.cursor if isinstance(parameters, PageParameters) else None
    if cursor is None:
        return parameters.release
    release = Cursor.read(cursor).release
    if parameters.release is not None and parameters.release != release:
        raise BadParameter("release", f"the cursor is of release {release}, not of {parameters.release}: leave it out")
    return release

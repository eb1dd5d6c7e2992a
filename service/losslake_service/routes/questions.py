"""The routes of questions, such as /v1/scaling, and /v1/scaling.csv to select the format.

Annotations are evaluated here when a function is defined, since each endpoint has a model of its own.
"""

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field, create_model

from losslake import __version__
from losslake.lake.lake import Lake
from losslake.questions.declaration.listing import Listing
from losslake.questions.declaration.parameters import FormatParameters, PageParameters, ReleaseParameters
from losslake.questions.declaration.question import Question
from losslake.questions.lists.filters import METAPARAMETER, filters_of, has_metaparameters
from losslake.questions.lists.lists import ListRequest
from losslake.questions.lists.paging import Cursor
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake_service.entity_tags import cache_control, entity_tag, not_modified_response
from losslake_service.expensive.answers import Answers
from losslake_service.routes.negotiation import requested_format
from losslake_service.routes.openapi import (
    ROWS_ONLY,
    Document,
    content_in_all_formats,
    describe_responses,
    filter_parameters,
    release_headers,
)
from losslake_service.routes.reading import Endpoint, add_read_route, unknown_parameter
from losslake_service.routes.respond import response_of


def add_question(router: APIRouter, releases: Releases, answers: Answers, question: Question) -> None:
    """Add the route of a question."""
    name, listing = question.schema_name, question.listing
    model = question.parameters if listing is None else _list_parameters(listing, question.parameters)
    filters = [] if listing is None else filter_parameters(listing)
    headers = release_headers(question.is_of_release, is_paged=issubclass(question.parameters, PageParameters))
    add_read_route(
        router,
        question.path,
        _endpoint(releases, answers, question, model),
        has_endings=True,
        is_cached=True,
        operation_id=f"get{name}",
        summary=question.subject,
        description=question.doc,
        responses=describe_responses(f"{question.doc} {ROWS_ONLY}", content_in_all_formats(name), headers),
        # A parameter replaces the filter of the same name: workloads have a column `workload`.
        openapi_extra={"parameters": [each for each in filters if each["name"] not in model.model_fields]},
    )


def question_schemas(questions: Sequence[Question]) -> dict[str, Document]:
    """Return the schemas of answers and their rows, by name."""
    rows = {f"{question.schema_name}Row": question.row_schema() for question in questions}
    return rows | {question.schema_name: question.summary_schema() for question in questions}


@cache
def _list_parameters(listing: Listing, parameters: type[FormatParameters]) -> type[FormatParameters]:
    """Return the parameters of a list with the names allowed in `sort` and `fields`; filters are extra fields."""
    fields: dict[str, Any] = {}
    ordered = [column.name for column in listing.shape.columns if column.is_ordered]
    for name, minus, allowed in (("sort", "-?", ordered), ("fields", "", list(listing.columns))):
        choice = f"{minus}({'|'.join(allowed)})"
        examples = [f"-{allowed[0]}" if minus else ",".join(allowed[:2])]
        field = Field(examples=examples, json_schema_extra={"pattern": f"^({choice}(,{choice})*)?$"})
        fields[name] = (Annotated[str, parameters.model_fields[name], field], "")
    name = f"{parameters.__name__}Of{listing.name.capitalize()}"
    # The fields have their docstrings from the base: pydantic would look for the source of this class in every module.
    config = {"extra": "allow", "use_attribute_docstrings": False}
    model: type[FormatParameters] = create_model(name, __base__=parameters, __cls_kwargs__=config, **fields)
    return model


def _endpoint(releases: Releases, answers: Answers, question: Question, model: type[FormatParameters]) -> Endpoint:
    listing = question.listing
    known_filters = filters_of(listing) if listing is not None else {}
    filters_metaparameters = listing is not None and has_metaparameters(listing)

    async def answer_question(
        request: Request,
        parameters: Annotated[model, Query()],  # type: ignore[valid-type]
    ) -> Response:
        values: Any = parameters  # mypy knows no class that is made at run time
        filters: dict[str, list[str]] = values.model_extra or {}
        for name in filters:
            is_metaparameter = filters_metaparameters and name.startswith(METAPARAMETER) and name != METAPARAMETER
            if name not in known_filters and not is_metaparameter:
                raise unknown_parameter(name, model.model_fields)
        output = requested_format(request, values.format)
        number = release_of(values)
        headers = {"vary": "Accept", "cache-control": cache_control(is_pinned=False)}
        subject: ReleaseView | Lake = releases.lake
        if question.is_of_release:
            subject = view = await releases.view_async(number)
            headers["etag"] = entity_tag(view, __version__, question.path, request.scope["query_string"], output.name)
            headers["cache-control"] = cache_control(number is not None)
            unmodified = not_modified_response(request.headers, headers, exists=False)
            if unmodified is not None:
                return unmodified
        arguments = values if listing is None else ListRequest(values, filters, output.name == "json")

        def answer() -> Response:
            return response_of(request, question.answer(subject, arguments), output, headers)

        if question.is_quick(values) and output.name == "json":
            return answer()
        return await answers.respond(request, subject.number if isinstance(subject, ReleaseView) else 0, answer)

    return answer_question


def release_of(parameters: FormatParameters) -> int | None:
    """Return the requested release, from `release` or from the cursor of a page; None for the newest."""
    if not isinstance(parameters, ReleaseParameters):
        return None
    cursor = parameters.cursor if isinstance(parameters, PageParameters) else None
    if cursor is None:
        return parameters.release
    release = Cursor.read(cursor).release
    if parameters.release is not None and parameters.release != release:
        raise BadParameter("release", f"the cursor is of release {release}, not of {parameters.release}: leave it out")
    return release

"""The path that lists the files of a release, in the formats of every answer and as SHA256SUMS."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from losslake.index.file_list import FILES as COLUMNS
from losslake.output.answer import Answer, row_shape
from losslake.questions.described_facts import RELEASE
from losslake.questions.parameters import ReleaseParameters
from losslake.questions.question import Question
from losslake_service.files.documents import base_url, document_response, opened
from losslake_service.files.release_files import CHECKSUMS_PLACE, ReleaseFiles
from losslake_service.routes.negotiation import ENDINGS, wanted_format
from losslake_service.routes.reading import read_query
from losslake_service.routes.respond import response_of

_PATH = "/v1/releases/{release}/files"
_AFTER_PATH = COLUMNS.names.index("path") + 1
_NAMES = [*COLUMNS.names[:_AFTER_PATH], "url", *COLUMNS.names[_AFTER_PATH:]]
_SUMS = "sha256sums"
_AN_HOUR = "public, max-age=3600"
router = APIRouter()


class FilesParameters(BaseModel):
    """How the list is written."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    format: Annotated[
        Literal["json", "csv", "arrow", "parquet", "sha256sums"] | None,
        Field(examples=["csv"], json_schema_extra={"x-unit": "none"}),
    ] = None
    """How it is written; default: as the header Accept or the ending of the path (.csv) says, else JSON."""


def _not_asked(_: object) -> Answer:
    raise NotImplementedError("the files of a release are asked for by their own path")


FILES = Question(
    _PATH,
    "The data files of a release: where each is, its size and checksum, and what is in it.",
    ReleaseParameters,
    _not_asked,
    row_shape("files", *_NAMES),
    (RELEASE,),
    is_of_release=True,
    more_media_types=("text/plain",),
)
"""For the OpenAPI document."""


async def _list(request: Request, release: str, ending: str) -> Response:
    parameters, _ = read_query(request.scope["query_string"], FilesParameters)
    files = await opened(request, release)
    if parameters.format == _SUMS and not ending:
        return await document_response(request, files, CHECKSUMS_PLACE)
    output = wanted_format(ENDINGS.get(ending), parameters.format, request.headers.get("accept"))
    headers = {"vary": "Accept, Host", "cache-control": _AN_HOUR}
    address = base_url(request, request.app.state.public_url)
    return await run_in_threadpool(lambda: response_of(request, _answer(files, address), output, headers))


def _answer(files: ReleaseFiles, address: str) -> Answer:
    table = files.table(address).select(_NAMES).cast(FILES.rows.schema)
    return Answer({"release": files.release.number}, FILES.rows.schema, iter(table.to_batches()))


@router.get(_PATH, response_class=Response, description=FILES.doc)
@router.head(_PATH, include_in_schema=False)
async def get_files(
    request: Request,
    release: Annotated[str, Path(description="The release's number.", examples=["1"])],
    _: Annotated[FilesParameters, Query()],
) -> Response:
    """The files of a release in the format that Accept or `format` names."""
    return await _list(request, release, "")


for _ending in ENDINGS:

    def _endpoint(ending: str) -> None:
        async def get_files_as(request: Request, release: str) -> Response:
            return await _list(request, release, ending)

        router.add_api_route(f"{_PATH}{ending}", get_files_as, methods=["GET", "HEAD"], include_in_schema=False)

    _endpoint(_ending)

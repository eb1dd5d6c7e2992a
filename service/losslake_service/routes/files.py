"""The routes of bulk download: the files of a release, their list, the documents beside them, and a DuckDB file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote_to_bytes

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from losslake.lake.croissant import CROISSANT_PLACE
from losslake.lake.lake import Lake
from losslake.output.answer import Answer
from losslake.output.columns import row_shape
from losslake.output.rows import Row, shown
from losslake.questions.summary import ReleaseSummary, summary_fields
from losslake_service.files.delivery import Delivery, delivery_of
from losslake_service.files.documents import base_url, document_response, nothing_at, opened
from losslake_service.files.file_response import FileAnswer
from losslake_service.files.release_files import (
    CHECKSUMS_PLACE,
    DUCKDB,
    PARQUET,
    BulkReleases,
    Entry,
    ReleaseFiles,
    RemoteDatabases,
)
from losslake_service.problems import problem_responses
from losslake_service.routes.openapi import Document, answered, in_every_format, release_headers
from losslake_service.routes.reading import Endpoint, add_read_route, wanted_format
from losslake_service.routes.respond import response_of
from losslake_service.settings import Settings

FolderPage = Callable[[str, Sequence[Entry], bool], str]
"""Gives a folder as a page of links, by title and entries; and whether it has one above it."""

_OBJECTS = ("application/yaml", "application/ld+json")
_Release = Annotated[str, Path(description="The release's number.", examples=["1"])]
_Place = Annotated[
    str,
    Path(
        description="A file's path as `/v1/releases/{release}/files` lists it, percent-encoded once more, so that its "
        "own percent signs become %25; or a folder's path with a slash at the end.",
        examples=["studies.parquet"],
    ),
]
_DOCUMENTS = (
    (CHECKSUMS_PLACE, "The sha256 of every file, for `sha256sum --check` in a folder of them.", "text/plain"),
    ("README.md", "How to read the files of a release, and where they come from.", "text/markdown"),
    ("CITATION.cff", "How to cite a release, in the Citation File Format 1.2.0.", "application/yaml"),
    (CROISSANT_PLACE, "A release described to machines, in MLCommons Croissant 1.0.", "application/ld+json"),
)
_LIST = "/v1/releases/{release}/files"
_LIST_DOC = "The data files of a release: where each is, its size and checksum, and what is in it."
_EXAMPLE = "measurements/collection=bundled/dataset=digits/model=mlp_64/optimizer=sgd/batch_size=64/part-0.parquet"
_AN_HOUR = "public, max-age=3600"


class FileRow(Row):
    """A data file."""

    table: Annotated[str, shown("measurements")]
    """The table that its rows belong to."""
    path: Annotated[str, shown(_EXAMPLE)]
    """Its path below /data/{release}/, the same as in an export. In a URL its percent signs become %25."""
    url: Annotated[str, shown(f"http://127.0.0.1:8000/hive/1/{_EXAMPLE}")]
    """Where it is served. Readers that take the keys of partitions from a URL, as DuckDB and Polars do, find them in
    this one."""
    bytes: Annotated[int, shown(52133, "bytes")]
    """Its size."""
    sha256: Annotated[str, shown("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    """The sha256 of its bytes, in hexadecimal."""
    rows: Annotated[int, shown(20000, "rows")]
    """Its rows."""
    collection: Annotated[str | None, shown("bundled")]
    """The collection of its study; null where the table is one file."""
    dataset: Annotated[str | None, shown("digits")]
    """The dataset of its study; null where the table is one file."""
    model: Annotated[str | None, shown("mlp_64")]
    """The model of its study; null where the table is one file."""
    optimizer: Annotated[str | None, shown("sgd")]
    """The optimizer of its study; null where the table is one file."""
    batch_size: Annotated[int | None, shown(64, "batch_unit of the study, mostly examples")]
    """The batch size of its study; null where the table is one file."""
    metric_min: Annotated[str | None, shown("test/classification_error")]
    """The least metric in it; null where there is none."""
    metric_max: Annotated[str | None, shown("val/cross_entropy_error")]
    """The greatest metric in it; null where there is none."""
    trial_id_min: Annotated[int | None, shown(1)]
    """The least trial_id in it; null where there is none."""
    trial_id_max: Annotated[int | None, shown(100)]
    """The greatest trial_id in it; null where there is none."""
    step_min: Annotated[int | None, shown(0, "steps")]
    """The least step in it; null where there is none."""
    step_max: Annotated[int | None, shown(2000, "steps")]
    """The greatest step in it; null where there is none."""
    value_min: Annotated[float | None, shown(0.0121, "unit of the metric")]
    """The least value in it; NaN left out; null where there is none."""
    value_max: Annotated[float | None, shown(2.31, "unit of the metric")]
    """The greatest value in it; NaN left out; null where there is none."""


_ROWS = row_shape(FileRow)


def add_files(app: FastAPI, lake: Lake, settings: Settings, folder_page: FolderPage) -> None:
    """Have an application serve the files of a lake; raises LossLakeError where they can't be delivered as is set."""
    app.state.bulk = BulkReleases(lake)
    app.state.delivery = delivery_of(lake, settings)
    app.state.remote_databases = RemoteDatabases(lake)
    app.state.public_url = settings.public_url
    app.state.folder_page = folder_page
    a_file = _gives("The file, or a folder as a page of links.", PARQUET, "text/html", "text/plain", is_file=True)
    a_data_file = _gives("The file, or a folder as a page of links.", PARQUET, is_file=True)
    a_database = _gives("The DuckDB database.", DUCKDB, is_file=True)
    router = app.router
    add_read_route(router, "/data/{release}/{place:path}", get_data, responses=a_file)
    add_read_route(router, "/hive/{release}/{place:path}", get_hive, responses=a_data_file)
    add_read_route(router, "/data/", get_releases_folder, responses=_gives("A page of links.", "text/html"))
    router.add_api_route("/data", get_releases_folder_redirect, methods=["GET", "HEAD"], include_in_schema=False)
    add_read_route(router, "/data/{release}", get_release_folder_redirect, include_in_schema=False)
    for place, description, media_type in _DOCUMENTS:
        add_read_route(
            router,
            f"/v1/releases/{{release}}/{place}",
            _document_endpoint(place),
            name=f"get_{place.lower().replace('.', '_')}",
            summary=f"{place} of a release",
            description=description,
            responses=_gives("The text.", media_type),
        )
    add_read_route(router, "/v1/releases/{release}/losslake.duckdb", get_losslake_duckdb, responses=a_database)
    content = in_every_format("Files") | {"text/plain": {"schema": {"type": "string"}}}
    add_read_route(
        router,
        _LIST,
        get_files,
        has_endings=True,
        operation_id="getFiles",
        summary="files",
        description=_LIST_DOC,
        responses=answered(f"{_LIST_DOC} In the other formats than JSON: its rows.", content, release_headers()),
    )


def file_schemas() -> dict[str, Document]:
    """Return the schemas of the list of files and its rows, by name."""
    properties = {column.name: column.json_schema() for column in _ROWS.columns}
    rows = {"type": "array", "items": {"$ref": "#/components/schemas/FilesRow"}, "description": "The rows."}
    answer = {**summary_fields(ReleaseSummary), "rows": rows | {"examples": [[]]}}
    return {
        "FilesRow": {
            "type": "object",
            "description": f"A row of {_LIST}.",
            "properties": properties,
            "required": [*properties],
        },
        "Files": {"type": "object", "description": _LIST_DOC, "properties": answer, "required": [*answer]},
    }


def _gives(description: str, *media_types: str, is_file: bool = False) -> dict[int | str, Any]:
    """What OpenAPI says of the responses of a path that doesn't answer in JSON."""
    text = {"schema": {"type": "string", "format": "binary"}}
    content = {name: {"schema": {"type": "object"}} if name in _OBJECTS else text for name in media_types}
    responses: dict[int | str, Any] = {200: {"description": description, "content": content}}
    if is_file:
        responses[307] = {"description": "To where it is, for some minutes, on a service that is set to redirect."}
        responses[206] = {"description": "The range that was asked for.", "content": content}
    responses[304] = {"description": "It is as the requester knows it."}
    return responses | problem_responses(404, *((412, 416) if is_file else ()), 422, 500, 503)


async def get_releases_folder(request: Request) -> Response:
    """The releases as folders."""
    bulk: BulkReleases = request.app.state.bulk
    releases = await run_in_threadpool(bulk.lake.releases)
    return _folder(request, "Files of all releases", [Entry(f"{release.number}/", None) for release in releases], False)


async def get_releases_folder_redirect() -> Response:
    """To the folder's own path, from which its links work."""
    return RedirectResponse("./data/", 308)


async def get_release_folder_redirect(request: Request, release: str) -> Response:
    """To the folder's own path."""
    files = await opened(request, release)
    return RedirectResponse(f"./{files.release.number}/", 308)


async def get_data(
    request: Request,
    release: _Release,
    place: _Place,  # noqa: ARG001 - described only; the path is read as it stands in the URL
) -> Response:
    """A file of a release, whole or a range of it, or a folder as a page of links; for any tool that reads Parquet.

    Files never change: ETag is their sha256. One range at a time; several are answered with the whole file.
    """
    files = await opened(request, release)
    wanted = _asked_place(_raw_place(request, files, "/data/"))
    served = files.files.get(wanted)
    if served is not None:
        return await _delivery(request)(served, request)
    if wanted in files.folders:
        title = f"Files of release {files.release.number}" + (f": {wanted}" if wanted else "")
        return _folder(request, title, files.folders[wanted], True)
    if f"{wanted}/" in files.folders:
        name = wanted.rpartition("/")[2]
        return RedirectResponse(f"./{quote(name, safe='=')}/", 308)
    return await document_response(request, files, wanted)


async def get_hive(request: Request, release: _Release, place: _Place) -> Response:
    """The data files once more, for readers that take the values of partitions from the URL, as DuckDB does.

    Here the path of a file stands in the URL as it is, its percent signs not encoded again.
    """
    files = await opened(request, release)
    wanted = _raw_place(request, files, "/hive/").decode("ascii", "replace")
    served = files.files.get(wanted)
    if served is None:
        raise nothing_at(files, place)
    return await _delivery(request)(served, request)


def _document_endpoint(place: str) -> Endpoint:
    """What answers with a document that lies in a release's folder, beside the release's other facts."""

    async def get_document(request: Request, release: _Release) -> Response:
        return await document_response(request, await opened(request, release), place)

    return get_document


async def get_losslake_duckdb(request: Request, release: _Release) -> Response:
    """A small DuckDB database with the views and macros of `losslake sql`, which read this release's files over HTTP.

    Open it with DuckDB 1.5 or newer, or ATTACH its URL as losslake and USE losslake.
    """
    files = await opened(request, release)
    databases: RemoteDatabases = request.app.state.remote_databases
    address = base_url(request, request.app.state.public_url)
    served = await run_in_threadpool(databases.served, files.release, address)
    return FileAnswer(served, request.headers)


class FilesParameters(BaseModel):
    """How the list is written."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    format: Annotated[
        Literal["json", "csv", "arrow", "parquet", "sha256sums"] | None,
        Field(examples=["csv"], json_schema_extra={"x-unit": "none"}),
    ] = None
    """How it is written; default: as the header Accept or the ending of the path (.csv) says, else JSON."""


async def get_files(request: Request, release: _Release, parameters: Annotated[FilesParameters, Query()]) -> Response:
    """The files of a release in the format that Accept or `format` names."""
    files = await opened(request, release)
    if parameters.format == "sha256sums" and not request.path_params.get("ending"):
        return await document_response(request, files, CHECKSUMS_PLACE)
    output = wanted_format(request, parameters.format)
    headers = {"vary": "Accept, Host", "cache-control": _AN_HOUR}
    address = base_url(request, request.app.state.public_url)

    def answer() -> Response:
        table = files.table(address).select(_ROWS.schema.names).cast(_ROWS.schema)
        rows = Answer({"release": files.release.number}, _ROWS.schema, iter(table.to_batches()))
        return response_of(request, rows, output, headers)

    return await run_in_threadpool(answer)


def _folder(request: Request, title: str, entries: Sequence[Entry], has_parent: bool) -> Response:
    page: FolderPage = request.app.state.folder_page
    return HTMLResponse(page(title, entries, has_parent))


def _delivery(request: Request) -> Delivery:
    delivery: Delivery = request.app.state.delivery
    return delivery


def _raw_place(request: Request, files: ReleaseFiles, below: str) -> bytes:
    """What stands in the URL behind the release, as it stands there; raises UnknownName."""
    raw: bytes = request.scope["raw_path"].removeprefix(request.scope.get("root_path", "").encode())
    folder = f"{below}{files.number}/".encode()
    if not raw.startswith(folder):
        raise nothing_at(files, "")
    return raw.removeprefix(folder)


def _asked_place(raw_place: bytes) -> str:
    """The place that is asked for; one that is nowhere if an encoded slash or bytes that are no UTF-8 are in it."""
    parts = [unquote_to_bytes(part) for part in raw_place.split(b"/")]
    return "/".join("\0" if b"/" in part else part.decode("utf-8", "replace") for part in parts)

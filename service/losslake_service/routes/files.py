"""The routes of downloads: the files of a release, their list, its documents, and a DuckDB file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote_to_bytes

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from losslake.lake.croissant import CROISSANT_PATH
from losslake.output.answer import Answer
from losslake.output.columns import row_shape
from losslake.output.rows import Row, shown
from losslake.questions.declaration.shared_columns import SharedColumns
from losslake.questions.declaration.summary import ReleaseSummary, summary_fields
from losslake_service.entity_tags import AN_HOUR
from losslake_service.files.delivery import Delivery, delivery_of
from losslake_service.files.file_response import LocalFileResponse
from losslake_service.files.release_documents import base_url, document_response, open_release_files, unknown_path
from losslake_service.files.release_files import (
    CHECKSUMS_PLACE,
    DUCKDB,
    PARQUET,
    Entry,
    ReleaseFiles,
    ReleaseFilesCache,
    RemoteDatabases,
)
from losslake_service.problems import problem_responses
from losslake_service.routes.negotiation import requested_format
from losslake_service.routes.openapi import Document, content_in_all_formats, describe_responses, release_headers
from losslake_service.routes.reading import Endpoint, add_read_route, add_undocumented_route
from losslake_service.routes.respond import response_of
from losslake_service.settings import Settings

# Return a folder as an HTML page of links. Arguments: title, entries, True if it has a parent folder.
FolderPage = Callable[[str, Sequence[Entry], bool], str]

_OBJECTS = ("application/yaml", "application/ld+json")
_Release = Annotated[str, Path(description="The release's number.", examples=["1"])]
_Place = Annotated[
    str,
    Path(
        description="The path of a file as listed by `/v1/releases/{release}/files`, percent-encoded once more, so "
        "that its percent signs become %25; or the path of a folder, with a trailing slash.",
        examples=["studies.parquet"],
    ),
]
_DOCUMENTS = (
    (CHECKSUMS_PLACE, "The SHA-256 of every file, for `sha256sum --check` in the folder of the files.", "text/plain"),
    ("README.md", "How to read the files of a release, and their sources.", "text/markdown"),
    ("CITATION.cff", "How to cite a release, in the Citation File Format 1.2.0.", "application/yaml"),
    (CROISSANT_PATH, "The metadata of a release in MLCommons Croissant 1.0.", "application/ld+json"),
)
_LIST = "/v1/releases/{release}/files"
_LIST_DOC = "The data files of a release: path, size, checksum and value ranges."
_ANSWER_DOC = f"{_LIST_DOC} Formats other than JSON contain only the rows."
_EXAMPLE = "measurements/collection=bundled/dataset=digits/model=mlp_64/optimizer=sgd/batch_size=64/part-0.parquet"


class FileRow(Row):
    """A data file."""

    table: Annotated[str, shown("measurements")]
    """The table that the rows belong to."""
    path: Annotated[str, shown(_EXAMPLE)]
    """Path below /data/{release}/, the same as in an export. In a URL its percent signs become %25."""
    url: Annotated[str, shown(f"http://127.0.0.1:8000/hive/1/{_EXAMPLE}")]
    """URL of the file. It contains the partition keys for readers that parse them, such as DuckDB and Polars."""
    bytes: Annotated[int, shown(52133, "bytes")]
    """Size of the file."""
    sha256: Annotated[str, shown("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    """SHA-256 of the file, in hexadecimal."""
    rows: Annotated[int, shown(20000, "rows")]
    """Number of rows."""
    collection: Annotated[str | None, shown("bundled")]
    """Collection of the study; null if the table is a single file."""
    dataset: Annotated[str | None, shown("digits")]
    """Dataset of the study; null if the table is a single file."""
    model: Annotated[str | None, shown("mlp_64")]
    """Model of the study; null if the table is a single file."""
    optimizer: Annotated[str | None, shown("sgd")]
    """Optimizer of the study; null if the table is a single file."""
    batch_size: Annotated[int | None, shown(64, "batch_unit of the study, mostly examples")]
    """Batch size of the study; null if the table is a single file."""
    metric_min: Annotated[str | None, shown("test/classification_error")]
    """First metric in the file, in alphabetical order; null if there is none."""
    metric_max: Annotated[str | None, shown("val/cross_entropy_error")]
    """Last metric in the file, in alphabetical order; null if there is none."""
    trial_id_min: Annotated[int | None, shown(1)]
    """Smallest trial_id in the file; null if there is none."""
    trial_id_max: Annotated[int | None, shown(100)]
    """Largest trial_id in the file; null if there is none."""
    step_min: Annotated[int | None, shown(0, "steps")]
    """Smallest step in the file; null if there is none."""
    step_max: Annotated[int | None, shown(2000, "steps")]
    """Largest step in the file; null if there is none."""
    value_min: Annotated[float | None, shown(0.0121, "unit of the metric")]
    """Smallest value in the file, NaN excluded; null if there is none."""
    value_max: Annotated[float | None, shown(2.31, "unit of the metric")]
    """Largest value in the file, NaN excluded; null if there is none."""


_ROWS = row_shape(FileRow, SharedColumns)


def add_files(router: APIRouter, bulk: ReleaseFilesCache, settings: Settings, folder_page: FolderPage) -> None:
    """Add the routes of a lake's files; raise LossLakeError if the lake doesn't support `data_delivery`."""
    deliver = delivery_of(bulk.lake, settings)
    downloads = _Downloads(bulk, RemoteDatabases(bulk.lake), deliver, folder_page, settings.public_url)
    of_file = _responses("The file, or a folder as a page of links.", PARQUET, "text/html", "text/plain", is_file=True)
    of_data_file = _responses("The file, or a folder as a page of links.", PARQUET, is_file=True)
    of_database = _responses("The DuckDB database.", DUCKDB, is_file=True)
    add_read_route(router, "/data/{release}/{place:path}", downloads.get_data, responses=of_file)
    add_read_route(router, "/hive/{release}/{place:path}", downloads.get_hive, responses=of_data_file)
    add_read_route(
        router, "/data/", downloads.get_releases_folder, responses=_responses("A page of links.", "text/html")
    )
    add_undocumented_route(router, "/data", downloads.get_releases_folder_redirect)
    add_read_route(router, "/data/{release}", downloads.get_release_folder_redirect, include_in_schema=False)
    for place, description, media_type in _DOCUMENTS:
        add_read_route(
            router,
            f"/v1/releases/{{release}}/{place}",
            downloads.document_endpoint(place),
            name=f"get_{place.lower().replace('.', '_')}",
            summary=f"{place} of a release",
            description=description,
            responses=_responses("The text.", media_type),
            is_cached=True,
        )
    add_read_route(
        router, "/v1/releases/{release}/losslake.duckdb", downloads.get_losslake_duckdb, responses=of_database
    )
    content = content_in_all_formats("Files") | {"text/plain": {"schema": {"type": "string"}}}
    add_read_route(
        router,
        _LIST,
        downloads.get_files,
        has_endings=True,
        is_cached=True,
        operation_id="getFiles",
        summary="files",
        description=_LIST_DOC,
        responses=describe_responses(_ANSWER_DOC, content, release_headers()),
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


def _responses(description: str, *media_types: str, is_file: bool = False) -> dict[int | str, Any]:
    """Return the OpenAPI responses of a path that doesn't answer in JSON."""
    text = {"schema": {"type": "string", "format": "binary"}}
    content = {name: {"schema": {"type": "object"}} if name in _OBJECTS else text for name in media_types}
    responses: dict[int | str, Any] = {200: {"description": description, "content": content}}
    if is_file:
        responses[307] = {
            "description": "A redirect to a signed URL of the file, on a service with data_delivery = redirect."
        }
        responses[206] = {"description": "The requested range.", "content": content}
    responses[304] = {"description": "Not modified: the client has the current version."}
    return responses | problem_responses(404, *((412, 416) if is_file else ()), 422, 500, 503)


class FilesParameters(BaseModel):
    """The parameters of the list of files."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    format: Annotated[
        Literal["json", "csv", "arrow", "parquet", "sha256sums"] | None,
        Field(examples=["csv"], json_schema_extra={"x-unit": "none"}),
    ] = None
    """Format of the list; default: from the header Accept or the path suffix (.csv), else JSON."""


@dataclass(frozen=True, eq=False)
class _Downloads:
    """The endpoints, and what they need."""

    bulk: ReleaseFilesCache
    databases: RemoteDatabases
    deliver: Delivery
    folder_page: FolderPage
    public_url: str

    async def get_releases_folder(self, request: Request) -> Response:
        """List the releases as folders."""
        releases = await run_in_threadpool(self.bulk.lake.releases)
        return self._folder("Files of all releases", [Entry(f"{release.number}/", None) for release in releases], False)

    async def get_releases_folder_redirect(self, _: Request) -> Response:
        """Redirect to the path with a trailing slash, which relative links need."""
        return RedirectResponse("./data/", 308)

    async def get_release_folder_redirect(self, request: Request, release: str) -> Response:
        """Redirect to the path with a trailing slash."""
        files = await open_release_files(self.bulk, release)
        return RedirectResponse(f"./{files.release.number}/", 308)

    async def get_data(
        self,
        request: Request,
        release: _Release,
        place: _Place,  # for OpenAPI only; the raw path is read from the URL
    ) -> Response:
        """Return a file of a release, or a range of it, or a folder as a page of links.

        Files never change, and their ETag is their SHA-256. A request for several ranges gets the whole file.
        """
        files = await open_release_files(self.bulk, release)
        path = _decoded_path(_raw_path(request, files, "/data/"))
        served = files.files.get(path)
        if served is not None:
            return await self.deliver(served, request)
        if path in files.folders:
            title = f"Files of release {files.release.number}" + (f": {path}" if path else "")
            return self._folder(title, files.folders[path], True)
        if f"{path}/" in files.folders:
            name = path.rpartition("/")[2]
            return RedirectResponse(f"./{quote(name, safe='=')}/", 308)
        return await document_response(request, files, path, self.public_url)

    async def get_hive(self, request: Request, release: _Release, place: _Place) -> Response:
        """Return a data file, for readers that parse partition keys from the URL, such as DuckDB.

        The URL contains the file's path as listed, its percent signs not encoded again.
        """
        files = await open_release_files(self.bulk, release)
        path = _raw_path(request, files, "/hive/").decode("ascii", "replace")
        served = files.files.get(path)
        if served is None:
            raise unknown_path(files, place)
        return await self.deliver(served, request)

    def document_endpoint(self, place: str) -> Endpoint:
        """Return an endpoint that responds with a document of a release."""

        async def get_document(request: Request, release: _Release) -> Response:
            return await document_response(
                request, await open_release_files(self.bulk, release), place, self.public_url
            )

        return get_document

    async def get_losslake_duckdb(self, request: Request, release: _Release) -> Response:
        """Return a small DuckDB database whose views and macros, those of `losslake sql`, read the files over HTTP.

        Open it with DuckDB 1.5 or newer, or ATTACH its URL as losslake and USE losslake.
        """
        files = await open_release_files(self.bulk, release)
        address = base_url(request, self.public_url)
        served = await run_in_threadpool(self.databases.served, files.release, address)
        return LocalFileResponse(served, request.headers)

    async def get_files(
        self, request: Request, release: _Release, parameters: Annotated[FilesParameters, Query()]
    ) -> Response:
        """Return the list of files in the requested format."""
        files = await open_release_files(self.bulk, release)
        if parameters.format == "sha256sums" and not request.path_params.get("ending"):
            return await document_response(request, files, CHECKSUMS_PLACE, self.public_url)
        output = requested_format(request, parameters.format)
        headers = {"vary": "Accept, Host", "cache-control": AN_HOUR}
        address = base_url(request, self.public_url)

        def answer() -> Response:
            table = files.table(address).select(_ROWS.schema.names).cast(_ROWS.schema)
            rows = Answer({"release": files.release.number}, _ROWS.schema, iter(table.to_batches()))
            return response_of(request, rows, output, headers)

        return await run_in_threadpool(answer)

    def _folder(self, title: str, entries: Sequence[Entry], has_parent: bool) -> Response:
        return HTMLResponse(self.folder_page(title, entries, has_parent))


def _raw_path(request: Request, files: ReleaseFiles, prefix: str) -> bytes:
    """Return the raw URL path after the release; raise UnknownName."""
    raw: bytes = request.scope["raw_path"].removeprefix(request.scope.get("root_path", "").encode())
    folder = f"{prefix}{files.number}/".encode()
    if not raw.startswith(folder):
        raise unknown_path(files, "")
    return raw.removeprefix(folder)


def _decoded_path(raw_path: bytes) -> str:
    """Return the decoded path; one with an encoded slash or invalid UTF-8 becomes a path that doesn't exist."""
    parts = [unquote_to_bytes(part) for part in raw_path.split(b"/")]
    return "/".join("\0" if b"/" in part else part.decode("utf-8", "replace") for part in parts)

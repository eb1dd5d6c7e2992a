"""The paths of bulk download: the files of a release, the documents beside them, and a DuckDB file that reads them.

A route for files, found and answered with little work, since a download asks for hundreds of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import quote, unquote_to_bytes

from fastapi import APIRouter, FastAPI, Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from losslake.lake.croissant import CROISSANT_PLACE
from losslake.lake.lake import Lake
from losslake_service.files import file_list_path
from losslake_service.files.delivery import Delivery, delivery_of
from losslake_service.files.documents import base_url, document_response, listing, nothing_at, opened
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
from losslake_service.problems import ParameterProblem, problem_responses
from losslake_service.settings import Settings

METHODS = ("GET", "HEAD")


class FileRoute(APIRoute):
    """`/below/{release}/{place:path}`, told by the beginning of the path; HEAD is answered like GET."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Compare the path, which is faster than the expressions that routes are made of."""
        path: str = scope.get("path", "")
        below = self.path[: self.path.index("{")]
        if scope["type"] != "http" or not path.startswith(below):
            return Match.NONE, {}
        release, slash, place = path[len(below) :].partition("/")
        if not release or not slash:
            return Match.NONE, {}
        child: dict[str, Any] = {
            "endpoint": self.endpoint,
            "path_params": {"release": release, "place": place},
            "route": self,
        }
        return (Match.FULL if scope["method"] in METHODS else Match.PARTIAL), child

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the endpoint without looking for dependencies, which it has none of."""
        if scope["method"] not in METHODS:
            raise HTTPException(405, headers={"Allow": ", ".join(METHODS)})
        request = Request(scope, receive, send)
        response: Response = await self.endpoint(request, **scope["path_params"])
        await response(scope, receive, send)


router = APIRouter()
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


def add_bulk_download(app: FastAPI, lake: Lake, settings: Settings) -> None:
    """Have an application serve the files of a lake; raises LossLakeError where they can't be delivered as is set."""
    app.state.bulk = BulkReleases(lake)
    app.state.delivery = delivery_of(lake, settings)
    app.state.remote_databases = RemoteDatabases(lake)
    app.state.public_url = settings.public_url
    for path, endpoint, media_types in (
        ("/data/{release}/{place:path}", get_data, (PARQUET, "text/html", "text/plain")),
        ("/hive/{release}/{place:path}", get_hive, (PARQUET,)),
    ):
        described = _gives("The file, or a folder as a page of links.", *media_types, is_file=True)
        app.router.add_api_route(path, endpoint, methods=["GET"], route_class_override=FileRoute, **described)
    app.include_router(router)
    app.include_router(file_list_path.router)


def _gives(description: str, *media_types: str, is_file: bool = False) -> dict[str, Any]:
    """What OpenAPI says of a path that doesn't answer in JSON."""
    text = {"schema": {"type": "string", "format": "binary"}}
    content = {name: {"schema": {"type": "object"}} if name in _OBJECTS else text for name in media_types}
    responses: dict[int | str, dict[str, Any]] = {200: {"description": description, "content": content}}
    if is_file:
        responses[307] = {"description": "To where it is, for some minutes, on a service that is set to redirect."}
        responses[206] = {"description": "The range that was asked for.", "content": content}
        responses |= problem_responses(412, 416)
    responses[304] = {"description": "It is as the requester knows it."}
    return {"response_class": Response, "responses": responses | problem_responses(404, 422, 500, 503)}


def _both(path: str, **described: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A path for GET and HEAD; OpenAPI tells of GET."""

    def add(endpoint: Callable[..., Any]) -> Callable[..., Any]:
        router.add_api_route(path, endpoint, methods=["GET"], **described)
        router.add_api_route(path, endpoint, methods=["HEAD"], **described | {"include_in_schema": False})
        return endpoint

    return add


@_both("/data/", **_gives("A page of links.", "text/html"))
async def get_releases_folder(request: Request) -> Response:
    """The releases as folders."""
    _refuse_parameters(request)
    bulk: BulkReleases = request.app.state.bulk
    releases = await run_in_threadpool(bulk.lake.releases)
    entries = [Entry(f"{release.number}/", None) for release in releases]
    return HTMLResponse(listing("Files of all releases", entries, has_parent=False))


@_both("/data", include_in_schema=False)
async def get_releases_folder_redirect() -> Response:
    """To the folder's own path, from which its links work."""
    return RedirectResponse("./data/", 308)


@_both("/data/{release}", include_in_schema=False)
async def get_release_folder_redirect(request: Request, release: str) -> Response:
    """To the folder's own path."""
    files = await _files(request, release)
    return RedirectResponse(f"./{files.release.number}/", 308)


async def get_data(
    request: Request,
    release: _Release,
    place: _Place,  # noqa: ARG001 - described only; the path is read as it stands in the URL
) -> Response:
    """A file of a release, whole or a range of it, or a folder as a page of links; for any tool that reads Parquet.

    Files never change: ETag is their sha256. One range at a time; several are answered with the whole file.
    """
    files = await _files(request, release)
    wanted = _asked_place(_raw_place(request, files, "/data/"))
    served = files.files.get(wanted)
    if served is not None:
        return await _delivery(request)(served, request)
    if wanted in files.folders:
        title = f"Files of release {files.release.number}" + (f": {wanted}" if wanted else "")
        return HTMLResponse(listing(title, files.folders[wanted], has_parent=True))
    if f"{wanted}/" in files.folders:
        name = wanted.rpartition("/")[2]
        return RedirectResponse(f"./{quote(name, safe='=')}/", 308)
    return await document_response(request, files, wanted)


async def get_hive(request: Request, release: _Release, place: _Place) -> Response:
    """The data files once more, for readers that take the values of partitions from the URL, as DuckDB does.

    Here the path of a file stands in the URL as it is, its percent signs not encoded again.
    """
    files = await _files(request, release)
    wanted = _raw_place(request, files, "/hive/").decode("ascii", "replace")
    served = files.files.get(wanted)
    if served is None:
        raise nothing_at(files, place)
    return await _delivery(request)(served, request)


def _add_document(place: str, description: str, media_type: str) -> None:
    """A path beside the release's other facts for a document that lies in its folder."""

    async def get_document(request: Request, release: _Release) -> Response:
        return await document_response(request, await _files(request, release), place)

    name = f"get_{place.lower().replace('.', '_')}"
    described = {"name": name, "description": description, "summary": f"{place} of a release"}
    _both(f"/v1/releases/{{release}}/{place}", **described, **_gives("The text.", media_type))(get_document)


_add_document(CHECKSUMS_PLACE, "The sha256 of every file, for `sha256sum --check` in a folder of them.", "text/plain")
_add_document("README.md", "How to read the files of a release, and where they come from.", "text/markdown")
_add_document("CITATION.cff", "How to cite a release, in the Citation File Format 1.2.0.", "application/yaml")
_add_document(CROISSANT_PLACE, "A release described to machines, in MLCommons Croissant 1.0.", "application/ld+json")


@_both("/v1/releases/{release}/losslake.duckdb", **_gives("The DuckDB database.", DUCKDB, is_file=True))
async def get_losslake_duckdb(request: Request, release: _Release) -> Response:
    """A small DuckDB database with the views and macros of `losslake sql`, which read this release's files over HTTP.

    Open it with DuckDB 1.5 or newer, or ATTACH its URL as losslake and USE losslake.
    """
    files = await _files(request, release)
    databases: RemoteDatabases = request.app.state.remote_databases
    address = base_url(request, request.app.state.public_url)
    served = await run_in_threadpool(databases.served, files.release, address)
    return FileAnswer(served, request.headers)


def _delivery(request: Request) -> Delivery:
    delivery: Delivery = request.app.state.delivery
    return delivery


async def _files(request: Request, number: str) -> ReleaseFiles:
    _refuse_parameters(request)
    return await opened(request, number)


def _refuse_parameters(request: Request) -> None:
    name = next(iter(request.query_params), None) if request.scope["query_string"] else None
    if name is not None:
        raise ParameterProblem("unknown-parameter", name, f"there is no parameter '{name}'; there are: none")


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

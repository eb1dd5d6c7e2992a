"""Responses with the documents of a release, some of which contain URLs of this service."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from losslake.lake.croissant import CROISSANT_PATH
from losslake.lake.public_paths import url_path
from losslake.questions.release.errors import UnknownName
from losslake_schema.names import natural_number
from losslake_service.entity_tags import AN_HOUR, not_modified_response
from losslake_service.files.file_response import LocalFileResponse
from losslake_service.files.release_files import ReleaseFiles, ReleaseFilesCache

_MAX_QUOTED = 200


def base_url(request: Request, public_url: str | None = None) -> str:
    """Return scheme and host without a trailing slash: public_url, or else those of the request.

    The middleware `AllowedHosts` has checked the header Host, which ends up in documents and SQL.
    """
    if public_url:
        return public_url.rstrip("/")
    scheme = "https" if request.scope["scheme"] == "https" else "http"
    return f"{scheme}://{request.headers['host'].lower()}"


async def document_response(request: Request, files: ReleaseFiles, place: str, public_url: str) -> Response:
    """Return the document at a path, or a 304; raise UnknownName if there is none."""
    if place == CROISSANT_PATH:
        served = await run_in_threadpool(files.croissant, base_url(request, public_url))
        return LocalFileResponse(served, request.headers)
    doc = files.document(place)
    if doc is None:
        raise unknown_path(files, place)
    headers = {"etag": doc.version.etag, "last-modified": doc.version.last_modified, "cache-control": AN_HOUR}
    unmodified = not_modified_response(request.headers, headers, doc.version.modified)
    return unmodified or Response(doc.content, headers=headers, media_type=doc.media_type)


def unknown_path(files: ReleaseFiles, place: str) -> UnknownName:
    """Return the error for an unknown path, with the nearest folder."""
    folder = f"{place}/"
    while folder not in files.folders:
        folder = folder[:-1].rpartition("/")[0]
        folder = f"{folder}/" if folder else ""
    near = f"/data/{files.release.number}/{url_path(folder)}"
    return UnknownName("path", place[:_MAX_QUOTED], [near], f"release {files.release.number}")


async def open_release_files(bulk: ReleaseFilesCache, number: str) -> ReleaseFiles:
    """Return the files of a release; raise UnknownName and LakeBroken."""
    release = natural_number(number)
    if release is None or str(release) != number:
        raise await run_in_threadpool(bulk.unknown_release, number[:_MAX_QUOTED])
    cached = bulk.cached(release)
    return cached if cached is not None else await run_in_threadpool(bulk.open, release)

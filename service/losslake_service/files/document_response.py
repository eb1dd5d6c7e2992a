"""A document of a release as a response."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from losslake.lake.croissant import CROISSANT_PLACE
from losslake.lake.manifest import url_path
from losslake.questions.errors import UnknownName
from losslake_service.files.base_url import base_url
from losslake_service.files.conditions import not_modified
from losslake_service.files.release_files import ReleaseFiles

_AN_HOUR = "public, max-age=3600"
_LONGEST_NAMED = 200


async def document_response(request: Request, files: ReleaseFiles, place: str) -> Response:
    """The document at a place, or that the requester knows it; raises UnknownName where there is none."""
    address = base_url(request, request.app.state.public_url) if place == CROISSANT_PLACE else ""
    found = await run_in_threadpool(files.document, place, address)
    if found is None:
        raise nothing_at(files, place)
    headers = {"etag": found.version.etag, "last-modified": found.version.last_modified, "cache-control": _AN_HOUR}
    if not_modified(request.headers, found.version):
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type=found.media_type)


def nothing_at(files: ReleaseFiles, place: str) -> UnknownName:
    """That there is no such place, with the folder nearest to it."""
    folder = f"{place}/"
    while folder not in files.folders:
        folder = folder[:-1].rpartition("/")[0]
        folder = f"{folder}/" if folder else ""
    near = f"/data/{files.release.number}/{url_path(folder)}"
    return UnknownName("path", place[:_LONGEST_NAMED], [near], f"release {files.release.number}")

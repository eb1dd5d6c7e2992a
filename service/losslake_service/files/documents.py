"""The documents of a release as responses.

Some of them name their files by URL, and so need the address of this service.
"""

from __future__ import annotations

import re

from fastapi import Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from losslake.lake.croissant import CROISSANT_PLACE
from losslake.lake.manifest import url_path
from losslake.questions.errors import UnknownName
from losslake_schema.names import natural_number
from losslake_service.files.conditions import not_modified_response
from losslake_service.files.release_files import BulkReleases, ReleaseFiles
from losslake_service.problems import ParameterProblem

_HOST = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?", re.ASCII
)


def base_url(request: Request, public_url: str | None = None) -> str:
    """Scheme and host without a slash at the end: public_url, else as the request names this service.

    Raises ParameterProblem for a Host header that is none: what it says would end up in documents and SQL.
    """
    if public_url:
        return public_url.rstrip("/")
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host):
        raise ParameterProblem("bad-parameter", "Host", "the header Host is not a host name or address with a port")
    scheme = "https" if request.url.scheme == "https" else "http"
    return f"{scheme}://{host}"


_AN_HOUR = "public, max-age=3600"
_LONGEST_NAMED = 200


async def document_response(request: Request, files: ReleaseFiles, place: str) -> Response:
    """The document at a place, or that the requester knows it; raises UnknownName where there is none."""
    address = base_url(request, request.app.state.public_url) if place == CROISSANT_PLACE else ""
    found = await run_in_threadpool(files.document, place, address)
    if found is None:
        raise nothing_at(files, place)
    headers = {"etag": found.version.etag, "last-modified": found.version.last_modified, "cache-control": _AN_HOUR}
    known = not_modified_response(request.headers, headers, found.version.modified)
    return known or Response(found.content, headers=headers, media_type=found.media_type)


def nothing_at(files: ReleaseFiles, place: str) -> UnknownName:
    """That there is no such place, with the folder nearest to it."""
    folder = f"{place}/"
    while folder not in files.folders:
        folder = folder[:-1].rpartition("/")[0]
        folder = f"{folder}/" if folder else ""
    near = f"/data/{files.release.number}/{url_path(folder)}"
    return UnknownName("path", place[:_LONGEST_NAMED], [near], f"release {files.release.number}")


async def opened(request: Request, number: str) -> ReleaseFiles:
    """The files of the release of that number; raises UnknownName and LakeBroken."""
    bulk: BulkReleases = request.app.state.bulk
    release = natural_number(number)
    if release is None or str(release) != number:
        raise await run_in_threadpool(bulk.unknown, number[:_LONGEST_NAMED])
    kept = bulk.kept(release)
    return kept if kept is not None else await run_in_threadpool(bulk.open, release)

"""Answers with static files: kept by browsers for ever under their own address, asked again under an older one."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from losslake_service.routes.validity import PINNED, REVALIDATED, is_known
from losslake_service.web.static_files import STATIC_FILES


async def static_file(request: Request, digest: str, name: str) -> Response:
    """A file by its name; one that a page of an older version of the program names is given as it is now."""
    file = STATIC_FILES.files.get(name)
    if file is None:
        raise HTTPException(404)
    is_current = digest == STATIC_FILES.digest
    headers = {"cache-control": PINNED if is_current else REVALIDATED, "etag": file.etag}
    if is_known(request.headers, file.etag):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)

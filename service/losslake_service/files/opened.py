"""The release that a request for bulk download names."""

from __future__ import annotations

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from losslake_schema.names import natural_number
from losslake_service.files.release_files import BulkReleases, ReleaseFiles

_LONGEST_NAMED = 200


async def opened(request: Request, number: str) -> ReleaseFiles:
    """The files of the release of that number; raises UnknownName and LakeBroken."""
    bulk: BulkReleases = request.app.state.bulk
    release = natural_number(number)
    if release is None or str(release) != number:
        raise await run_in_threadpool(bulk.unknown, number[:_LONGEST_NAMED])
    kept = bulk.kept(release)
    return kept if kept is not None else await run_in_threadpool(bulk.open, release)

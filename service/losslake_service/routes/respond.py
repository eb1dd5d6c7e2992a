"""An answer as a response: at once when it is small, else as a stream; from a file where its size or a part is wanted.

Polars and DuckDB ask for the size and then for parts, of CSV as of Parquet, which is read from its end.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import chain
from pathlib import Path

from fastapi import Request
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import iterate_in_threadpool

from losslake.figures.figure import Finished
from losslake.output.answer import Answer
from losslake.output.formats import OutputFormat
from losslake_service.files.conditions import ServedFile, Version, not_modified_response
from losslake_service.files.file_response import FileAnswer

LARGEST_AT_ONCE = 256 * 1024
_OF_FILES = (b"accept-ranges", b"content-type", b"content-length", b"content-range")


Output = OutputFormat | Finished


def response_of(request: Request, answer: Answer, output: Output, headers: Mapping[str, str]) -> Response:
    """Write an answer; to be called in a thread if that may take long.

    headers: has an etag where the answer is known by one.
    """
    headers = dict(headers) | _facts_in_headers(answer) | _links(request, answer)
    known = not_modified_response(request.headers, headers)
    if known is not None:
        return known
    if output.name == "parquet" or request.method == "HEAD" or "range" in request.headers:
        return _from_file(request, answer, output, headers)
    headers["accept-ranges"] = "bytes"
    pieces = output.encode(answer)
    first = _at_once(pieces)
    if sum(map(len, first)) <= LARGEST_AT_ONCE:
        body = b"".join(first)
        headers.setdefault("etag", _etag_of(hashlib.sha256(body)))
        known = not_modified_response(request.headers, headers)
        return known or Response(body, headers=headers, media_type=output.media_type)
    streamed = iterate_in_threadpool(chain([b"".join(first)], pieces))
    return StreamingResponse(_closing(streamed, pieces), headers=headers, media_type=output.media_type)


def _at_once(pieces: Iterator[bytes]) -> list[bytes]:
    """The first pieces, up to more than may be sent at once; all of them when they are less."""
    first, size = [], 0
    for piece in pieces:
        first.append(piece)
        size += len(piece)
        if size > LARGEST_AT_ONCE:
            break
    return first


async def _closing(body: AsyncIterator[bytes], pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same body; what the pieces hold open is let go of also when the client goes away."""
    try:
        async for piece in body:
            yield piece
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()


def _from_file(request: Request, answer: Answer, output: Output, headers: dict[str, str]) -> Response:
    """Finish the answer first, in a file without a name."""
    handle, name = tempfile.mkstemp(prefix="losslake-", suffix=".parquet")
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in output.encode(answer):
                file.write(piece)
        if "etag" not in headers:
            headers["etag"] = _etag_of(hashlib.file_digest(path.open("rb"), "sha256"))
        served = ServedFile(name, path.stat().st_size, Version(headers["etag"]), output.media_type)
        response = FileAnswer(served, request.headers)
    finally:
        path.unlink()
    own = {name.lower().encode(): value.encode("latin-1") for name, value in headers.items()}
    response.raw_headers = [
        *((name, value) for name, value in response.raw_headers if name in _OF_FILES),
        *own.items(),
    ]
    return response


def _etag_of(digest: hashlib._Hash) -> str:
    return f'"{digest.hexdigest()[:32]}"'


def _facts_in_headers(answer: Answer) -> dict[str, str]:
    """What formats without room for it would not say otherwise."""
    found = {}
    if "release" in answer.facts:
        found["LossLake-Release"] = str(answer.facts["release"])
    if answer.total is not None:
        found["LossLake-Total"] = str(answer.total)
    if answer.facts.get("truncated"):
        found["LossLake-Truncated"] = str(answer.facts["truncated"])
    return found


def _links(request: Request, answer: Answer) -> dict[str, str]:
    """The link to the next page, as RFC 8288 has it: relative to the request's URL, whatever a proxy puts before it."""
    if answer.next_cursor is None:
        return {}
    url = request.url.include_query_params(cursor=answer.next_cursor)
    return {"Link": f'<?{url.query}>; rel="next"'}

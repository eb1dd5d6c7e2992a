"""Responses with an answer: a single message if it is short, else a stream, or a file for HEAD and range requests.

Polars and DuckDB request the size and then ranges, for CSV as well as for Parquet, which is read from its end.
"""

from __future__ import annotations

import hashlib
import re
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
from losslake.output.json_rows import Piece
from losslake_service.entity_tags import digest_tag, not_modified_response
from losslake_service.files.file_response import MAX_MESSAGE, file_response

Output = OutputFormat | Finished


def response_of(request: Request, answer: Answer, output: Output, headers: Mapping[str, str]) -> Response:
    """Return the response with an answer; call it in a thread if that may take long.

    headers: include the etag, if it is known before the answer is encoded.
    """
    headers = dict(headers) | _fact_headers(answer) | _links(request, answer) | attachment(request, output.name)
    unmodified = not_modified_response(request.headers, headers)
    if unmodified is not None:
        return unmodified
    if output.name == "parquet" or request.method == "HEAD" or "range" in request.headers:
        return _from_file(request, answer, output, headers)
    headers["accept-ranges"] = "bytes"
    pieces = output.encode(answer)
    first = _first_pieces(pieces)
    if sum(map(len, first)) <= MAX_MESSAGE:
        body = b"".join(first)
        headers.setdefault("etag", digest_tag(hashlib.sha256(body).hexdigest()))
        unmodified = not_modified_response(request.headers, headers)
        return unmodified or Response(body, headers=headers, media_type=output.media_type)
    streamed = iterate_in_threadpool(chain([b"".join(first)], pieces))
    return StreamingResponse(_close_at_end(streamed, pieces), headers=headers, media_type=output.media_type)


def _first_pieces(pieces: Iterator[Piece]) -> list[Piece]:
    """Return the first pieces, until they exceed the size of a single message."""
    first, size = [], 0
    for piece in pieces:
        first.append(piece)
        size += len(piece)
        if size > MAX_MESSAGE:
            break
    return first


async def _close_at_end(body: AsyncIterator[Piece], pieces: Iterator[Piece]) -> AsyncIterator[Piece]:
    """Yield the body; close the pieces at the end, also if the client disconnects."""
    try:
        async for piece in body:
            yield piece
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()


def _from_file(request: Request, answer: Answer, output: Output, headers: dict[str, str]) -> Response:
    """Return a response from a temporary file without a name, which has the whole answer."""
    with tempfile.TemporaryFile() as file:
        for piece in output.encode(answer):
            file.write(piece)
        file.flush()
        if "etag" not in headers:
            file.seek(0)
            headers["etag"] = digest_tag(hashlib.file_digest(file, "sha256").hexdigest())
        return file_response(request, Path(f"/dev/fd/{file.fileno()}"), output.media_type, headers)


def attachment(request: Request, output: str) -> dict[str, str]:
    """Return the header by which browsers store data as a file; JSON and figures they show."""
    if output not in ("csv", "arrow", "parquet"):
        return {}
    name = re.sub("[^a-z0-9-].*", "", request.scope["path"].rpartition("/")[2])
    return {"content-disposition": f'attachment; filename="{name}.{output}"'}


def _fact_headers(answer: Answer) -> dict[str, str]:
    """Return the headers with the release, total and truncation, which not every format contains."""
    headers = {}
    if "release" in answer.facts:
        headers["LossLake-Release"] = str(answer.facts["release"])
    if answer.total is not None:
        headers["LossLake-Total"] = str(answer.total)
    if answer.facts.get("truncated"):
        headers["LossLake-Truncated"] = str(answer.facts["truncated"])
    return headers


def _links(request: Request, answer: Answer) -> dict[str, str]:
    """Return the Link header of the next page (RFC 8288), relative to the URL, so that it works behind any proxy."""
    if answer.next_cursor is None:
        return {}
    url = request.url.include_query_params(cursor=answer.next_cursor)
    return {"Link": f'<?{url.query}>; rel="next"'}

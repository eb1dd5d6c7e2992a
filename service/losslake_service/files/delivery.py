"""The delivery of data files from a lake's store to clients.

A file that is not on this machine is read by ranges through the block cache, and sent in constant memory.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from itertools import pairwise
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from losslake.lake.lake import Lake
from losslake.lake.store.store import SignUrl, Store
from losslake_schema.errors import LakeBroken, LossLakeError, StoreFailed
from losslake_service.files.file_response import LocalFileResponse
from losslake_service.files.ranges import AnswerHead, ServedFile, answer_head
from losslake_service.settings import Settings

# Size of a streamed chunk, aligned like the cached blocks. A client holds at most two chunks in memory.
CHUNK_BYTES = 1 << 21
# The internal nginx location of a lake's files; clients can't request it.
NGINX_LOCATION = "/stored-data/"
# The header by which nginx says with what status the store failed; clients can't send it through nginx.
STORE_STATUS = "x-store-status"
# Respond to a request for a data file, with the same ranges and conditions for every delivery.
# Raise LakeBroken, and HTTPException for 412 and 416.
Delivery = Callable[[ServedFile, Request], Awaitable[Response]]
# Return the bytes of a file between two positions; raise OSError.
ReadRange = Callable[[int, int], Awaitable[bytes]]
_WITH_BODY = (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT)
_MAX_QUOTED = 20
# nginx fetches whole files of a store, also for a short range or a client that leaves: longer ones are sent by ranges.
LONGEST_BY_NGINX = 16 << 20
# Beyond any file, and still within the 64 bits that nginx has for a number.
_LONG_NUMBER = re.compile(r"\d{18}")


def delivery_of(lake: Lake, settings: Settings) -> Delivery:
    """Return the delivery set by `data_delivery`; raise LossLakeError if the lake's store doesn't support it."""
    store, delivery = lake.store, settings.data_delivery
    if delivery == "redirect":
        sign = store.signer(settings.data_url_endpoint)
        if sign is None:
            where = "is in a folder" if store.local_folder is not None else "can't sign URLs"
            need = f"needs a lake in a bucket, and {lake} {where}"
            raise LossLakeError(f"data_delivery = redirect {need}: set proxy or nginx")
        return _by_redirect(sign, settings.data_url_seconds)
    direct = _from_folder(store) if store.local_folder is not None else _by_ranges(store)
    if delivery == "nginx":
        sign = store.signer()
        if sign is None and store.local_folder is None:
            raise LossLakeError(f"data_delivery = nginx needs a lake in a folder or a bucket, not {lake}: set proxy")
        return _by_nginx(direct, sign, settings.data_url_seconds)
    return direct


def _from_folder(store: Store) -> Delivery:
    """Send the files of a folder."""

    async def deliver(file: ServedFile, request: Request) -> Response:
        local = store.local(file.path, file.size)
        return LocalFileResponse(replace(file, path=str(local)), request.headers)

    return deliver


def _by_ranges(store: Store) -> Delivery:
    """Fetch ranges of the files from the store and forward them."""
    # A separate pool: waiting for the store must not block threads that compute.
    threads = ThreadPoolExecutor(32, "delivers")

    async def deliver(file: ServedFile, request: Request) -> Response:
        async def read(start: int, stop: int) -> bytes:
            fetch = partial(store.range, file.path, file.size, start, stop)
            return await asyncio.get_running_loop().run_in_executor(threads, fetch)

        head = answer_head(file, request.headers)
        part = head.part if request.method != "HEAD" else range(0)
        return await stored_file_response(head, part, read, store.display_name(file.path))

    return deliver


def _by_redirect(sign: SignUrl, seconds: int) -> Delivery:
    """Redirect the client to a signed URL of the store."""

    async def deliver(file: ServedFile, request: Request) -> Response:
        head = answer_head(file, request.headers)
        if head.status not in _WITH_BODY:
            return Response(status_code=head.status, headers=head.headers)
        # A signature is valid for one method only.
        url = await asyncio.to_thread(sign, file.path, seconds, "HEAD" if request.method == "HEAD" else "GET")
        return RedirectResponse(url, 307, {"cache-control": "private, no-store", "referrer-policy": "no-referrer"})

    return deliver


def _by_nginx(direct: Delivery, sign: SignUrl | None, seconds: int) -> Delivery:
    """Let nginx send the files, from a folder or by a signed URL of the store.

    direct: for requests to which nginx would give another answer, those without a body, and long files of a store.
    """
    longest = LONGEST_BY_NGINX if sign is not None else None

    async def deliver(file: ServedFile, request: Request) -> Response:
        failed = request.headers.get(STORE_STATUS)
        if failed:
            raise StoreFailed(f"{file.path}: the store answered nginx with {failed[:_MAX_QUOTED]}")
        head = answer_head(file, request.headers)
        is_long = longest is not None and file.size > longest
        if is_long or head.status not in _WITH_BODY or not _nginx_agrees(head, request):
            return await direct(file, request)
        headers = {name: value for name, value in head.headers.items() if not name.startswith("content-")}
        # nginx would keep these for an error of the store as well, and adds Accept-Ranges only to whole files.
        headers["x-file-cache-control"], accept_ranges = headers.pop("cache-control"), headers.pop("accept-ranges")
        if head.status == HTTPStatus.PARTIAL_CONTENT:
            headers["x-file-accept-ranges"] = accept_ranges
        headers["x-accel-redirect"] = NGINX_LOCATION + quote(file.path)
        if sign is not None:
            headers["x-store-url"] = await asyncio.to_thread(sign, file.path, seconds, "GET")
        return Response(headers=headers, media_type=file.media_type)

    return deliver


def _nginx_agrees(head: AnswerHead, request: Request) -> bool:
    """Return True if nginx sends the same part of the file for this request.

    It has other rules for ranges that are malformed or longer than its integers, and for If-Match.
    """
    has_range = "range" in request.headers
    is_condition = "if-match" in request.headers or "if-unmodified-since" in request.headers
    is_long = _LONG_NUMBER.search(request.headers.get("range", "")) is not None
    return (
        request.method == "GET"
        and not is_condition
        and not is_long
        and has_range == (head.status == HTTPStatus.PARTIAL_CONTENT)
    )


async def stored_file_response(head: AnswerHead, part: range, read: ReadRange, name: str) -> Response:
    """Return a response whose body is read by ranges; raise LakeBroken if the first range can't be read.

    name: of the file, for the log.
    """

    async def fetch(start: int, stop: int) -> bytes:
        try:
            return await read(start, stop)
        except OSError as error:
            raise LakeBroken(f"the data file {name} can't be read ({error})") from None

    if not part:
        return Response(status_code=head.status, headers=head.headers)
    grid = range(part.start - part.start % CHUNK_BYTES + CHUNK_BYTES, part.stop, CHUNK_BYTES)
    (start, stop), *others = pairwise([part.start, *grid, part.stop])
    first = await fetch(start, stop)
    if not others:
        return Response(first, head.status, head.headers)
    return StreamingResponse(_chunks(first, others, fetch), head.status, head.headers)


async def _chunks(chunk: bytes, others: Iterable[tuple[int, int]], read: ReadRange) -> AsyncIterator[bytes]:
    """Yield a chunk and then the others, fetching the next one while one is sent."""
    for start, stop in others:
        following = asyncio.ensure_future(read(start, stop))
        try:
            yield chunk
            chunk = await following
        finally:
            following.cancel()
    yield chunk

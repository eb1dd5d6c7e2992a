"""The ways by which a data file gets from the store of a lake to whoever asks for it.

A file of a bucket is read by ranges through the cache of blocks, and sent in constant memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from losslake.lake.lake import Lake
from losslake.lake.store.bucket import Bucket
from losslake.lake.store.bucket_store import BucketStore
from losslake.lake.store.store import Store
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_service.files.conditions import AnswerHead, ServedFile, answer_head
from losslake_service.files.file_response import FileAnswer
from losslake_service.settings import Settings

CHUNK_BYTES = 1 << 21
"""At most two of them are in memory for a client. They lie on a grid, as the blocks that are kept do."""
NGINX_PLACE = "/stored-data/"
"""The location of nginx below which the paths of a lake's files are; of strangers' requests it gives nothing."""
Delivery = Callable[[ServedFile, Request], Awaitable[Response]]
"""Answers a request for a data file; ranges and conditions hold in the same way whatever the delivery.

Raises LakeBroken, and HTTPException for 412 and 416.
"""
ReadRange = Callable[[int, int], Awaitable[bytes]]
"""Gives the bytes of a file from one position up to another; raises OSError."""
_AT_ONCE = 32
_WHOLE_OR_PART = (200, 206)


def delivery_of(lake: Lake, settings: Settings) -> Delivery:
    """Return the delivery that is set; raises LossLakeError where the lake's files can't be had so."""
    store, way = lake.store, settings.data_delivery
    if not isinstance(store, BucketStore):
        if way == "redirect":
            raise LossLakeError(
                f"data_delivery = redirect needs a lake whose files are in a bucket, and those of {lake} are in a "
                "folder: set it to proxy or nginx"
            )
        return _by_nginx(_from_folder(store), None, 0) if way == "nginx" else _from_folder(store)
    if way == "redirect":
        endpoint = settings.data_url_endpoint
        return _by_redirect(Bucket(store.url, endpoint) if endpoint else store.bucket, settings.data_url_seconds)
    if way == "nginx":
        return _by_nginx(_from_bucket(store), store.bucket, settings.data_url_seconds)
    return _from_bucket(store)


def _from_folder(store: Store) -> Delivery:
    """The service sends the files of a folder."""

    async def deliver(file: ServedFile, request: Request) -> Response:
        local = store.local(file.path, file.size)
        return FileAnswer(replace(file, path=str(local)), request.headers)

    return deliver


def _from_bucket(store: BucketStore) -> Delivery:
    """The service fetches the files and passes them on."""
    # Threads of its own: who waits for the store must keep nobody from computing.
    threads = ThreadPoolExecutor(_AT_ONCE, "delivers")

    async def deliver(file: ServedFile, request: Request) -> Response:
        async def read(start: int, stop: int) -> bytes:
            fetch = partial(store.range, file.path, file.size, start, stop)
            return await asyncio.get_running_loop().run_in_executor(threads, fetch)

        head = answer_head(file, request.headers)
        part = head.part if request.method != "HEAD" else range(0)
        return await stored_answer(head, part, read, store.name_of(file.path))

    return deliver


def _by_redirect(bucket: Bucket, seconds: int) -> Delivery:
    """Who asks is sent to the store with a URL that is signed for some minutes."""

    async def deliver(file: ServedFile, request: Request) -> Response:
        head = answer_head(file, request.headers)
        if head.status not in _WHOLE_OR_PART:
            return Response(status_code=head.status, headers=head.headers)
        # A signature is for one method.
        url = await asyncio.to_thread(
            bucket.signed_url, file.path, seconds, "HEAD" if request.method == "HEAD" else "GET"
        )
        return RedirectResponse(url, 307, {"cache-control": "private, no-store", "referrer-policy": "no-referrer"})

    return deliver


def _by_nginx(direct: Delivery, bucket: Bucket | None, seconds: int) -> Delivery:
    """nginx in front of the service sends the files, from a folder or by a signed URL of the store.

    direct: for conditions that nginx would judge by its own idea of the file's version.
    """

    async def deliver(file: ServedFile, request: Request) -> Response:
        if "if-match" in request.headers or "if-unmodified-since" in request.headers:
            return await direct(file, request)
        head = answer_head(file, request.headers)
        if head.status not in _WHOLE_OR_PART:
            return Response(status_code=head.status, headers=head.headers)
        headers = {name: value for name, value in head.headers.items() if not name.startswith("content-")}
        headers["x-accel-redirect"] = NGINX_PLACE + quote(file.path)
        if bucket is not None:
            headers["x-store-url"] = await asyncio.to_thread(bucket.signed_url, file.path, seconds)
        return Response(headers=headers, media_type=file.media_type)

    return deliver


async def stored_answer(head: AnswerHead, part: range, read: ReadRange, name: str) -> Response:
    """Return the response whose bytes are read by ranges; raises LakeBroken if the first ones can't be had.

    name: of the file, for the log.
    """

    async def fetched(start: int, stop: int) -> bytes:
        try:
            return await read(start, stop)
        except OSError as error:
            raise LakeBroken(f"the data file {name} can't be read ({error})") from None

    if not part:
        return Response(status_code=head.status, headers=head.headers)
    grid = range(part.start - part.start % CHUNK_BYTES + CHUNK_BYTES, part.stop, CHUNK_BYTES)
    (start, stop), *others = pairwise([part.start, *grid, part.stop])
    first = await fetched(start, stop)
    if not others:
        return Response(first, head.status, head.headers)
    return StreamingResponse(_chunks(first, others, fetched), head.status, head.headers)


async def _chunks(chunk: bytes, others: Iterable[tuple[int, int]], read: ReadRange) -> AsyncIterator[bytes]:
    """Give a chunk and then the others: while one is sent the next is fetched."""
    for start, stop in others:
        following = asyncio.ensure_future(read(start, stop))
        try:
            yield chunk
            chunk = await following
        finally:
            following.cancel()
    yield chunk

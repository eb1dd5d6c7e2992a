"""The ways by which a data file gets from the store of a lake to whoever asks for it.

A file of a bucket as the answer to a request: read by ranges through the cache of blocks, in constant memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from losslake.lake.lake import Lake
from losslake.lake.store.bucket import Bucket
from losslake.lake.store.bucket_store import BucketStore
from losslake.lake.store.store import Store
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_service.files.conditions import FOREVER, AnswerHead, Version, answer_head
from losslake_service.files.file_response import FileAnswer, ServedFile
from losslake_service.settings import Settings

CHUNK_BYTES = 1 << 21
"""At most two of them are in memory for a client."""
ReadRange = Callable[[int, int], Awaitable[bytes]]
"""Gives the bytes of a file from one position up to another; raises OSError."""


class StoredAnswer(Response):
    """Sends the bytes that a head tells of."""

    def __init__(self, head: AnswerHead, read: ReadRange, name: str) -> None:
        """name: of the file, for the log."""
        self.background = None
        self.status_code, self.raw_headers = head.status, head.raw_headers
        self._bytes = head.part
        self._read = read
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; raises LakeBroken, before anything is sent if the first bytes can't be had."""
        left = self._bytes if scope["method"] != "HEAD" else range(0)
        chunk, left = await self._first_of(left), left[_to_end_of_chunk(left) :]
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if not left:
            await send({"type": "http.response.body", "body": chunk})
            return
        sending = asyncio.create_task(self._send(chunk, left, send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await sending
        finally:
            for task in (sending, leaving):
                task.cancel()
            with suppress(asyncio.CancelledError, LakeBroken):
                await sending

    async def _send(self, chunk: bytes, left: range, send: Send) -> None:
        """Send chunk by chunk: while one is under way the next is fetched."""
        while left:
            following = asyncio.create_task(self._first_of(left))
            left = left[_to_end_of_chunk(left) :]
            try:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                chunk = await following
            finally:
                following.cancel()
        await send({"type": "http.response.body", "body": chunk})

    async def _first_of(self, left: range) -> bytes:
        chunk = left[: _to_end_of_chunk(left)]
        if not chunk:
            return b""
        try:
            return await self._read(chunk.start, chunk.stop)
        except OSError as error:
            raise LakeBroken(f"the data file {self._name} can't be read ({error})") from None


def _to_end_of_chunk(left: range) -> int:
    """How many bytes of what is left belong to its first chunk; chunks lie on a grid, as what is kept does."""
    return CHUNK_BYTES - left.start % CHUNK_BYTES if left else 0


async def _left(receive: Receive) -> None:
    """Wait until the client closes its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


NGINX_PLACE = "/stored-data/"
"""The location of nginx below which the paths of a lake's files are; of strangers' requests it gives nothing."""
_AT_ONCE = 32
_WHOLE_OR_PART = (200, 206)


@dataclass(frozen=True, slots=True)
class LakeFile:
    """A data file of a lake, by its path there; size: in bytes."""

    path: str
    size: int
    version: Version
    media_type: str
    cache_control: str = FOREVER


class Delivery(Protocol):
    """Answers requests for data files. Ranges and conditions hold in the same way whatever the delivery."""

    async def answer(self, file: LakeFile, request: Request) -> Response:
        """The response; raises LakeBroken, and HTTPException for 412 and 416."""


class FromFolder:
    """The service sends the files of a folder."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def answer(self, file: LakeFile, request: Request) -> Response:
        local = self._store.local(file.path, file.size)
        return FileAnswer(
            ServedFile(local, file.size, file.version, file.media_type, file.cache_control), request.headers
        )


class FromBucket:
    """The service fetches the files and passes them on."""

    def __init__(self, store: BucketStore) -> None:
        self._store = store
        # Of its own: who waits for the store must keep nobody from computing.
        self._threads = ThreadPoolExecutor(_AT_ONCE, "delivers")

    async def answer(self, file: LakeFile, request: Request) -> Response:
        async def read(start: int, stop: int) -> bytes:
            fetch = partial(self._store.range, file.path, file.size, start, stop)
            return await asyncio.get_running_loop().run_in_executor(self._threads, fetch)

        return StoredAnswer(answer_head(file, request.headers), read, self._store.name_of(file.path))


class ByRedirect:
    """Who asks is sent to the store with a URL that is signed for some minutes."""

    def __init__(self, bucket: Bucket, seconds: int) -> None:
        self._bucket = bucket
        self._seconds = seconds

    async def answer(self, file: LakeFile, request: Request) -> Response:
        head = answer_head(file, request.headers)
        if head.status not in _WHOLE_OR_PART:
            return _without_bytes(head)
        # A signature is for one method.
        method: Literal["GET", "HEAD"] = "HEAD" if request.method == "HEAD" else "GET"
        url = await asyncio.to_thread(self._bucket.signed_url, file.path, self._seconds, method)
        return RedirectResponse(url, 307, {"cache-control": "private, no-store", "referrer-policy": "no-referrer"})


class ByNginx:
    """nginx in front of the service sends the files, from a folder or by a signed URL of the store."""

    def __init__(self, direct: Delivery, bucket: Bucket | None, seconds: int) -> None:
        """direct: for conditions that nginx would judge by its own idea of the file's version."""
        self._direct = direct
        self._bucket = bucket
        self._seconds = seconds

    async def answer(self, file: LakeFile, request: Request) -> Response:
        if "if-match" in request.headers or "if-unmodified-since" in request.headers:
            return await self._direct.answer(file, request)
        head = answer_head(file, request.headers)
        if head.status not in _WHOLE_OR_PART:
            return _without_bytes(head)
        headers = {name: value for name, value in head.headers.items() if not name.startswith("content-")}
        headers["x-accel-redirect"] = NGINX_PLACE + quote(file.path)
        if self._bucket is not None:
            headers["x-store-url"] = await asyncio.to_thread(self._bucket.signed_url, file.path, self._seconds)
        return Response(headers=headers, media_type=file.media_type)


def delivery_of(lake: Lake, settings: Settings) -> Delivery:
    """The delivery that is set; raises LossLakeError where the lake's files can't be had so."""
    store = lake.store
    if not isinstance(store, BucketStore):
        if settings.data_delivery == "redirect":
            raise LossLakeError(
                f"data_delivery = redirect needs a lake whose files are in a bucket, and those of {lake} are in a "
                "folder: set it to proxy or nginx"
            )
        from_folder = FromFolder(store)
        return ByNginx(from_folder, None, 0) if settings.data_delivery == "nginx" else from_folder
    from_bucket = FromBucket(store)
    if settings.data_delivery == "redirect":
        endpoint = settings.data_url_endpoint
        bucket = Bucket(store.url, endpoint) if endpoint else store.bucket
        return ByRedirect(bucket, settings.data_url_seconds)
    if settings.data_delivery == "nginx":
        return ByNginx(from_bucket, store.bucket, settings.data_url_seconds)
    return from_bucket


def _without_bytes(head: AnswerHead) -> Response:
    return Response(status_code=head.status, headers=dict(head.headers))

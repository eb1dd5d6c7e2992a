"""Sends answers in gzip or zstd to clients that accept it, piece by piece as they are made."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.operation.content_codings import Coding, Encoder, encoded, encoder, preferred
from losslake_service.operation.entity_tags import as_asked, with_suffix, without_suffix

MEDIA_TYPES = frozenset(
    {
        b"application/json",
        b"application/ld+json",
        b"application/vnd.apache.arrow.stream",
        b"application/vnd.vegalite.v6+json",
        b"application/x-ndjson",
        b"application/xml",
        b"image/svg+xml",
    }
)
"""What gets smaller, apart from all kinds of text; Parquet is compressed already, problem documents are short."""
# What takes longer than handing it to another thread does, which is about 0.1 ms.
_BYTES_FOR_A_THREAD = 16_384
_WHOLE = 200
_NOT_MODIFIED = 304
_VARY = (b"vary", b"Accept-Encoding")
Header = tuple[bytes, bytes]


class Compress:
    """Codes the bodies of whole answers (200); all else, HEAD too, goes by as it is."""

    def __init__(self, app: ASGIApp, least_bytes: int) -> None:
        self._app = app
        self._least_bytes = least_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        accepted: list[bytes] = []
        asked: list[bytes] = []
        is_part = False
        for name, value in scope["headers"]:
            if name == b"accept-encoding":
                accepted.append(value)
            elif name == b"if-none-match":
                asked.append(value)
            elif name == b"range":
                is_part = True
        coding = preferred(b",".join(accepted)) if accepted else None
        if asked:
            # Not in a copy of the scope: the route that the application finds must be seen by who counts it.
            scope["headers"] = _known(scope["headers"])
        is_whole = scope["method"] != "HEAD" and not is_part
        answer = _Answer(send, coding if is_whole else None, asked, self._least_bytes)
        await self._app(scope, receive, answer.send)


class _Answer:
    """An answer on its way: its start waits until its first piece tells whether it is coded."""

    __slots__ = ("_asked", "_coding", "_encoder", "_least_bytes", "_send", "_start")

    def __init__(self, send: Send, coding: Coding | None, asked: list[bytes], least_bytes: int) -> None:
        self._send = send
        self._coding = coding
        self._asked = asked
        self._least_bytes = least_bytes
        self._start: Message | None = None
        self._encoder: Encoder | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif self._start is not None:
            start, self._start = self._start, None
            await self._first(start, message)
        elif self._encoder is not None:
            await self._more(self._encoder, message)
        else:
            await self._send(message)

    async def _begin(self, start: Message) -> None:
        headers: list[Header] = [*start.get("headers", ())]
        if start["status"] == _NOT_MODIFIED:
            told = [(name, self._tag(value) if name == b"etag" else value) for name, value in headers]
            await self._send({**start, "headers": [*told, _VARY]})
        elif start["status"] != _WHOLE or not _gets_smaller(headers):
            await self._send(start)
        else:
            start = {**start, "headers": [*headers, _VARY]}
            if self._coding is None:
                await self._send(start)
            else:
                self._start = start

    async def _first(self, start: Message, message: Message) -> None:
        assert self._coding is not None
        body = message.get("body", b"")
        is_all = not message.get("more_body", False)
        length = len(body) if is_all else _length(start["headers"])
        if message["type"] != "http.response.body" or (length is not None and length < self._least_bytes):
            await self._send(start)
            await self._send(message)
        elif is_all:
            coded = await _apart(len(body), encoded, self._coding, body)
            await self._send({**start, "headers": _coded(start["headers"], self._coding, len(coded))})
            await self._send({**message, "body": coded})
        else:
            self._encoder = encoder(self._coding)
            await self._send({**start, "headers": _coded(start["headers"], self._coding)})
            await self._more(self._encoder, message)

    async def _more(self, coder: Encoder, message: Message) -> None:
        body = message.get("body", b"")
        is_last = not message.get("more_body", False)
        if body or is_last:
            coded = await _apart(len(body), coder.piece, body, is_last)
            await self._send({**message, "body": coded})

    def _tag(self, tag: bytes) -> bytes:
        return as_asked(tag, self._asked, self._coding)


async def _apart(size: int, make: Any, *arguments: Any) -> bytes:
    """What takes long is made in a thread, so that other requests go on."""
    if size < _BYTES_FOR_A_THREAD:
        coded: bytes = make(*arguments)
        return coded
    return await asyncio.get_running_loop().run_in_executor(None, make, *arguments)


def _gets_smaller(headers: list[Header]) -> bool:
    media_type = b""
    for name, value in headers:
        if name == b"content-type":
            media_type = value.partition(b";")[0].strip()
        elif name == b"content-encoding" or (name == b"cache-control" and b"no-transform" in value):
            return False
    return media_type in MEDIA_TYPES or media_type.startswith(b"text/")


def _length(headers: list[Header]) -> int | None:
    return next((int(value) for name, value in headers if name == b"content-length"), None)


def _known(headers: list[Header]) -> list[Header]:
    """Headers with the tags that the application gave."""
    return [(name, without_suffix(value) if name == b"if-none-match" else value) for name, value in headers]


def _coded(headers: list[Header], coding: Coding, length: int | None = None) -> list[Header]:
    """Headers of the coded answer: parts of it can't be asked for, as its bytes needn't come out the same again."""
    kept = [
        (name, with_suffix(value, coding) if name == b"etag" else value)
        for name, value in headers
        if name not in (b"content-length", b"accept-ranges")
    ]
    kept.append((b"content-encoding", coding.encode()))
    if length is not None:
        kept.append((b"content-length", str(length).encode()))
    return kept

"""Sends answers in gzip or zstd to clients that accept it, piece by piece as they are made.

An answer that is sent in several codings has several entity tags: the application's, with a suffix for each coding.

starlette-compress knows neither entity tags nor the weights of Accept-Encoding, makes a zstd compressor for each answer
and changes messages that an application may keep. ARCHITECTURE.md has the numbers.
"""

from __future__ import annotations

import asyncio
import re
import threading
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import zstandard
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Coding = Literal["gzip", "zstd"]
CODINGS: tuple[Coding, ...] = ("zstd", "gzip")
"""The better one first."""
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
_GZIP_LEVEL = 5
_GZIP_FORMAT = 31
# A window of 1 MB: larger ones cost each answer under way more memory than they save bytes.
_ZSTD = zstandard.ZstdCompressionParameters.from_level(3, window_log=20)
_FLUSHES = {
    "gzip": (zlib.Z_SYNC_FLUSH, zlib.Z_FINISH),
    "zstd": (zstandard.COMPRESSOBJ_FLUSH_BLOCK, zstandard.COMPRESSOBJ_FLUSH_FINISH),
}
_OK, _NOT_MODIFIED = 200, 304
_VARY = (b"vary", b"Accept-Encoding")
_READ = frozenset({b"accept-encoding", b"if-none-match", b"range"})
_TAG = re.compile(rb'(?:W/)?"[^"]*"')
_TAG_WITH_SUFFIX = re.compile(rb'"([^"]*)-(?:%b)"' % b"|".join(coding.encode() for coding in CODINGS))
_of_thread = threading.local()
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
        given: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in _READ:
                given[name] = given[name] + b"," + value if name in given else value
        known = given.get(b"if-none-match", b"")
        if known:
            # Not in a copy of the scope: the route that the application finds must be seen by who counts it.
            scope["headers"] = [
                (name, without_suffix(value) if name == b"if-none-match" else value) for name, value in scope["headers"]
            ]
        is_whole = scope["method"] != "HEAD" and b"range" not in given
        coding = preferred(given[b"accept-encoding"]) if is_whole and b"accept-encoding" in given else None
        await self._app(scope, receive, _Answer(send, coding, known, self._least_bytes).send)


class _Answer:
    """An answer on its way: its start waits until its first piece tells whether it is coded."""

    __slots__ = ("_coding", "_encoder", "_known", "_least_bytes", "_send", "_start")

    def __init__(self, send: Send, coding: Coding | None, known: bytes, least_bytes: int) -> None:
        self._send = send
        self._coding = coding
        self._known = known
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
            tag = next((value for name, value in headers if name == b"etag"), b"")
            theirs = (b"etag", known_tag(tag, self._known, self._coding))
            start = {**start, "headers": [*(theirs if header[0] == b"etag" else header for header in headers), _VARY]}
        elif start["status"] == _OK and _gets_smaller(headers):
            start = {**start, "headers": [*headers, _VARY]}
            if self._coding is not None:
                self._start = start
                return
        await self._send(start)

    async def _first(self, start: Message, message: Message) -> None:
        assert self._coding is not None
        body = message.get("body", b"")
        is_all = not message.get("more_body", False)
        lengths = (int(value) for name, value in start["headers"] if name == b"content-length")
        length = len(body) if is_all else next(lengths, self._least_bytes)
        if length < self._least_bytes:
            await self._send(start)
            await self._send(message)
        elif is_all:
            body = await _apart(len(body), encoded, self._coding, body)
            await self._send({**start, "headers": _coded(start["headers"], self._coding, len(body))})
            await self._send({**message, "body": body})
        else:
            self._encoder = Encoder(self._coding)
            await self._send({**start, "headers": _coded(start["headers"], self._coding)})
            await self._more(self._encoder, message)

    async def _more(self, encoder: Encoder, message: Message) -> None:
        body = message.get("body", b"")
        is_last = not message.get("more_body", False)
        if body or is_last:
            await self._send({**message, "body": await _apart(len(body), encoder.piece, body, is_last)})


async def _apart(size: int, make: Callable[..., bytes], *arguments: object) -> bytes:
    """Make what takes long in a thread, so that other requests go on."""
    if size < _BYTES_FOR_A_THREAD:
        return make(*arguments)
    return await asyncio.get_running_loop().run_in_executor(None, make, *arguments)


def _gets_smaller(headers: list[Header]) -> bool:
    media_type = b""
    for name, value in headers:
        if name == b"content-type":
            media_type = value.partition(b";")[0].strip()
        elif name == b"content-encoding" or (name == b"cache-control" and b"no-transform" in value):
            return False
    return media_type in MEDIA_TYPES or media_type.startswith(b"text/")


def _coded(headers: list[Header], coding: Coding, length: int | None = None) -> list[Header]:
    """Return headers of the coded answer, which has no parts, as its bytes needn't come out the same again."""
    coded = [
        (name, with_suffix(value, coding) if name == b"etag" else value)
        for name, value in headers
        if name not in (b"content-length", b"accept-ranges")
    ]
    coded.append((b"content-encoding", coding.encode()))
    if length is not None:
        coded.append((b"content-length", str(length).encode()))
    return coded


def with_suffix(tag: bytes, coding: Coding) -> bytes:
    """Return a strong tag for the coded answer; a weak one holds for all codings."""
    return b'%b-%b"' % (tag[:-1], coding.encode()) if tag.startswith(b'"') and len(tag) > 1 else tag


def without_suffix(tags: bytes) -> bytes:
    """Return a list of tags, as If-None-Match has it, with the tags that the application knows."""
    return _TAG_WITH_SUFFIX.sub(rb'"\1"', tags)


def known_tag(tag: bytes, known: bytes, coding: Coding | None) -> bytes:
    """Return the tag for a 304: the one that the client has, of the coding that it prefers if it has several.

    tag: the application's. known: the value of If-None-Match, as it came.
    """
    theirs = [one for one in _TAG.findall(known) if without_suffix(one) == tag]
    wanted = with_suffix(tag, coding) if coding is not None else tag
    return wanted if wanted in theirs or not theirs else theirs[0]


class Encoder:
    """Makes one coded body of the pieces of an answer, which may come from different threads, one after the other."""

    def __init__(self, coding: Coding) -> None:
        self._flush, self._finish = _FLUSHES[coding]
        self._coder: Any = (
            zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
            if coding == "gzip"
            else zstandard.ZstdCompressor(compression_params=_ZSTD).compressobj()
        )

    def piece(self, data: bytes, is_last: bool) -> bytes:
        """Return the code of these bytes, all of it, so that the client can read that far."""
        coded: bytes = self._coder.compress(data) + self._coder.flush(self._finish if is_last else self._flush)
        return coded


def encoded(coding: Coding, data: bytes) -> bytes:
    """Return a whole body, coded at once."""
    if coding == "gzip":
        return zlib.compress(data, _GZIP_LEVEL, _GZIP_FORMAT)
    compressor: zstandard.ZstdCompressor | None = getattr(_of_thread, "zstd", None)
    if compressor is None:
        # Made once for each thread: it has about a megabyte of tables.
        compressor = _of_thread.zstd = zstandard.ZstdCompressor(compression_params=_ZSTD)
    return compressor.compress(data)


@lru_cache(maxsize=256)
def preferred(accept_encoding: bytes) -> Coding | None:
    """Return the coding that a client wants most (RFC 9110, 12.5.3); None for the bytes as they are."""
    wanted: dict[str, float] = {}
    for part in accept_encoding.decode("latin-1").lower().split(","):
        name, *parameters = (text.strip() for text in part.split(";"))
        wanted["gzip" if name == "x-gzip" else name] = _weight(parameters)
    weights = {coding: wanted.get(coding, wanted.get("*", 0.0)) for coding in CODINGS}
    best = max(CODINGS, key=lambda coding: weights[coding])
    return best if weights[best] > 0 and weights[best] >= wanted.get("identity", 0.0) else None


def _weight(parameters: list[str]) -> float:
    """Return the value of `q`; 0, which refuses, for one that is none."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                weight = float(value)
            except ValueError:
                return 0.0
            return weight if 0 <= weight <= 1 else 0.0
    return 1.0

"""Compression of responses with gzip or zstd, as a stream. `entity_tags` has the tag of each coding.

starlette-compress ignores entity tags and the weights in Accept-Encoding, creates a zstd compressor for each response,
and modifies messages that an application may cache. ARCHITECTURE.md has the numbers.
"""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import zstandard
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.entity_tags import CODINGS, Coding, tag_of_304, with_suffix, without_suffix

# Compressible types besides text/*. Parquet is compressed already, and problem documents are short.
MEDIA_TYPES = frozenset({
    b"application/json", b"application/ld+json", b"application/vnd.apache.arrow.stream",
    b"application/vnd.vegalite.v6+json", b"application/x-ndjson", b"application/xml", b"image/svg+xml",
})  # fmt: skip
# Larger bodies are compressed in a thread: below, the switch (0.1 ms) takes longer than the compression.
_BYTES_FOR_A_THREAD = 16_384
_GZIP_LEVEL = 5
_GZIP_FORMAT = 31
# A window of 1 MB: larger ones need much memory per response and save few bytes.
_ZSTD = zstandard.ZstdCompressionParameters.from_level(3, window_log=20)
_FLUSHES = {
    "gzip": (zlib.Z_SYNC_FLUSH, zlib.Z_FINISH),
    "zstd": (zstandard.COMPRESSOBJ_FLUSH_BLOCK, zstandard.COMPRESSOBJ_FLUSH_FINISH),
}
_VARY = (b"vary", b"Accept-Encoding")
_REQUEST_HEADERS = frozenset({b"accept-encoding", b"if-none-match", b"range"})
_thread_local = threading.local()
Header = tuple[bytes, bytes]


class Compress:
    """A middleware that compresses the bodies of complete responses (200), except to HEAD."""

    def __init__(self, app: ASGIApp, min_bytes: int) -> None:
        self._app = app
        self._min_bytes = min_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, with the application's entity tags, and compress the response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in _REQUEST_HEADERS:
                headers[name] = headers[name] + b"," + value if name in headers else value
        client_tags = headers.get(b"if-none-match", b"")
        if client_tags:
            # Modify the scope itself: outer middleware reads from it the route that the application adds.
            scope["headers"] = [
                (name, without_suffix(value) if name == b"if-none-match" else value) for name, value in scope["headers"]
            ]
        is_whole = scope["method"] != "HEAD" and b"range" not in headers
        coding = preferred_coding(headers[b"accept-encoding"]) if is_whole and b"accept-encoding" in headers else None
        await self._app(scope, receive, _Response(send, coding, client_tags, self._min_bytes).send)


class _Response:
    """A response in progress; its start is delayed until the first piece decides about compression."""

    __slots__ = ("_client_tags", "_coding", "_encoder", "_min_bytes", "_send", "_start")

    def __init__(self, send: Send, coding: Coding | None, client_tags: bytes, min_bytes: int) -> None:
        self._send = send
        self._coding = coding
        self._client_tags = client_tags
        self._min_bytes = min_bytes
        self._start: Message | None = None
        self._encoder: Encoder | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._send_start(message)
        elif self._start is not None:
            start, self._start = self._start, None
            await self._send_first(start, message)
        elif self._encoder is not None:
            await self._send_more(self._encoder, message)
        else:
            await self._send(message)

    async def _send_start(self, start: Message) -> None:
        headers: list[Header] = [*start.get("headers", ())]
        if start["status"] == 304:
            tag = next((value for name, value in headers if name == b"etag"), b"")
            etag = (b"etag", tag_of_304(tag, self._client_tags, self._coding))
            start = {**start, "headers": [*(etag if header[0] == b"etag" else header for header in headers), _VARY]}
        elif start["status"] == 200 and _is_compressible(headers):
            start = {**start, "headers": [*headers, _VARY]}
            if self._coding is not None:
                self._start = start
                return
        await self._send(start)

    async def _send_first(self, start: Message, message: Message) -> None:
        assert self._coding is not None
        body = message.get("body", b"")
        is_all = not message.get("more_body", False)
        lengths = (int(value) for name, value in start["headers"] if name == b"content-length")
        length = len(body) if is_all else next(lengths, self._min_bytes)
        if length < self._min_bytes:
            await self._send(start)
            await self._send(message)
        elif is_all:
            body = await _in_thread_if_large(len(body), compress, self._coding, body)
            await self._send({**start, "headers": _compressed_headers(start["headers"], self._coding, len(body))})
            await self._send({**message, "body": body})
        else:
            self._encoder = Encoder(self._coding)
            await self._send({**start, "headers": _compressed_headers(start["headers"], self._coding)})
            await self._send_more(self._encoder, message)

    async def _send_more(self, encoder: Encoder, message: Message) -> None:
        body = message.get("body", b"")
        is_last = not message.get("more_body", False)
        if body or is_last:
            await self._send({**message, "body": await _in_thread_if_large(len(body), encoder.compress, body, is_last)})


async def _in_thread_if_large(size: int, function: Callable[..., bytes], *arguments: object) -> bytes:
    """Call a function, in a thread if the data is large, so that other requests can continue."""
    if size < _BYTES_FOR_A_THREAD:
        return function(*arguments)
    return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


def _is_compressible(headers: list[Header]) -> bool:
    media_type = b""
    for name, value in headers:
        if name == b"content-type":
            media_type = value.partition(b";")[0].strip()
        elif name == b"content-encoding" or (name == b"cache-control" and b"no-transform" in value):
            return False
    return media_type in MEDIA_TYPES or media_type.startswith(b"text/")


def _compressed_headers(headers: list[Header], coding: Coding, length: int | None = None) -> list[Header]:
    """Return the headers of the compressed response, which supports no ranges, as its bytes may vary."""
    coded = [
        (name, with_suffix(value, coding) if name == b"etag" else value)
        for name, value in headers
        if name not in (b"content-length", b"accept-ranges")
    ]
    coded.append((b"content-encoding", coding.encode()))
    if length is not None:
        coded.append((b"content-length", str(length).encode()))
    return coded


class Encoder:
    """A streaming compressor of one response; may be called from different threads, one at a time."""

    def __init__(self, coding: Coding) -> None:
        self._flush, self._finish = _FLUSHES[coding]
        self._coder: Any = (
            zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
            if coding == "gzip"
            else zstandard.ZstdCompressor(compression_params=_ZSTD).compressobj()
        )

    def compress(self, data: bytes, is_last: bool) -> bytes:
        """Compress these bytes and flush, so that the client can decode everything so far."""
        coded: bytes = self._coder.compress(data) + self._coder.flush(self._finish if is_last else self._flush)
        return coded


def compress(coding: Coding, data: bytes) -> bytes:
    """Compress a complete body."""
    if coding == "gzip":
        return zlib.compress(data, _GZIP_LEVEL, _GZIP_FORMAT)
    compressor: zstandard.ZstdCompressor | None = getattr(_thread_local, "zstd", None)
    if compressor is None:
        # One per thread: its tables take about a megabyte.
        compressor = _thread_local.zstd = zstandard.ZstdCompressor(compression_params=_ZSTD)
    return compressor.compress(data)


@lru_cache(maxsize=256)
def preferred_coding(accept_encoding: bytes) -> Coding | None:
    """Return the coding that a client prefers (RFC 9110, section 12.5.3); None for no compression."""
    weights_by_name: dict[str, float] = {}
    for part in accept_encoding.decode("latin-1").lower().split(","):
        name, *parameters = (text.strip() for text in part.split(";"))
        weights_by_name["gzip" if name == "x-gzip" else name] = _weight(parameters)
    weights = {coding: weights_by_name.get(coding, weights_by_name.get("*", 0.0)) for coding in CODINGS}
    best = max(CODINGS, key=lambda coding: weights[coding])
    return best if weights[best] > 0 and weights[best] >= weights_by_name.get("identity", 0.0) else None


def _weight(parameters: list[str]) -> float:
    """Return the value of `q`, or 0, which refuses the coding, if it is invalid."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                weight = float(value)
            except ValueError:
                return 0.0
            return weight if 0 <= weight <= 1 else 0.0
    return 1.0

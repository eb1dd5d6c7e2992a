"""A response cache in memory, in front of the routes of questions, of embedded charts and of pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from cachetools import LRUCache
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake.questions.release.releases import Releases
from losslake_service.entity_tags import Version, not_modified, not_modified_start
from losslake_service.files.file_response import MAX_MESSAGE

Key = tuple[int, str, bytes, bytes, str, bytes]
Headers = list[tuple[bytes, bytes]]
_CACHED = ("/v1/", "/embed/", "/workloads", "/compare", "/advice", "/critical-batch-sizes", "/frontier", "/papers")
_FIRST_PAGE = "/"
_ROOM_FOR_HEADERS = 1000


class Counter(Protocol):
    """A counter of hits and misses."""

    def labels(self, outcome: str) -> Any:
        """Return the counter of one outcome."""


@dataclass(frozen=True, slots=True)
class _CachedResponse:
    start: Message
    body: Message
    etag: str
    unmodified: Message

    @property
    def size(self) -> int:
        return len(self.body["body"]) + _ROOM_FOR_HEADERS


class AnswerCache:
    """A middleware that caches responses that depend on a release only, up to a number of bytes; evicts by LRU.

    Keys contain the newest release, so a newer release invalidates all responses, and scheme and host, which some name.
    """

    def __init__(self, app: ASGIApp, releases: Releases, max_bytes: int, counter: Counter) -> None:
        self.app = app
        self._releases = releases
        self._responses: LRUCache[Key, _CachedResponse] = LRUCache(max_bytes, lambda cached: cached.size)
        self._hits, self._misses = counter.labels("hit"), counter.labels("miss")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the cached response, or forward the request and cache its response."""
        key, client_tags = self._key(scope)
        if key is None:
            await self.app(scope, receive, send)
            return
        cached = self._responses.get(key)
        if cached is None:
            self._misses.inc()
            await self.app(scope, receive, self._caching(key, send))
            return
        self._hits.inc()
        if client_tags and not_modified({"if-none-match": client_tags}, Version(cached.etag)):
            await send(cached.unmodified)
            await send({"type": "http.response.body", "body": b""})
        else:
            await send(cached.start)
            await send(cached.body)

    def _key(self, scope: Scope) -> tuple[Key | None, str]:
        """Return the cache key of a request, or None if it can't be cached, and its If-None-Match."""
        newest = self._releases.newest
        is_get = scope["type"] == "http" and scope["method"] == "GET"
        if newest is None or not is_get or not (scope["path"].startswith(_CACHED) or scope["path"] == _FIRST_PAGE):
            return None, ""
        accept, client_tags, host = b"", b"", b""
        for name, value in scope["headers"]:
            if name == b"accept":
                accept += b"," + value
            elif name == b"host":
                host = value.lower()
            elif name == b"if-none-match":
                client_tags = value
            elif name == b"range":
                return None, ""
        key = (newest, scope["path"], scope["query_string"], accept, scope.get("scheme", "http"), host)
        return key, client_tags.decode("latin-1")

    def _caching(self, key: Key, send: Send) -> Send:
        """Return a `send` that also caches the response, if its body is a single message."""
        start: Message | None = None

        async def cache_and_send(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
            elif start is not None and message["type"] == "http.response.body" and not message.get("more_body"):
                self._store(key, start, message)
                start = None
            else:
                start = None
            await send(message)

        return cache_and_send

    def _store(self, key: Key, start: Message, body: Message) -> None:
        headers: Headers = start["headers"]
        etag = _header(headers, b"etag")
        is_of_release = (_header(headers, b"cache-control") or "").startswith("public")
        if start["status"] != 200 or etag is None or not is_of_release or len(body.get("body", b"")) > MAX_MESSAGE:
            return
        whole: Message = {"type": "http.response.body", "body": bytes(body.get("body", b""))}
        cached = _CachedResponse(start, whole, etag, not_modified_start(start))
        if cached.size <= self._responses.maxsize:
            self._responses[key] = cached


def _header(headers: Headers, name: bytes) -> str | None:
    return next((value.decode("latin-1") for header, value in headers if header == name), None)

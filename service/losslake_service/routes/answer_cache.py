"""A response cache in memory. Each route says if its responses are cached: see `PlainRoute`.

It is in front of the router, which would double the time of a cached response. ARCHITECTURE.md has the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from cachetools import LRUCache
from prometheus_client import Counter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake.questions.release.releases import Releases
from losslake_service.entity_tags import Version, not_modified, not_modified_start
from losslake_service.files.file_response import MAX_MESSAGE
from losslake_service.routes.reading import PlainRoute

Key = tuple[int, str, str, bytes, bytes, str, bytes]
Headers = list[tuple[bytes, bytes]]
_ROOM_FOR_HEADERS = 1000


@dataclass(frozen=True, slots=True)
class _CachedResponse:
    route: PlainRoute
    start: Message
    body: Message
    etag: str
    unmodified: Message

    @property
    def size(self) -> int:
        return len(self.body["body"]) + _ROOM_FOR_HEADERS


class AnswerCache:
    """A middleware that caches responses that depend on a release only, up to a number of bytes; evicts by LRU.

    Keys contain the newest release and the version of the notices, so that a change of either invalidates all
    responses, and scheme and host, which some name.
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
            await self.app(scope, receive, self._caching(key, scope, send))
            return
        self._hits.inc()
        scope["route"] = cached.route  # for the metrics, as the router does
        if client_tags and not_modified({"if-none-match": client_tags}, Version(cached.etag)):
            await send(cached.unmodified)
            await send({"type": "http.response.body", "body": b""})
        else:
            await send(cached.start)
            await send(cached.body)

    def _key(self, scope: Scope) -> tuple[Key | None, str]:
        """Return the cache key of a request, or None if it can't be cached, and its If-None-Match."""
        newest = self._releases.newest
        if newest is None or scope["type"] != "http" or scope["method"] != "GET":
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
        notices, scheme = self._releases.notices.version, scope.get("scheme", "http")
        key = (newest, notices, scope["path"], scope["query_string"], accept, scheme, host)
        return key, client_tags.decode("latin-1")

    def _caching(self, key: Key, scope: Scope, send: Send) -> Send:
        """Return a `send` that also caches the response of a cached route, if its body is a single message."""
        start: Message | None = None

        async def cache_and_send(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                route = scope.get("route")
                if isinstance(route, PlainRoute) and route.is_cached:
                    self._misses.inc()
                    start = message
            elif start is not None:
                if not message.get("more_body"):
                    self._store(key, scope["route"], start, message)
                start = None
            await send(message)

        return cache_and_send

    def _store(self, key: Key, route: PlainRoute, start: Message, body: Message) -> None:
        headers: Headers = start["headers"]
        etag = _header(headers, b"etag")
        is_of_release = (_header(headers, b"cache-control") or "").startswith("public")
        if start["status"] != 200 or etag is None or not is_of_release or len(body.get("body", b"")) > MAX_MESSAGE:
            return
        whole: Message = {"type": "http.response.body", "body": bytes(body.get("body", b""))}
        cached = _CachedResponse(route, start, whole, etag, not_modified_start(start))
        if cached.size <= self._responses.maxsize:
            self._responses[key] = cached


def _header(headers: Headers, name: bytes) -> str | None:
    return next((value.decode("latin-1") for header, value in headers if header == name), None)

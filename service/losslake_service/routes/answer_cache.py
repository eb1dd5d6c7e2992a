"""Finished answers, kept in memory: a question asked again is answered without being looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from cachetools import LRUCache
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake.questions.releases import Releases
from losslake_service.files.conditions import Version, not_modified
from losslake_service.routes.respond import LARGEST_AT_ONCE

Key = tuple[int, str, bytes, bytes]
Headers = list[tuple[bytes, bytes]]
_ROOM_FOR_HEADERS = 1000


class Counter(Protocol):
    """Counts hits and misses."""

    def labels(self, outcome: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class _Kept:
    start: Message
    body: Message
    etag: str
    known: Message

    @property
    def size(self) -> int:
        return len(self.body["body"]) + _ROOM_FOR_HEADERS


class AnswerCache:
    """Keeps answers that a release determines, up to so many bytes; those used longest ago go first.

    A key names the newest release, so that an answer of the newest one is never given once there is another.
    """

    def __init__(self, app: ASGIApp, releases: Releases, most_bytes: int, counter: Counter) -> None:
        self.app = app
        self._releases = releases
        self._kept: LRUCache[Key, _Kept] = LRUCache(most_bytes, lambda kept: kept.size)
        self._hits, self._misses = counter.labels("hit"), counter.labels("miss")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key, known = self._asked(scope)
        if key is None:
            await self.app(scope, receive, send)
            return
        kept = self._kept.get(key)
        if kept is None:
            self._misses.inc()
            await self.app(scope, receive, self._keeping(key, send))
            return
        self._hits.inc()
        if known and not_modified({"if-none-match": known}, Version(kept.etag)):
            await send(kept.known)
            await send({"type": "http.response.body", "body": b""})
        else:
            await send(kept.start)
            await send(kept.body)

    def _asked(self, scope: Scope) -> tuple[Key | None, str]:
        """The key of a request, None if its answer can't be kept, and the entity tags that it knows."""
        newest = self._releases.newest
        is_question = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].startswith("/v1/")
        if newest is None or not is_question:
            return None, ""
        accept, known = b"", b""
        for name, value in scope["headers"]:
            if name == b"accept":
                accept += b"," + value
            elif name == b"if-none-match":
                known = value
            elif name == b"range":
                return None, ""
        return (newest, scope["path"], scope["query_string"], accept), known.decode("latin-1")

    def _keeping(self, key: Key, send: Send) -> Send:
        """The same `send`, which keeps an answer that comes in one piece."""
        start: Message | None = None

        async def keep(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
            elif start is not None and message["type"] == "http.response.body" and not message.get("more_body"):
                self._keep(key, start, message)
                start = None
            else:
                start = None
            await send(message)

        return keep

    def _keep(self, key: Key, start: Message, body: Message) -> None:
        headers: Headers = start["headers"]
        etag = _header(headers, b"etag")
        is_of_release = (_header(headers, b"cache-control") or "").startswith("public")
        if start["status"] != 200 or etag is None or not is_of_release or len(body.get("body", b"")) > LARGEST_AT_ONCE:
            return
        about = [(name, value) for name, value in headers if name not in (b"content-length", b"content-type")]
        known: Message = {"type": "http.response.start", "status": 304, "headers": about}
        kept = _Kept(start, {"type": "http.response.body", "body": bytes(body.get("body", b""))}, etag, known)
        if kept.size <= self._kept.maxsize:
            self._kept[key] = kept


def _header(headers: Headers, name: bytes) -> str | None:
    return next((value.decode("latin-1") for found, value in headers if found == name), None)

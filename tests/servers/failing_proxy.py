"""An HTTP proxy in front of a server of a test's that lets a share of the requests fail, as networks and stores do."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

from tests.servers.processes import ADDRESS, SECONDS

_HEAD_BYTES = 1 << 16
_PIECE_BYTES = 1 << 16


class Failure(StrEnum):
    """What may happen to a request."""

    INTERNAL_ERROR = "answered with 500, not passed on"
    SLOW_DOWN = "answered with 503, not passed on"
    DROPPED = "connection closed, not passed on"
    CUT = "done, and the connection closed in the middle of the answer"
    UNANSWERED = "done, and the connection closed in place of the answer"


_STATUS = {Failure.INTERNAL_ERROR: "500 Internal Server Error", Failure.SLOW_DOWN: "503 Slow Down"}
_CODE = {Failure.INTERNAL_ERROR: "InternalError", Failure.SLOW_DOWN: "SlowDown"}


@dataclass
class FailingProxy:
    """A proxy that runs; what is set is so for the requests that follow.

    share: of requests that fail, from 0 to 1. failures: how, each as often. only: which requests may fail, by method
    and target; None: all. requests, failed: how many there were, and how many of them failed in which way.
    """

    target_port: int
    share: float = 0.0
    seed: int = 0
    failures: tuple[Failure, ...] = tuple(Failure)
    only: Callable[[str, str], bool] | None = None
    requests: int = 0
    failed: Counter[Failure] = field(default_factory=Counter)
    port: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.port}"

    def fate(self, method: str, target: str) -> Failure | None:
        """How the next request fails, or None; counts it."""
        self.requests += 1
        if self._random.random() >= self.share or (self.only and not self.only(method, target)):
            return None
        failure = self._random.choice(self.failures)
        self.failed[failure] += 1
        return failure


@contextmanager
def failing_proxy(target_port: int, share: float = 0.0, seed: int = 0) -> Iterator[FailingProxy]:
    """Start a proxy, in a thread, in front of what listens on a port of this machine, and end it."""
    proxy = FailingProxy(target_port, share, seed)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _converse(proxy, reader, writer)

    async def start() -> asyncio.Server:
        return await asyncio.start_server(client, ADDRESS, 0, limit=_HEAD_BYTES)

    async def stop() -> None:
        server.close()
        talks = asyncio.all_tasks() - {asyncio.current_task()}
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(SECONDS)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(SECONDS)
        loop.close()


async def _converse(proxy: FailingProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """All requests of one connection, over one connection to the target."""
    server: asyncio.StreamWriter | None = None
    # Whoever breaks off, on either side: the other side sees it too.
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
        answers, server = await asyncio.open_connection(ADDRESS, proxy.target_port, limit=_HEAD_BYTES)
        while await _one(proxy, (reader, writer), (answers, server)):
            pass
    for end in (writer, server):
        if end is not None:
            end.close()


async def _one(
    proxy: FailingProxy,
    client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> bool:
    """One request and its answer; whether another may follow."""
    head = await client[0].readuntil(b"\r\n\r\n")
    method, target = head.split(b" ", 2)[:2]
    failure = proxy.fate(method.decode(), target.decode())
    if failure is Failure.DROPPED:
        return False
    if failure in _STATUS:
        await _body(client[0], None, _length(head, default=0))
        text = f"<Error><Code>{_CODE[failure]}</Code><Message>As the test wants it.</Message></Error>"
        fields = f"Content-Type: application/xml\r\nContent-Length: {len(text)}\r\nConnection: close"
        client[1].write(f"HTTP/1.1 {_STATUS[failure]}\r\n{fields}\r\n\r\n{text}".encode())
        await client[1].drain()
        return False
    server[1].write(head)
    if b"100-continue" in head.lower():
        await _continue(client[1], server[0])
    await _body(client[0], server[1], _length(head, default=0))
    return await _answer(method, client[1], server[0], failure)


async def _continue(client: asyncio.StreamWriter, server: asyncio.StreamReader) -> None:
    client.write(await server.readuntil(b"\r\n\r\n"))


async def _answer(
    method: bytes, client: asyncio.StreamWriter, server: asyncio.StreamReader, failure: Failure | None
) -> bool:
    head = await server.readuntil(b"\r\n\r\n")
    if failure is Failure.UNANSWERED:
        return False
    is_empty = method == b"HEAD" or head.split(b" ", 2)[1] in (b"204", b"304")
    length = 0 if is_empty else _length(head, default=None)
    client.write(head)
    if failure is Failure.CUT:
        await _body(server, client, (length or 0) // 2)
        return False
    await _body(server, client, length)
    return length is not None and b"connection: close" not in head.lower()


async def _body(source: asyncio.StreamReader, sink: asyncio.StreamWriter | None, length: int | None) -> None:
    """Pass on so many bytes; None: as many as come; -1: the pieces of a body whose length isn't said."""
    if length == -1:
        await _pieces(source, sink)
        return
    left = length
    while left is None or left > 0:
        piece = await source.read(_PIECE_BYTES if left is None else min(left, _PIECE_BYTES))
        if not piece:
            break
        left = None if left is None else left - len(piece)
        if sink:
            sink.write(piece)
            await sink.drain()
    if sink:
        await sink.drain()
    if left:
        raise asyncio.IncompleteReadError(b"", left)


async def _pieces(source: asyncio.StreamReader, sink: asyncio.StreamWriter | None) -> None:
    size = 1
    while size:
        line = await source.readuntil(b"\r\n")
        size = int(line.partition(b";")[0], 16)
        if sink:
            sink.write(line)
        await _body(source, sink, size + 2)


def _length(head: bytes, default: int | None) -> int | None:
    """Bytes of the body that follows a head; -1 where it comes in pieces; the default where nothing is said."""
    for line in head.lower().split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
        if name == b"transfer-encoding" and b"chunked" in value:
            return -1
    return default

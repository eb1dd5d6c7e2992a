"""A load of requests: concurrent clients, each with a connection of its own, ask one question after the other."""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import cast

import httptools
import uvloop

_READ = 1 << 20


@dataclass(frozen=True)
class Load:
    """The result of a load; latencies: seconds by request; seconds: from the first request to the last answer."""

    latencies: Sequence[float]
    bytes: int
    seconds: float

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds

    @property
    def p50_ms(self) -> float:
        return statistics.median(self.latencies) * 1000

    @property
    def p99_ms(self) -> float:
        return sorted(self.latencies)[int(len(self.latencies) * 0.99)] * 1000

    @property
    def mb_per_second(self) -> float:
        return self.bytes / self.seconds / 1e6


def load(port: int, requests: Sequence[bytes], clients: int, seconds: float) -> Load:
    """Send requests in turn from concurrent clients for some seconds, one from each at least.

    Raises RuntimeError unless all succeed.
    """
    return uvloop.run(_load(port, cycle(requests), clients, seconds))


def send(port: int, requests: Sequence[bytes], count: int, clients: int) -> Load:
    """Send a number of requests in turn."""
    limited = iter(islice(cycle(requests), count))
    return uvloop.run(_load(port, limited, clients, math.inf))


def get(path: str) -> bytes:
    """Return the bytes of a GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n".encode()


def post(path: str, body: bytes) -> bytes:
    """Return the bytes of a POST request with a JSON body."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _load(port: int, requests: Iterator[bytes], clients: int, seconds: float) -> Load:
    connected = [_Client(requests) for _ in range(clients)]
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    for client in connected:
        client.until = began + seconds
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.gather(*(client.done for client in connected))
    ended = max(client.ended for client in connected)
    latencies = [latency for client in connected for latency in client.latencies]
    return Load(latencies, sum(client.bytes for client in connected), ended - began)


class _Client(asyncio.BufferedProtocol):
    """A connection that sends the next request when an answer is complete."""

    def __init__(self, requests: Iterator[bytes]) -> None:
        self._requests = requests
        self._buffer = bytearray(_READ)
        self._view = memoryview(self._buffer)
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport
        self._sent_at = 0.0
        self.until = self.ended = 0.0
        self.bytes = 0
        self.latencies: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send_next()

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._parser.feed_data(self._view[:nbytes])

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(f"the server closed the connection: {exc}"))

    def on_body(self, body: bytes) -> None:
        self.bytes += len(body)

    def on_message_complete(self) -> None:
        self.latencies.append(time.perf_counter() - self._sent_at)
        if self._parser.get_status_code() != 200:
            self.done.set_exception(RuntimeError(f"an answer has status {self._parser.get_status_code()}"))
            self._transport.close()
        else:
            self._send_next()

    def _send_next(self) -> None:
        self._sent_at = time.perf_counter()
        # The time may be over before the last of the clients is connected: a rate needs an answer.
        more = not self.latencies or self._sent_at < self.until
        request = next(self._requests, None) if more else None
        if request is not None:
            self._transport.write(request)
            return
        self.ended = self._sent_at
        self.done.set_result(None)
        self._transport.close()

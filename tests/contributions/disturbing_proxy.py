"""A TCP proxy that cuts connections, delays what passes, and sends requests of earlier connections again, later."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.servers.processes import ADDRESS, SECONDS

_PIECE = 8192
_MOST_REPEATED = 1 << 20


@dataclass
class DisturbingProxy:
    """A proxy that runs. share: of pieces that are disturbed, from 0 to 1; set to 0, everything passes.

    cuts, repeats: how many connections were cut, and sent again.
    """

    target_port: int
    seed: int
    share: float = 0.05
    port: int = 0
    cuts: int = 0
    repeats: int = 0
    _random: random.Random = field(default_factory=random.Random)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on one connection."""
        sent = bytearray()
        try:
            answers, server = await asyncio.open_connection(ADDRESS, self.target_port)
        except OSError:
            writer.close()
            return
        pumps = [
            asyncio.create_task(self._pump(reader, server, sent)),
            asyncio.create_task(self._pump(answers, writer, None)),
        ]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        for end in (writer, server):
            end.close()
        if self.share and self._random.random() < 0.3:
            task = asyncio.create_task(self._repeat(bytes(sent)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, kept: bytearray | None) -> None:
        with suppress(OSError):
            while piece := await source.read(_PIECE):
                fate = self._random.random() / self.share if self.share else 2.0
                if kept is not None and len(kept) < _MOST_REPEATED:
                    kept += piece
                if fate < 0.3:
                    self.cuts += 1
                    sink.write(piece[: self._random.randrange(len(piece) + 1)])
                    await sink.drain()
                    return
                if fate < 1:
                    await asyncio.sleep(self._random.random() / 5)
                sink.write(piece)
                await sink.drain()

    async def _repeat(self, sent: bytes) -> None:
        """Send what a connection sent once more, when others have gone on; nobody reads the answers."""
        await asyncio.sleep(self._random.random() * 2)
        with suppress(OSError):
            answers, server = await asyncio.open_connection(ADDRESS, self.target_port)
            self.repeats += 1
            server.write(sent)
            await server.drain()
            with suppress(TimeoutError):
                async with asyncio.timeout(5):
                    while await answers.read(_PIECE):
                        pass
            server.close()


@contextmanager
def disturbing_proxy(target_port: int, seed: int) -> Iterator[DisturbingProxy]:
    """A proxy in front of a port, in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    proxy = DisturbingProxy(target_port, seed)

    async def start() -> asyncio.Server:
        return await asyncio.start_server(proxy.serve, ADDRESS, 0)

    async def stop() -> None:
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(SECONDS)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(SECONDS)
        loop.close()

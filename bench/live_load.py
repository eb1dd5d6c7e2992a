"""Senders of live runs: many at once, each with a connection of its own, at the pace that the service asks for.

The value of each measurement is the time at which it was logged, so that whoever sees it can tell how late it is.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.servers import Server
from losslake.record.layout import FORMAT

METRIC = "train/loss"
PER_SECOND = 10
_RETRY_S = 1.0


def create(server: Server, token: str, run: str, number: int) -> str:
    """Create a run; return the link to its page."""
    facts = {
        "format": FORMAT, "collection": "bench", "dataset": "digits", "model": "mlp_64", "optimizer": "sgd",
        "batch_size": 64, "licence": None, "started_at": time.time(), "parameters": {"seed": number},
    }  # fmt: skip
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with closing(server.connect()) as connection:
        connection.request("PUT", f"/v1/contributions/{run}", json.dumps(facts), headers)
        return str(json.loads(connection.getresponse().read())["links"]["live"])


@dataclass
class Sent:
    """The requests of all senders. latencies: seconds of each. failures: those that weren't answered by 200.

    seconds: from the first request to the last.
    """

    latencies: list[float] = field(default_factory=list)
    failures: int = 0
    seconds: float = 0.0


def send_all(port: int, runs: Sequence[tuple[str, str]], ends: Path) -> Sent:
    """Send runs until a file exists. runs: token and name of each; they must have been created."""
    sent, began = Sent(), time.monotonic()

    async def together() -> None:
        await asyncio.gather(*(_send(port, token, run, ends, sent) for token, run in runs))

    asyncio.run(together())
    sent.seconds = time.monotonic() - began
    return sent


async def _send(port: int, token: str, run: str, ends: Path, sent: Sent) -> None:
    """Send one run; begin within a second."""
    await asyncio.sleep(random.Random(run).random())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    offset, step, began = 0, 0, time.time()
    while not ends.exists():  # noqa: ASYNC240
        last = int((time.time() - began) * PER_SECOND)
        lines = "".join(
            f'{{"step":{at},"elapsed_s":{at / PER_SECOND},"{METRIC}":{began + at / PER_SECOND!r}}}\n'
            for at in range(step, last)
        )
        piece = {"run": run, "attempt": 1, "n": 1, "offset": offset, "lines": lines}
        body = json.dumps({"pieces": [piece] if lines else [], "alive": [run]}).encode()
        began_at = time.perf_counter()
        status, answer = await _post(reader, writer, token, body)
        sent.latencies.append(time.perf_counter() - began_at)
        if status != 200 or answer["refused"]:
            sent.failures += 1
            await asyncio.sleep(_RETRY_S)
            continue
        offset, step = offset + len(lines), last
        await asyncio.sleep(answer["seconds"])
    writer.close()


async def _post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str, body: bytes
) -> tuple[int, dict[str, Any]]:
    """Send pieces on a connection; return the status and the document of the answer."""
    head = f"POST /v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    headers = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    (length,) = (line.split(":")[1] for line in headers if line.startswith("content-length:"))
    return int(headers[0].split(" ")[1]), json.loads(await reader.readexactly(int(length)))

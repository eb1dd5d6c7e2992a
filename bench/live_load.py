"""Live runs to load a contribution service with: recorded trainings and a sender of all, or many senders of one each.

The value of each measurement is the time at which it was logged, so that whoever sees it knows how late it is.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from losslake.record.layout import FORMAT

METRIC = "train/loss"
PER_SECOND = 10
PROCESSES = 2
_WORKLOAD = "bench/digits/mlp_64/sgd"
_RETRY_S = 1.0


def train(folder: str, first: int, n_runs: int, until: float) -> None:
    """Record so many runs at once until a time, ten measurements a second each; none is finished."""
    import losslake.record

    runs = [
        losslake.record.start(workload=_WORKLOAD, batch_size=64, parameters={"seed": first + number}, folder=folder)
        for number in range(n_runs)
    ]
    step, began = 0, time.time()
    while (now := time.time()) < until:
        # In turn, as trainings don't log at the same moment.
        run = runs[step % n_runs]
        run.log({METRIC: now}, step=step // n_runs)
        step += 1
        time.sleep(max(0.0, began + step / (n_runs * PER_SECOND) - time.time()))
    os._exit(0)  # a run that is finished would be sent whole, which isn't what is measured


@contextmanager
def trainings(folder: Path, n_runs: int, seconds: float) -> Iterator[list[int]]:
    """Run trainings in some processes; give the ids of these."""
    share, until = n_runs // PROCESSES, time.time() + seconds
    spawn = multiprocessing.get_context("spawn")
    arguments = [(str(folder), at * share, share, until) for at in range(PROCESSES)]
    processes = [spawn.Process(target=train, args=each) for each in arguments]
    for process in processes:
        process.start()
    try:
        yield [process.pid for process in processes if process.pid is not None]
    finally:
        for process in processes:
            process.kill()
            process.join()


@contextmanager
def follower(folder: Path, port: int, token: str, output: Path) -> Iterator[int]:
    """Run `losslake live` over a folder; give the id of its process. output: a file for what it prints."""
    command = [sys.executable, "-m", "losslake", "live", str(folder), "--url", f"http://127.0.0.1:{port}"]
    environment = {**os.environ, "LOSSLAKE_TOKEN": token, "PYTHONUNBUFFERED": "1"}
    with output.open("w") as printed:
        process = subprocess.Popen(command, env=environment, stdout=printed)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def run_json(number: int) -> bytes:
    """Return the run.json of a run."""
    collection, dataset, model, optimizer = _WORKLOAD.split("/")
    facts = {
        "format": FORMAT, "collection": collection, "dataset": dataset, "model": model, "optimizer": optimizer,
        "batch_size": 64, "licence": None, "started_at": time.time(), "parameters": {"seed": number},
    }  # fmt: skip
    return json.dumps(facts).encode()


@dataclass
class Sent:
    """The requests of senders. latencies: seconds of each request. pauses: seconds that its answer asked for.

    failures: requests that weren't answered by 200; they are sent again.
    """

    latencies: list[float] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    failures: int = 0


def send_all(port: int, runs: Sequence[tuple[str, str]], until: float) -> Sent:
    """Send runs until a time, each on a connection of its own, at the pace that answers ask for.

    runs: token and name of each; they must have been created.
    """
    sent = Sent()

    async def together() -> None:
        await asyncio.gather(*(_send(port, token, run, until, sent) for token, run in runs))

    asyncio.run(together())
    return sent


async def _send(port: int, token: str, run: str, until: float, sent: Sent) -> None:
    """Send one run; begin within a second."""
    await asyncio.sleep(random.Random(run).random())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    offset, step, began = 0, 0, time.time()
    while time.time() < until:
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
        sent.pauses.append(answer["seconds"])
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

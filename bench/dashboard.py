"""Runs of a folder that are shown while they grow: `python -m bench.dashboard [--runs 200] [--steps 100000]`.

Each recorded run has three metrics. A tenth of them grows by ten steps a second while a client asks for changes once a
second, as the page does. Every value of a growing metric is the time at which it was written, so that each answer says
how old what it shows is.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from bench.growth import Figure, spread
from bench.lakes import temporary_folder
from bench.measure import cpu_of, machine, memory_of
from bench.servers import Server, dashboard
from losslake.record.layout import FORMAT, HEARTBEAT, RUN, SegmentName, document_bytes, segment_bytes
from losslake.record.spool import LARGEST_SEGMENT

METRIC = "val/loss"
RATES = (0.3, 0.1, 0.03, 0.01)
_LONGEST_S = 600.0


def write_runs(folder: Path, n_runs: int, n_steps: int) -> list[Path]:
    """Write recorded runs; return their folders. Those of a learning rate have the same curves."""
    runs: list[Path] = []
    for number in range(n_runs):
        rate = RATES[number % len(RATES)]
        run = folder / f"run-{number:04d}"
        if number < len(RATES):
            run.mkdir(parents=True)
            _write_curves(run, rate, n_steps)
        else:
            shutil.copytree(runs[number % len(RATES)], run)
        facts = {
            "format": FORMAT, "collection": "local", "dataset": "digits", "model": "mlp", "optimizer": "sgd",
            "batch_size": 64, "batch_unit": "examples",
            "parameters": {"learning_rate": rate, "seed": number // len(RATES)},
        }  # fmt: skip
        (run / RUN).write_bytes(document_bytes(facts))
        (run / HEARTBEAT).touch()
        runs.append(run)
    return runs


def _write_curves(run: Path, rate: float, n_steps: int) -> None:
    part: list[dict[str, float]] = []
    number, size = 1, 0
    for step in range(n_steps):
        loss = math.exp(-5 * rate * step / n_steps) + 0.1 * math.sin(step * 12.9898) ** 2
        part.append(
            {"step": step, "elapsed_s": step / 100, "train/loss": loss, METRIC: 1.1 * loss, "val/error": loss / 2}
        )
        size += 130
        if size > LARGEST_SEGMENT or step == n_steps - 1:
            file = run / SegmentName(1, number).path
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(segment_bytes(part))
            number, size, part = number + 1, 0, []


def grow(runs: Sequence[Path], n_steps: int, stops: threading.Event) -> None:
    """Add ten steps a second to the last segment of each run, with the time as value."""
    step = n_steps
    files = [max((run / "0001").iterdir()) for run in runs]
    while not stops.wait(0.1):
        for file in files:
            with file.open("ab") as opened:
                row = {"step": step, "elapsed_s": step / 100, "train/loss": 0.1, METRIC: time.time(), "val/error": 0.05}
                opened.write(segment_bytes([row]))
        step += 1


def changes(server: Server, since: int) -> tuple[dict[str, Any], float, int]:
    """Return what the script of the page is told, the seconds that it took, and its bytes."""
    began = time.monotonic()
    body = server.answer(f"/live/changes.json?metric={METRIC}&group=settings&since={since}")
    return json.loads(body), time.monotonic() - began, len(body)


def measured(n_runs: int, n_steps: int, seconds: float) -> Iterator[Figure]:
    """Yield all figures."""
    with temporary_folder() as folder:
        runs = write_runs(folder / "runs", n_runs, n_steps)
        yield Figure("lines of all runs", sum(file.stat().st_size for file in folder.rglob("*.jsonl")) / 1e6, "MB")
        began = time.monotonic()
        with dashboard(folder / "runs") as server:
            ready = time.monotonic()
            yield Figure("start until the server answers", ready - began, "s")
            yield from _first(server, n_runs, ready)
            process = psutil.Process(server.process)
            yield Figure("memory when all is read", memory_of(process) / 1e6, "MB")
            yield from _page(server)
            yield from _refresh(server, process, runs[: max(1, n_runs // 10)], n_steps, seconds)


def _first(server: Server, n_runs: int, ready: float) -> Iterator[Figure]:
    """Yield how long it takes until every run has a curve, of a sample of its lines, and of all of them."""
    is_shown = False
    while time.monotonic() < ready + _LONGEST_S:
        shown, _, _ = changes(server, 0)
        if len(shown["curves"]) == n_runs and not is_shown:
            is_shown = True
            yield Figure("until every run has a curve, of samples", time.monotonic() - ready, "s")
        if is_shown and not any("are being read" in sentence for sentence in shown["sentences"]):
            yield Figure("until every line is read", time.monotonic() - ready, "s")
            return
        time.sleep(0.1)
    raise TimeoutError("the runs weren't read within ten minutes")


def _page(server: Server) -> Iterator[Figure]:
    """Yield how long the page takes, and the data of all curves, once all is read."""
    pages, whole, size = [], [], 0
    for _ in range(20):
        began = time.monotonic()
        server.answer("/live")
        pages.append(1000 * (time.monotonic() - began))
        _, took, size = changes(server, 0)
        whole.append(1000 * took)
    yield from spread("page", pages, "ms")
    yield from spread("data of all curves", whole, "ms")
    yield Figure("data of all curves", size / 1e6, "MB")


def _refresh(
    server: Server, process: psutil.Process, runs: Sequence[Path], n_steps: int, seconds: float
) -> Iterator[Figure]:
    """Yield how long changes take, and how old what they show is."""
    stops = threading.Event()
    growing = threading.Thread(target=grow, args=(runs, n_steps, stops))
    growing.start()
    asked: list[float] = []
    ages: list[float] = []
    sizes: list[float] = []
    try:
        shown, _, _ = changes(server, 0)
        began, cpu = time.monotonic(), cpu_of(process)
        while time.monotonic() < began + seconds:
            time.sleep(1.0)
            shown, took, size = changes(server, shown["version"])
            asked.append(1000 * took)
            sizes.append(size / 1e6)
            ages += [time.time() - curve["values"][-1] for curve in shown.get("curves", ())]
        used = (cpu_of(process) - cpu) / (time.monotonic() - began)
    finally:
        stops.set()
        growing.join()
    yield from spread(f"changes while {len(runs)} runs grow", asked, "ms")
    yield Figure("changes", statistics.median(sizes), "MB")
    yield from spread("age of the newest value shown", ages, "s")
    yield Figure("processor of the service", used, "cores")


def main() -> None:
    """Print all figures as a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    print(f"{machine()}; {given.runs} runs of {given.steps:,} steps, load {os.getloadavg()[0]:.1f}\n")
    print("| what | value |\n| --- | ---: |")
    for figure in measured(given.runs, given.steps, given.seconds):
        print(f"| {figure.name} | {figure.value:,.4g} {figure.unit} |", flush=True)


if __name__ == "__main__":
    main()

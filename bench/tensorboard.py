"""How fast event files are read, beside TensorBoard's own loaders, on the same file in one process.

python -m bench.tensorboard [--events 200000 3000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from bench.measure import machine
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.tensorboard import FORMAT
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.event_files.file import read_event_file
from losslake_ingest.sources.open import open_source

TAGS = ("train/loss", "train/accuracy", "learning_rate", "grad_norm", "val/loss", "val/accuracy")


@dataclass(frozen=True)
class Rate:
    """What one reader does in a second, at its best of several rounds."""

    name: str
    values: int
    bytes: int
    seconds: float

    def __str__(self) -> str:
        values, megabytes = self.values / self.seconds, self.bytes / self.seconds / 1e6
        return f"{self.name:28} {self.seconds * 1e3:10.1f} ms {values:14,.0f} evaluations/s {megabytes:8.1f} MB/s"


def written(events: int, run: int = 0) -> bytes:
    """Return an event file of one scalar per event, its tags in turn, as training loops write it.

    run: each has other values, as equal runs would be stored once.
    """
    file = io.BytesIO()
    writer = RecordWriter(file)
    writer.write(Event(wall_time=1.7e9, file_version="brain.Event:2").SerializeToString())
    for at in range(events):
        value = Summary.Value(tag=TAGS[at % len(TAGS)], simple_value=1 / (1 + at + run))
        event = Event(wall_time=1.7e9 + at / 7, step=10 * (at // len(TAGS)), summary=Summary(value=[value]))
        writer.write(event.SerializeToString())
    return file.getvalue()


def measured(events: int, rounds: int) -> list[Rate]:
    """Return the rates of our reader and of TensorBoard's own on one generated file, in alternating rounds."""
    data = written(events)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "events.out.tfevents.1700000000.bench"
        file.write_bytes(data)
        readers: dict[str, Callable[[], int]] = {
            "ours, values of a file": lambda: _file(file),
            "ours, runs of a folder": lambda: _runs(folder),
            "TensorBoard EventFileLoader": lambda: _loader(file),
            "TensorBoard EventAccumulator": lambda: _accumulator(file),
        }
        best = dict.fromkeys(readers, float("inf"))
        for _ in range(rounds):
            for reader, read in readers.items():
                start = time.perf_counter()
                count = read()
                best[reader] = min(best[reader], time.perf_counter() - start)
                if count != events:
                    raise RuntimeError(f"{reader} found {count:,} of {events:,} values")
    return [Rate(reader, events, len(data), seconds) for reader, seconds in best.items()]


def _file(file: Path) -> int:
    read = read_event_file(file.read_bytes())
    return sum(len(points) for parts in read.scalars.values() for points in parts)


def _runs(folder: Path) -> int:
    runs = FORMAT.read(open_source(folder), LogMapping())
    return sum(len(rows.columns["step"]) for run in runs if isinstance(run, RunLog) for rows in run.rows)


def _loader(file: Path) -> int:
    return sum(len(event.summary.value) for event in EventFileLoader(str(file)).Load())


def _accumulator(file: Path) -> int:
    accumulator = EventAccumulator(str(file), size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    return sum(len(accumulator.Scalars(tag)) for tag in accumulator.Tags()["scalars"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rates on each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--events", type=int, nargs="+", default=(200_000, 3_000), help="of a file; default: 200000 3000"
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    print(machine())
    for count in options.events:
        rates = measured(count, options.rounds)
        print(f"\n{count:,} scalars, {rates[0].bytes / 1e6:.1f} MB, best of {options.rounds} rounds")
        for rate in rates:
            print(rate)
        ours, theirs = rates[1].seconds, rates[2].seconds
        print(f"runs of a folder against EventFileLoader: {theirs / ours:.1f} times as fast")


if __name__ == "__main__":
    main()

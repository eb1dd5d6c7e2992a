"""Measure the time of a call of losslake.record, its median and its longest, beside lines of JSON.

python -m bench.recording [--calls 200000]

Every logger gets the same two metrics at every step, in a process of its own. Fast: one call after the other, which no
training does. Paced: after 1 ms each, in which the thread waits as for an accelerator. The first row is an empty call:
what the machine itself adds.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.measure import in_own_process, machine

PACED = 5_000
SLOW_CALLS = 5_000
Log = Callable[[int], object]
Logger = Callable[[Path], tuple[Log, Callable[[], object]]]


def nothing(_: Path) -> tuple[Log, Callable[[], object]]:
    """Return a call that does nothing."""
    return lambda step: {"train/loss": 1 / step, "train/accuracy": 0.5}, lambda: None


def recorder(folder: Path) -> tuple[Log, Callable[[], object]]:
    """Return the log of losslake.record."""
    import losslake.record

    run = losslake.record.start(workload="a/b/c/d", batch_size=1, folder=folder)
    return lambda step: run.log({"train/loss": 1 / step, "train/accuracy": 0.5}, step=step), run.finish


def json_lines(folder: Path) -> tuple[Log, Callable[[], object]]:
    """Return a line of JSON, flushed to the system."""
    file = (folder / "log.jsonl").open("w", buffering=1)
    return lambda step: file.write(json.dumps({"step": step, "loss": 1 / step, "accuracy": 0.5}) + "\n"), file.close


def json_lines_synced(folder: Path) -> tuple[Log, Callable[[], object]]:
    """Return a line of JSON, flushed to the disk."""
    file = (folder / "log.jsonl").open("w", buffering=1)

    def log(step: int) -> None:
        file.write(json.dumps({"step": step, "loss": 1 / step, "accuracy": 0.5}) + "\n")
        os.fsync(file.fileno())

    return log, file.close


def recorder_with_system(folder: Path) -> tuple[Log, Callable[[], object]]:
    """Return the log of losslake.record, which samples the system ten times a second."""
    import losslake.record

    run = losslake.record.start(workload="a/b/c/d", batch_size=1, folder=folder, system=0.1)
    return lambda step: run.log({"train/loss": 1 / step, "train/accuracy": 0.5}, step=step), run.finish


def wandb_offline(folder: Path) -> tuple[Log, Callable[[], object]]:
    """Return the log of W&B, offline."""
    os.environ["WANDB_SILENT"] = "true"
    import wandb

    run = wandb.init(project="p", mode="offline", dir=folder)
    return lambda step: run.log({"train/loss": 1 / step, "train/accuracy": 0.5}), run.finish


def behind_wandb(folder: Path) -> tuple[Log, Callable[[], object]]:
    """Return the same log of W&B, with losslake.record behind it."""
    wandb_offline(folder)
    import wandb

    import losslake.record

    run = wandb.run
    assert run is not None
    losslake.record.behind(run, workload="a/b/c/d", batch_size=1, folder=folder)
    return lambda step: run.log({"train/loss": 1 / step, "train/accuracy": 0.5}), run.finish


LOGGERS = (nothing, recorder, recorder_with_system, wandb_offline, behind_wandb, json_lines, json_lines_synced)
SLOW = (wandb_offline, behind_wandb, json_lines_synced)


def times(logger: Logger, calls: int, pause: float) -> list[float]:
    """Return the microseconds of each call, ascending."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        log, end = logger(Path(folder))
        clock, taken = time.perf_counter_ns, [0] * calls
        for at in range(calls):
            if pause:
                time.sleep(pause)
            begun = clock()
            log(at + 1)
            taken[at] = clock() - begun
        end()
    return sorted(each / 1e3 for each in taken)


def row(name: str, taken: Sequence[float]) -> str:
    """Return a line of the table."""
    median, rare = taken[len(taken) // 2], taken[int(len(taken) * 0.999)]
    return f"{name:30} {len(taken):9,} {median:10.1f} {rare:12.1f} {taken[-1]:12.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the times of each logger."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200_000, help="at most; default: %(default)s")
    calls = parser.parse_args(arguments).calls
    print(machine())
    print(f"{'microseconds':30} {'calls':>9} {'median':>10} {'99.9th':>12} {'longest':>12}")
    for logger in LOGGERS:
        name = logger.__name__
        fast = min(calls, SLOW_CALLS) if logger in SLOW else calls
        print(row(f"{name}, fast", in_own_process(times, logger, fast, 0.0).result), flush=True)
        print(row(f"{name}, paced", in_own_process(times, logger, min(calls, PACED), 0.001).result), flush=True)


if __name__ == "__main__":
    main()

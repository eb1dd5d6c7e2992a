"""A real process that records is killed at random moments: what it had logged a second ago is there."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.record import FORMAT
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.sources.open import open_source
from tests.losslake.record.runs import curve
from tests.repository.checkout import ROOT

# Logs, says which step it logged when, and goes back now and then.
PROGRAM = """
import os, random, sys, time
import losslake.record
folder, name, begin, seed = sys.argv[1], sys.argv[2] or None, int(sys.argv[3]), int(sys.argv[4])
random.seed(seed)
run = losslake.record.start(workload="a/b/c/d", batch_size=1, folder=folder, resume=name)
if name:
    run.rewind(begin)
print(run.name, flush=True)
step = begin
while True:
    run.log({"train/loss": seed + step / 1e6, f"train/m{step % 50}": 1 / (step + 1)}, step=step)
    if step % 100 == 0:
        print(step, time.time(), flush=True)
    step += 1
    if random.random() < 1e-4 and step > begin + 50:
        step -= 50
        run.rewind(step)
        print("rewind", step, flush=True)
    time.sleep(0.0002)
"""


def killed(folder: Path, name: str, begin: int, seed: int, after: float) -> tuple[str, int, int]:
    """Run the program and kill it; return the run, and the step before which everything must be there, and the last.

    after: seconds from its first line on. What it said more than a second before it was killed must be there.
    """
    command = [sys.executable, "-c", PROGRAM, str(folder), name, str(begin), str(seed)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    run = process.stdout.readline().strip()
    time.sleep(after)  # the moment of the kill, not a wait for something
    process.kill()
    said = process.stdout.read().splitlines()[:-1]  # the last line may be cut short
    process.wait()
    times = [float(line.split()[1]) for line in said if not line.startswith("rewind")]
    at = max(times, default=0.0)  # of the process: on a busy machine, it may not have run at all for a second
    durable = begin
    for line in said:
        first, second = line.split()
        if first == "rewind":
            durable = min(durable, int(second))
        elif float(second) < at - 1:
            durable = int(first)
    return run, durable, begin


def test_killed_runs_lose_at_most_the_last_second(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        checks = [pool.submit(check_kills, tmp_path / str(seed), seed, kills=2) for seed in range(3)]
    for check in checks:
        check.result()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_kills_lose_at_most_the_last_second_each(tmp_path: Path, seed: int) -> None:
    check_kills(tmp_path, seed, kills=5)


def check_kills(folder: Path, seed: int, kills: int) -> None:
    """Kill and resume a run; each time, the steps of the attempts so far are those that were logged."""
    chance = random.Random(seed)
    name, begin = "", 0
    expected: dict[int, float] = {}
    for kill in range(kills):
        name, durable, begin = killed(folder, name, begin, kill, chance.uniform(0.0, 2.5))
        expected = {step: value for step, value in expected.items() if step < begin}
        expected |= {step: kill + step / 1e6 for step in range(begin, durable)}
        measured = curve(folder / name).get("train/loss", {})
        assert {step: measured.get(step) for step in expected} == expected
        assert not (folder / name / "end.json").exists()
        assert read(folder) == measured
        begin = chance.randint(0, max(durable, 1))
        expected = {step: value for step, value in expected.items() if step < begin}
        begin = min(begin, len(expected))


def read(folder: Path) -> dict[int, float]:
    """The curve as the format reads it."""
    (run,) = FORMAT.read(open_source(folder), LogMapping())
    assert isinstance(run, RunLog)
    assert run.status == "no end.json"
    found: dict[int, float] = {}
    for rows in run.rows:
        if "train/loss" in rows.columns:
            known = rows.known("train/loss")
            steps, losses = rows.columns["step"][known].astype(int), rows.columns["train/loss"][known]
            found |= dict(zip(steps.tolist(), losses.tolist(), strict=True))
    return found

"""Strangers who ask for many reviews at once; docs/threat-model.md lists the attacks."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.attacks.contributors import Target
from tests.contributions.spooled_runs import SpooledRun, rows

pytestmark = [pytest.mark.slow, pytest.mark.attack]
N_SUBMISSIONS, N_RUNS, N_ROWS = 4, 30, 300
LONGEST_WAIT_S = 2.0


def large_submissions(target: Target) -> list[str]:
    """Submit runs whose reviews take seconds each, all at once, before any review is made."""
    sent = []
    for number in range(1, N_SUBMISSIONS + 1):
        sender = target.someone(f"Mallory {number}")
        runs = [
            SpooledRun(batch_size=100 * number + n, segments={"0001/000001.jsonl": rows(range(N_ROWS), 1 + n / 7)})
            for n in range(1, N_RUNS + 1)
        ]
        sender.contribute(*runs)
        sent.append((sender, runs))
    return [str(sender.submit(*runs).json()["id"]) for sender, runs in sent]


def test_parallel_reviews(target: Target) -> None:
    """keep others from being answered by asking for many reviews of large submissions at once"""
    names = large_submissions(target)
    paths = {"/v1/submissions": target.victim, "/healthz": target.victim}
    seconds: dict[str, list[float]] = {path: [] for path in paths}
    over = threading.Event()

    def ask() -> None:
        while not over.wait(0.02):
            for path, sender in paths.items():
                began = time.perf_counter()
                assert sender.send("GET", path, timeout=120).status_code == 200
                seconds[path].append(time.perf_counter() - began)

    def review(number: int) -> int:
        path = f"/v1/submissions/{names[number % len(names)]}/review"
        return int(target.reviewer.send("GET", path, timeout=120).status_code)

    neighbour = threading.Thread(target=ask)
    neighbour.start()
    statuses = Counter[int]()
    for count in (14, 40):
        with ThreadPoolExecutor(count) as threads:
            statuses.update(threads.map(review, range(count)))
        time.sleep(0.5)  # of neighbours while reviews are made
    made = [target.reviewer.review(name) for name in names]
    over.set()
    neighbour.join()
    longest = {path: max(each) for path, each in seconds.items()}
    shown = ", ".join(f"{path} {each * 1000:.0f} ms" for path, each in longest.items())
    print(f"\n14 and 40 parallel reviews of {N_SUBMISSIONS} submissions: {dict(statuses)}; others at most {shown}")
    assert set(statuses) <= {200, 202}
    assert {each.status_code for each in made} == {200}
    assert max(longest.values()) < LONGEST_WAIT_S

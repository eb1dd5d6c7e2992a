"""Strangers who ask the most expensive questions leave the service to those who ask cheap ones."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from losslake.lake.lake import Lake
from losslake.questions.declaration.cost import seconds_of
from losslake.questions.questions import QUESTIONS
from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from losslake_service.routes.reading import read_query
from losslake_service.settings import Settings
from tests.attacks.neighbours import ADDRESS, HEALTH, PROXIED, SCALING, neighbours, wait_until_ready
from tests.repository.checkout import ROOT
from tests.service.running import Running, served

pytestmark = [pytest.mark.slow, pytest.mark.attack]
N_CLIENTS, SECONDS_OF_ATTACK = 16, 15.0
LONGEST_S = 0.1  # at the 99th percentile
BUNDLED = ROOT / "studies" / "data" / "bundled.tar.bz2"
METRIC = "val/classification_error"
Asked = tuple[str, dict[str, Any]]
SCALING_OF_ONE: Asked = ("/v1/scaling", {"workload": ["bundled/digits/mlp_64/sgd"], "metric": METRIC})


def questions(view: ReleaseView) -> list[Asked]:
    """The worst questions about the bundled collection, each without its target."""
    names = [str(each) for each in view.workloads if each.collection == "bundled"]
    # Patterns that stand for the same workloads, so that each is a pool of its own.
    patterns = [f"bundled/digits/{'mlp_64'[:n]}*{'mlp_64'[m:]}/*" for n in range(7) for m in range(n, 7)][:20]
    every: dict[str, Any] = {"workload": names, "metric": METRIC}
    return [
        ("/v1/analysis/quality", every),
        ("/v1/analysis/critical-batch-size", every),
        ("/v1/analysis/compare", every),
        ("/v1/metaparameters", {**every, "within": 1000}),
        ("/v1/targets", {**every, "target_min": 0.02, "n_targets": 1000}),
        ("/v1/scaling", {**every, "workload": patterns, "crossing": "sustained"}),
        ("/v1/targets", {**every, "workload": patterns, "target_min": 0.02, "n_targets": 1000}),
        ("/v1/analysis/target-sweep", every),
    ]


def within(view: ReleaseView, question: Asked) -> Asked:
    """The same question about as many workloads as the process of the service answers itself."""
    path, given = question
    (asked,) = [each for each in QUESTIONS if each.path == path]
    names, limit = [*given["workload"]], Settings.model_fields["expensive_seconds"].default
    for count in range(len(names), 0, -1):
        parameters: Any = read_query(
            urlencode({**given, "workload": names[:count]}, doseq=True).encode(), asked.parameters
        )
        if seconds_of(view, asked.cost(parameters), parameters) < limit:
            return path, {**given, "workload": names[:count]}
    return SCALING_OF_ONE


def path_of(question: Asked, number: int) -> str:
    """The path of a question that is in no cache."""
    path, given = question
    target = {"target_max" if "targets" in path else "target": 0.2 + number * 1e-6}
    if path.endswith(("quality", "target-sweep")):
        target = {"trials": 60_000 + number}
    return f"{path}?{urlencode({**given, **target}, doseq=True)}"


@pytest.mark.parametrize("which", ["worst questions", "questions just within the limit of expensive ones"])
def test_16_clients_of_expensive_questions(archive: Path, tmp_path: Path, which: str) -> None:
    lake = Lake.create(tmp_path / "lake")
    for source in (archive, BUNDLED):
        ingest(lake, [source])
    view = Releases(lake).view()
    worst, numbers, statuses = questions(view), itertools.count(), Counter[int]()
    if "within" in which:
        worst = [within(view, each) for each in worst]
    over, uncached = threading.Event(), list[float]()

    def attack(running: Running, client: int) -> None:
        address = {"X-Forwarded-For": f"203.0.113.{client}"}
        with httpx.Client(base_url=running.url, timeout=SECONDS_OF_ATTACK, headers=address) as session:
            while not over.is_set():
                with suppress(httpx.TimeoutException):
                    number = next(numbers)
                    response = session.get(path_of(worst[number % len(worst)], number))
                    statuses[response.status_code] += 1
                    over.wait(min(float(response.headers.get("retry-after", 0)), 0.5))

    def ask(running: Running) -> None:
        with httpx.Client(base_url=running.url, timeout=60, headers={"X-Forwarded-For": ADDRESS}) as session:
            while not over.wait(0.02):
                began = time.perf_counter()
                answer = session.get(f"{SCALING}{len(uncached):09d}")
                uncached.append(time.perf_counter() - began)
                assert answer.status_code == 200

    with served(tmp_path / "served", lake=str(lake.folder), **PROXIED) as running:
        wait_until_ready(running)
        with neighbours(running, f"{N_CLIENTS} clients of {which}") as seen:
            with ThreadPoolExecutor(N_CLIENTS + 1) as pool:
                attacks = [pool.submit(attack, running, client) for client in range(N_CLIENTS)]
                attacks.append(pool.submit(ask, running))
                time.sleep(SECONDS_OF_ATTACK)
                over.set()
            for each in attacks:
                each.result()
        assert not [line for line in running.errors if "Traceback" in line]
    uncached.sort()
    shown = "/".join(f"{uncached[int(part * (len(uncached) - 1))] * 1000:.0f}" for part in (0.5, 0.99, 1))
    print(f"uncached /v1/scaling {shown} ms of {len(uncached)}; their answers: {dict(statuses)}")
    assert not seen.failures
    assert set(statuses) <= {200, 422, 429, 503}
    for path in (SCALING, HEALTH):
        assert seen.quantile(path, 0.99) < LONGEST_S
    assert uncached[int(0.99 * (len(uncached) - 1))] < LONGEST_S

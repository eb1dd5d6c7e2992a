"""Over HTTP, every workload of the bundled data is answered as plain Python answers from the archive's CSV."""

from __future__ import annotations

import csv
import io
import json
import random
import tarfile
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from tests.applications import without_sql
from tests.bundled import ARCHIVE

TARGETS = 12
SOME = ("mlp_16/nesterov_momentum",)  # the first in the archive
METRICS = (
    "val/classification_error",
    "val/cross_entropy_error",
    "test/classification_error",
    "train/cross_entropy_error",
)


@dataclass
class PlainTrial:
    """A trial as its two files say."""

    status: str = ""
    parameters: dict[str, float] = field(default_factory=dict)
    rows: list[dict[str, float]] = field(default_factory=list)


Workloads = dict[str, dict[int, dict[int, PlainTrial]]]


def read_archive(workloads: Collection[str]) -> Workloads:
    """Workload -> batch size -> trial id -> trial, with nothing but the standard library. No workloads: all of them."""
    found: Workloads = defaultdict(lambda: defaultdict(lambda: defaultdict(PlainTrial)))
    with tarfile.open(ARCHIVE) as archive:
        for entry in archive:
            if not entry.isfile() or entry.name.endswith("study.json"):
                continue
            _, dataset, model, optimizer, batch_size, trial_id, name = entry.name.split("/")
            if workloads and f"{model}/{optimizer}" not in workloads:
                if len(found) == len(workloads):
                    break  # the files of a workload follow each other
                continue
            content = archive.extractfile(entry)
            assert content is not None
            trial = found[f"bundled/{dataset}/{model}/{optimizer}"][int(batch_size)][int(trial_id)]
            text = content.read().decode()
            if name == "metadata.json":
                description = json.loads(text)
                trial.status, trial.parameters = description["status"], description["parameters"]
            else:
                header, *rows = csv.reader(io.StringIO(text))
                asked = [(name, header.index(name)) for name in ("step", *METRICS)]
                trial.rows = [{name: float(row[at]) for name, at in asked} for row in rows]
    return found


def plain_scaling(studies: dict[int, dict[int, PlainTrial]], metric: str, target: float) -> list[dict[str, object]]:
    """The rows of /v1/scaling, by brute force: METHODS 1.1."""
    rows: list[dict[str, object]] = []
    for batch_size in sorted(studies):
        complete = {i: t for i, t in sorted(studies[batch_size].items()) if t.status == "COMPLETE"}
        hits = []
        for trial_id, trial in complete.items():
            for at, row in enumerate(trial.rows):
                if row[metric] < target:
                    previous = int(trial.rows[at - 1]["step"]) if at else None
                    hits.append((int(row["step"]), trial_id, row[metric], previous))
                    break
        steps, trial_id, value, previous = min(hits) if hits else (None, None, None, None)  # type: ignore[assignment]
        best = min((row[metric] for t in complete.values() for row in t.rows), default=None)
        runner_up = sorted(hits)[1][0] if len(hits) > 1 else None
        last = max((int(t.rows[-1]["step"]) for t in complete.values() if t.rows), default=None)
        rows.append(
            {
                "batch_size": batch_size,
                "steps": steps,
                "trial_id": trial_id,
                "value": value,
                "examples": steps * batch_size if steps is not None else None,
                "previous_step": previous,
                "n_trials": len(complete),
                "n_reached": len(hits),
                "best_value": best,
                "perfect_scaling_steps": None,
                "resolution": (steps - previous) / steps if steps and previous is not None else None,
                "censored_at": last if steps is None else None,
                "gap": best - target if steps is None and best is not None else None,
                "runner_up_steps": runner_up,
                "runner_up_ratio": runner_up / steps if runner_up is not None and steps else None,
            }
        )
    first = next((row for row in rows if row["steps"] is not None), None)
    for answered in rows:
        if first is not None:
            answered["perfect_scaling_steps"] = first["steps"] * first["batch_size"] / answered["batch_size"]  # type: ignore[operator]
    return rows


# Two workloads in `make test`, all in `make slow`.
@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.slow)])
def archive(request: pytest.FixtureRequest) -> Workloads:
    return read_archive(SOME if request.param == "some" else ())


@pytest.fixture(scope="module")
def client(bundled: Lake) -> Iterator[TestClient]:
    with TestClient(without_sql(bundled)) as opened:
        yield opened


def test_scaling_equals_brute_force_for_every_workload_and_random_targets(
    archive: Workloads, client: TestClient
) -> None:
    chance = random.Random(20190807)
    assert len(archive) == len(SOME) or len(archive) >= 8
    reached = unreached = 0
    for workload, studies in archive.items():
        for _ in range(TARGETS):
            metric = chance.choice(METRICS)
            target = chance.uniform(0.005, 0.4) if chance.random() < 0.7 else chance.choice([0.05, 0.1, 0.2])
            answer = client.get("/v1/scaling", params={"workload": workload, "metric": metric, "target": repr(target)})
            assert answer.status_code == 200
            rows = answer.json()["rows"]
            assert {(row["workload"], row["normalized_steps"]) for row in rows} == {(workload, None)}
            plain = plain_scaling(studies, metric, target)
            # The crossing that later evaluations confirm is tests/losslake/questions/test_scaling_and_steps.py's.
            answered = [{name: row[name] for name in plain[0]} for row in rows]
            assert answered == plain, (workload, metric, target)
            reached += sum(row["steps"] is not None for row in rows)
            unreached += sum(row["steps"] is None for row in rows)
    assert reached > 30 * len(archive)
    assert unreached > 0


def test_the_best_metaparameters_equal_brute_force_for_every_workload(archive: Workloads, client: TestClient) -> None:
    for workload, studies in archive.items():
        asked: dict[str, str | float] = {"workload": workload, "metric": "val/classification_error", "target": 0.05}
        answer = client.get("/v1/analysis/metaparameters", params=asked).json()
        mapped = {(row["batch_size"], row["trial_id"]): row for row in _map(client, asked)}
        assert [row["steps"] for row in answer["rows"]] == [
            row["steps"] for row in plain_scaling(studies, "val/classification_error", 0.05)
        ]
        for row in answer["rows"]:
            trials = studies[row["batch_size"]]
            best = trials[row["trial_id"]].parameters
            assert row["parameters"] == best
            rate = best["learning_rate"] / (1 - best.get("momentum", 0.0))
            assert row["effective_learning_rate"] == pytest.approx(rate)
            near = [trial_id for trial_id in trials if _is_near(mapped[row["batch_size"], trial_id], row["steps"])]
            assert row["n_near_optimal"] == len(near)
            for name, least in row["near_optimal_lower"].items():
                assert least == min(trials[trial_id].parameters[name] for trial_id in near)
        assert [exponent["n_batch_sizes"] for exponent in answer["exponents"]] == [len(studies)]
        assert len(answer["learning_rate_forms"]) == 6


def _map(client: TestClient, asked: dict[str, str | float]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get("/v1/analysis/metaparameter-map", params=asked).json()["rows"]
    return rows


def _is_near(row: dict[str, Any], fewest: int) -> bool:
    return bool(row["outcome"] == "reached" and row["steps"] <= 1.1 * fewest)


def test_regimes_and_critical_batch_sizes_are_consistent(archive: Workloads, client: TestClient) -> None:
    identifiable = 0
    for workload, studies in archive.items():
        asked: dict[str, str | float] = {"workload": workload, "metric": "val/classification_error", "target": 0.05}
        regimes = client.get("/v1/analysis/regimes", params=asked).json()
        plain = plain_scaling(studies, "val/classification_error", 0.05)
        assert [row["steps"] for row in regimes["rows"]] == [row["steps"] for row in plain]
        ends = {point["break_point"]: point for point in regimes["break_points"] if point["variant"] == "as defined"}
        steps = {row["batch_size"]: row["steps"] for row in regimes["rows"] if row["steps"] is not None}
        fewest_examples = min(size * own for size, own in steps.items())
        within = [size for size, own in steps.items() if size * own <= 1.2 * fewest_examples]
        assert ends["perfect_scaling_end"]["batch_size"] == max(within)
        perfect = [row["batch_size"] for row in regimes["rows"] if row["regime"] == "perfect scaling"]
        is_seen = max(within) > 1.2 * min(within)
        worse = {row["batch_size"] for row in regimes["rows"] if row["is_dominated"]}
        assert perfect == [
            size for size in steps if is_seen and min(within) <= size <= max(within) and size not in worse
        ]
        most = ends["max_useful_batch_size"]["batch_size"]
        assert most == min(size for size, own in steps.items() if own <= 1.1 * min(steps.values()))
        answer = client.get("/v1/analysis/critical-batch-size", params={**asked, "optimal_batch_size": 1}).json()
        ours, theirs = answer["estimates"]
        assert ours["identifiable"] == theirs["identifiable"] == (ours["critical_batch_size"] is not None)
        if ours["identifiable"]:
            identifiable += 1
            assert ours["lower"] < ours["critical_batch_size"] < ours["upper"]
            assert ours["e_min"] == pytest.approx(ours["s_min"] * ours["critical_batch_size"])
            assert theirs["critical_batch_size"] == pytest.approx(0.2 * ours["critical_batch_size"] + 1.2)
        else:
            assert answer["warnings"]
    assert identifiable >= min(len(archive), 6)

"""Benchmarks of the published collections: what counts, changes between rounds, and positions as logs state them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from losslake.questions.trials.selection import Goal
from losslake_schema.names import Workload
from studies.reports.benchmarks import Benchmark, logged_position
from studies.reports.transitions import Transition

POOL = Workload("mlperf-training", "imagenet", "resnet", "*")


def benchmark(
    trials: list[dict[str, Any]], rounds: Mapping[str, Mapping[int, int]] | None = None, dominated: int = 0
) -> Benchmark:
    """Return a benchmark of these trials; rounds: steps by batch size."""
    sizes = sorted({trial["batch_size"] for trial in trials})
    rows = [{"batch_size": size, "examples": 1000, "is_dominated": size == dominated} for size in sizes]
    by_round = {
        name: [{"batch_size": size, "steps": count, "resolution": 0.1, "n_trials": 3} for size, count in steps.items()]
        for name, steps in (rounds or {}).items()
    }
    transition = Transition(POOL, rows, {}, {}, {}, None)
    return Benchmark(
        POOL, "val/accuracy", Goal(0.759), "maximize", "images", "", transition, trials, results=[], rounds=by_round
    )


def trial(size: int, submitter: str, status: str = "COMPLETE", of_round: str = "1.0", *also_in: str) -> dict[str, Any]:
    return {"batch_size": size, "submitter": submitter, "status": status, "round": of_round, "also_in": [*also_in]}


@pytest.mark.parametrize(
    ("formula", "steps", "position"),
    [
        ("epoch_num x 1281167 / 64800", 1681, "`epoch_num` 85"),
        ("epoch_num / 16384", 318, "`epoch_num` 5,210,112"),
        ("samples_count / 8", 336, "`samples_count` 2,688"),
        (None, 1276, "`step_num` 1,276"),
    ],
)
def test_a_position_is_what_the_formula_of_the_steps_was_given(formula: str | None, steps: int, position: str) -> None:
    assert logged_position({"position": formula, "steps": steps}) == position


def test_a_change_is_from_the_earliest_to_the_last_round_with_three_batch_sizes_in_common() -> None:
    rounds = {
        "0.7": {8: 100, 16: 50},
        "1.0": {8: 100, 16: 50, 32: 40, 64: 10},
        "2.0": {8: 80, 16: 50, 32: 30},
        "3.0": {8: 50, 16: 50, 32: 44, 128: 1},
        "4.0": {8: 10, 16: 10},
    }
    trials = [trial(8, "a", "COMPLETE", "1.0", "3.0"), trial(64, "a", "COMPLETE", "1.0", "3.0"), trial(8, "a")]
    change = benchmark(trials, rounds).change
    assert change is not None
    assert (change.first, change.last, change.n_trials, change.n_in_both) == ("1.0", "3.0", (9, 9), 1)
    assert change.ratios == pytest.approx([0.5, 1.0, 1.1])
    assert (change.middle, change.spacing) == (1.0, 0.1)
    assert benchmark(trials, {"1.0": {8: 1, 16: 1}, "2.0": {8: 1, 16: 1}}).change is None


def test_batch_sizes_of_one_submitter_and_trials_that_count() -> None:
    trials = [trial(8, "a"), trial(8, "b"), trial(16, "a"), trial(16, "a", "INCOMPLETE"), trial(32, "b", "MISSED")]
    found = benchmark(trials, dominated=8)
    assert found.of_one_submitter == 2
    assert [(row["batch_size"], row["status"]) for row in found.counted_trials] == [(16, "COMPLETE"), (32, "MISSED")]
    assert found.statuses == {"COMPLETE": 3, "INCOMPLETE": 1, "MISSED": 1}

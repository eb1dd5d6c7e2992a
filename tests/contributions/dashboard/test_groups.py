"""Groups of runs, their means, and which runs a query selects."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_contributions.dashboard.groups import group_mean, groups_of
from losslake_contributions.dashboard.query import default_metric, is_seed, matching, per_step, varying
from losslake_contributions.dashboard.runs import LiveRun
from losslake_contributions.dashboard.series import Series

METRIC = "val/loss"


def run(path: str, points: dict[int, float] | None = None, **fields: Any) -> LiveRun:
    steps = sorted(points or {0: 1.0})
    series = Series.of(np.array(steps), np.array([(points or {0: 1.0})[step] for step in steps]))
    return LiveRun(path, path, 0.0, series={METRIC: series}, **fields)


CURVE = st.dictionaries(st.integers(0, 30), st.one_of(st.floats(-5, 5), st.just(math.nan)), min_size=1)


@given(st.lists(CURVE, min_size=1, max_size=4))
def test_mean_is_over_all_runs_at_the_steps_that_all_have(curves: list[dict[int, float]]) -> None:
    mean = group_mean("all", [run(str(at), curve) for at, curve in enumerate(curves)], METRIC, "step")
    finite = [{step: value for step, value in curve.items() if math.isfinite(value)} for curve in curves]
    shared = sorted(set.intersection(*(set(each) for each in finite)))
    assert mean.at.tolist() == shared
    assert bool(mean.why_not) == (not shared)
    for at, step in enumerate(shared):
        values = [each[step] for each in finite]
        expected = sum(values) / len(values)
        assert mean.mean[at] == pytest.approx(expected)
        if len(values) > 1:
            variance = sum((value - expected) ** 2 for value in values) / (len(values) - 1)
            assert mean.deviation[at] == pytest.approx(math.sqrt(variance), abs=1e-9)
        else:
            assert math.isnan(mean.deviation[at])


def test_mean_of_long_runs_is_over_equal_stretches_of_steps() -> None:
    runs = [run("a", dict.fromkeys(range(5000), 1.0)), run("b", dict.fromkeys(range(0, 5000, 10), 3.0))]
    mean = group_mean("all", runs, METRIC, "step")
    assert mean.width == 8
    assert set(mean.mean.tolist()) == {2.0}
    assert mean.at[0] == 3.5


def test_settings_are_all_parameters_but_seeds() -> None:
    runs = [run(f"{lr}-{seed}", parameters={"lr": lr, "seed": seed, "width": 8}) for lr in (0.1, 1) for seed in (1, 2)]
    groups = groups_of(runs, "settings")
    assert {name: [each.path for each in some] for name, some in groups.items()} == {
        "lr 0.1": ["0.1-1", "0.1-2"],
        "lr 1": ["1-1", "1-2"],
    }
    assert list(groups_of(runs, "seed")) == ["seed 1", "seed 2"]
    assert list(groups_of([*runs, run("x")], "lr")) == ["lr 0.1", "lr 1", "no lr"]
    assert groups_of(runs, "") == {}
    assert varying(runs) == ["lr", "seed"]


def test_axis_of_examples_or_tokens_needs_what_the_runs_state() -> None:
    images = run("a", batch_size=64)
    texts = run("b", batch_size=1024, batch_unit="tokens", parameters={"tokens_per_example": 128})
    assert [per_step(images, axis) for axis in ("step", "examples", "tokens", "seconds")] == [1, 64, None, None]
    assert [per_step(texts, axis) for axis in ("examples", "tokens")] == [8, 1024]
    assert per_step(run("c"), "examples") is None
    assert (
        "the steps of its runs aren't the same examples"
        in group_mean("", [images, run("c")], METRIC, "examples").why_not
    )
    assert group_mean("", [images], METRIC, "examples").at.tolist() == [0]
    assert "no seconds in common" in group_mean("", [images], METRIC, "seconds").why_not


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("", ["one", "two"]),
        ("ONE", ["one"]),
        ("lr=0.10", ["one"]),
        ("lr=abc", []),
        ("lr=0.1 two", []),
        ("tag=wide", ["two"]),
        ("wid", ["two"]),
        ("group=b state=running", ["two"]),
        ("opt=Adam", ["one"]),
        ("=", []),
    ],
)
def test_query_selects_runs_by_words_and_values(query: str, paths: list[str]) -> None:
    runs = [
        run("one", parameters={"lr": 0.1, "opt": "adam"}, group="a"),
        run("two", parameters={"lr": 0.2}, group="b", tags=("wide",)),
    ]
    assert [each.path for each in matching(runs, query)] == paths


def test_default_metric_is_a_loss_of_validation() -> None:
    assert default_metric(["train/loss", "val/accuracy", "val/loss"]) == "val/loss"
    assert default_metric(["train/accuracy", "val/accuracy"]) == "val/accuracy"
    assert default_metric([]) is None


@pytest.mark.parametrize("name", ["seed", "Seed", "data_seed", "seed_everything", "seeds", "lr", "speed"])
def test_seeds_are_those_of_the_settings_of_a_lake(name: str) -> None:
    ((is_of_setting,),) = duckdb.execute("SELECT NOT ? ILIKE '%seed%'", [name]).fetchall()
    assert is_seed(name) is not is_of_setting

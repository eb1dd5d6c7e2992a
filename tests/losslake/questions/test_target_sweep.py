"""A sweep says at each target what the answers for that one target say, and where claims hold, exactly."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from losslake.analysis.break_points import max_useful_batch_size, perfect_scaling_end
from losslake.questions import critical_batch_size, target_sweep
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.claims import EVERY_SIZE, FEWEST
from losslake.questions.trials.scaling_curve import scaling_curve
from losslake.questions.trials.search import open_search
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import Workload
from losslake_schema.reached import Comparator
from tests.critical_batch_sizes import PRINTED, zhang_lake
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.made_up_lake import ERROR
from tests.oracle import Row

NAN = math.nan
SELECTED = Selection((WORKLOAD,), METRIC)
GRID: dict[str, Any] = {"target_min": -1.0, "target_max": 1.0, "n_targets": 21, "spacing": "linear"}


@st.composite
def studies(draw: st.DrawFn) -> list[Row]:
    rows = []
    for batch_size in draw(st.sets(st.sampled_from([1, 7, 8, 64]), min_size=1, max_size=3)):
        for trial_id in draw(st.sets(st.integers(0, 5), min_size=1, max_size=3)):
            curve = draw(st.dictionaries(st.integers(0, 9), st.sampled_from([0.1, 0.2, 0.3, 0.9, NAN]), max_size=5))
            rows += [Row(batch_size, trial_id, "COMPLETE", step, curve[step]) for step in sorted(curve)] or [
                Row(batch_size, trial_id, "COMPLETE", None, None)
            ]
    return rows


def assert_is_of_each_target(view: ReleaseView, selection: Selection, comparator: Comparator) -> None:
    answer = answer_to(target_sweep.QUESTION, view, selection, comparator=comparator, **GRID)
    (summary,), found = answer.facts["summaries"], answer.table().to_pylist()
    sign = -1.0 if selection.direction == "maximize" else 1.0
    assert [row["target"] * sign for row in found] == sorted((row["target"] * sign for row in found), reverse=True)
    every_size: list[dict[str, float]] = next(
        (claim["intervals"] for claim in answer.facts["claims"] if claim["claim"] == EVERY_SIZE), []
    )
    for row in found:
        curve = scaling_curve(open_search(view, selection, WORKLOAD), Goal(row["target"], comparator))
        is_reached, sizes, steps = curve.is_reached, curve.batch_sizes, curve.steps
        assert row["coverage"] == is_reached.mean()
        assert row["fewest_steps"] == (steps.min() if is_reached.any() else None)
        assert row["fewest_examples"] == ((steps * sizes).min() if is_reached.any() else None)
        assert row["critical_batch_size"] is None
        if (steps > 0).all():
            end = perfect_scaling_end(sizes, steps, censored_at=curve.censored_at)
            is_open = end.lower is None and end.upper is None
            assert row["perfect_scaling_end"] == (None if is_open else end.batch_size)
            assert row["max_useful_batch_size"] == max_useful_batch_size(sizes, steps).batch_size
        loss = row["target"] * sign
        bounds = [
            (each["hardest"] * sign, math.inf if each["easiest"] is None else each["easiest"] * sign)
            for each in every_size
        ]
        holds = any(low < loss <= high if comparator == "strict" else low <= loss < high for low, high in bounds)
        assert holds == bool(is_reached.all())
    if summary["hardest_for_all"] is not None:
        assert every_size == [{"hardest": summary["hardest_for_all"], "easiest": None}]


@given(studies(), st.sampled_from(["strict", "inclusive"]), st.sampled_from(["minimize", "maximize"]))
@settings(max_examples=settings().max_examples // 2)
def test_each_target_is_answered_as_by_itself(rows: list[Row], comparator: Comparator, direction: str) -> None:
    assert_is_of_each_target(view_of(rows, direction), Selection((WORKLOAD,), METRIC, direction), comparator)


def hyperbola(bend: float, step: int = 0) -> list[Row]:
    """Trials that reach 0.5 after 1000 (1 + bend/B) steps, and 0.25 after twice as many."""
    return [
        Row(size, 1, "COMPLETE", round(at * 1000 * (1 + bend / size)) + step, value)
        for size in (2, 8, 32, 128, 512)
        for at, value in ((0, 0.9), (0.99, 0.9), (1, 0.4), (1.98, 0.4), (2, 0.2))
    ]


def test_the_critical_batch_size_is_that_of_the_fit_at_each_target() -> None:
    answer = answer_to(target_sweep.QUESTION, view_of(hyperbola(32.0)), SELECTED)
    found = answer.table().to_pylist()
    assert [row["target"] for row in found] == [0.9, 0.4]
    for row, at in zip(found, (1, 2), strict=True):
        assert row["critical_batch_size"] == pytest.approx(32.0, rel=1e-2)
        assert row["s_min"] == pytest.approx(1000 * at, rel=1e-2)
        assert row["not_identifiable"] is None
        assert row["critical_batch_size_lower"] < 32 < row["critical_batch_size_upper"]


@pytest.mark.parametrize(("factor", "words"), [(4.0, "depends on the target"), (1.7, "than their intervals allow")])
def test_a_critical_batch_size_depends_on_the_target_only_where_intervals_are_disjoint(
    factor: float, words: str
) -> None:
    """Two bends; with noise of a factor of 1.2, which evaluations explain, the interval of either holds the other."""
    before = 0.7 if factor < 2 else 0.99
    noise = {2: 1.2, 8: 1 / 1.2, 32: 1.2, 128: 1 / 1.2, 512: 1.2} if factor < 2 else {}
    rows = [
        Row(size, 1, "COMPLETE", round(at * 1000 * noise.get(size, 1.0) * (1 + bend / size)), value)
        for size in (2, 8, 32, 128, 512)
        for at, bend, value in (
            (0, 32, 0.9),
            (before, 32, 0.9),
            (1, 32, 0.4),
            (3 * before, 32 * factor, 0.4),
            (3, 32 * factor, 0.2),
        )
    ]
    found = answer_to(target_sweep.QUESTION, view_of(rows), SELECTED)
    (text,) = [each for each in found.facts["warnings"] if "-fold" in each]
    assert words in text


def test_targets_reached_by_very_unequal_searches_have_no_critical_batch_size() -> None:
    """At the smallest batch size two trials more, which reach the targets later."""
    more = [Row(2, trial, "COMPLETE", step, value) for trial in (8, 9) for step, value in ((0, 0.9), (10**6, 0.2))]
    answer = answer_to(target_sweep.QUESTION, view_of([*hyperbola(32.0), *more]), SELECTED)
    found = answer.table().to_pylist()
    names = ("critical_batch_size", "critical_batch_size_lower", "critical_batch_size_upper")
    assert {row[name] for row in found for name in names} == {None}
    assert {row["not_identifiable"] for row in found} == {"too unequal"}


def test_a_sweep_without_a_bend_says_why_there_is_no_critical_batch_size() -> None:
    answer = answer_to(target_sweep.QUESTION, view_of(hyperbola(1e6)), SELECTED)
    assert {row["not_identifiable"] for row in answer.table().to_pylist()} == {"no bend"}
    assert answer.facts["left_out"] == [f"{WORKLOAD}: no critical batch size at 2 of 2 targets: no bend"]


def test_workloads_are_ranked_at_the_batch_sizes_that_all_have() -> None:
    rows = [*(Row(1, 1, "COMPLETE", step, 0.5 / (1 + step)) for step in range(3)), Row(512, 1, "COMPLETE", 0, 0.1)]
    answer = answer_to(
        target_sweep.QUESTION,
        view_of(rows),
        Selection((WORKLOAD, OTHER), METRIC),
        target_min=0.2,
        target_max=0.3,
        n_targets=2,
        spacing="linear",
    )
    found = answer.table().to_pylist()
    assert [(row["mean_rank"], row["n_fewest"], row["n_compared"]) for row in found] == [(2, 0, 1)] * 2 + [
        (1, 1, 1)
    ] * 2
    (fewest,) = (c for c in answer.facts["claims"] if c["claim"] == FEWEST and c["workload"] == str(OTHER))
    assert fewest["intervals"] == [{"hardest": 0.0, "easiest": None}]


def test_without_values_there_are_no_targets() -> None:
    answer = answer_to(target_sweep.QUESTION, view_of([Row(8, 1, "COMPLETE", 0, NAN)]), SELECTED)
    assert answer.table().num_rows == 0
    assert answer.facts["summaries"][0]["hardest_for_any"] is None
    assert answer.facts["claims"] == []
    assert any("batch size 8 has no finite value" in text for text in answer.facts["warnings"])


@pytest.mark.parametrize(("name", "value"), [("n_targets", 201), ("n_targets", 0), ("target_min", 1.0)])
def test_bad_grid_is_refused(name: str, value: float) -> None:
    ends: dict[str, Any] = {"target_min": 1.0, "target_max": 0.0} if name == "target_min" else {"n_targets": value}
    with pytest.raises((BadParameter, ValidationError), match=name):
        answer_to(target_sweep.QUESTION, view_of([]), SELECTED, **ends)


def test_over_http_targets_are_chosen_between_the_ends_that_are_given(client: TestClient) -> None:
    asked = {"workload": "shelf/deep/mnist/cnn/sgd", "metric": ERROR, "target_max": "0.3"}
    targets = [row["target"] for row in client.get("/v1/analysis/target-sweep", params=asked).json()["rows"]]
    assert targets == [0.3, 0.2]


def test_steps_of_points_of_convergence_count_as_exact(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Otherwise all nine batch sizes of the models of Zhang et al. 2024 would reach the target too soon to tell."""
    lake = zhang_lake(tmp_path_factory)
    view = ReleaseView.open(lake, lake.release())
    for name, *_ in PRINTED.values():
        selection = Selection((Workload("critical-batch-size", "c4", name, "adamw"),), "val/converged")
        answer = answer_to(target_sweep.QUESTION, view, selection)
        (row,) = answer.table().to_pylist()
        at_goal: dict[str, Any] = {"target": 1.0, "comparator": "inclusive"}
        expected, _ = answer_to(critical_batch_size.QUESTION, view, selection, **at_goal).table().to_pylist()
        assert row["critical_batch_size"] == pytest.approx(expected["critical_batch_size"], rel=1e-9)
        assert any("count as exact" in text for text in answer.facts["warnings"])

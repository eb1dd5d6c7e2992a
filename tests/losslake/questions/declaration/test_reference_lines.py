"""References beside an answer: the median of what a plain loop finds, of their own goal."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.figures.charts.scaling import scaling_chart
from losslake.figures.panel import Panel
from losslake.questions import scaling
from losslake.questions.declaration.reference_lines import reference_of
from losslake.questions.release.errors import BadParameter, UnknownName
from losslake_schema.names import Workload
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, view_of
from tests.oracle import Row

GOAL = 0.25
trials = st.dictionaries(
    st.tuples(st.sampled_from([8, 16, 64]), st.integers(1, 4)),
    st.tuples(st.integers(0, 50), st.sampled_from([0.1, 0.25, 0.5]), st.sampled_from(["COMPLETE", "INCOMPLETE"])),
    min_size=1,
)


def parameters_of(*references: str, **more: object) -> scaling.ScalingParameters:
    given = {"workload": [str(OTHER)], "metric": METRIC, "target": 0.3, "reference": list(references), **more}
    return scaling.ScalingParameters.model_validate(given)


@given(trials, st.sampled_from([str(WORKLOAD), f"{WORKLOAD.collection}/mnist/cnn/s*"]))
@settings(max_examples=settings().max_examples // 2)
def test_points_are_medians_of_a_plain_loop(
    made: dict[tuple[int, int], tuple[int, float, str]], reference: str
) -> None:
    rows = [Row(size, trial, status, step, value) for (size, trial), (step, value, status) in sorted(made.items())]
    view = view_of(rows, goal=GOAL, of_other=[Row(8, 1, "COMPLETE", 5, 0.1)])
    points = scaling.QUESTION.answer(view, parameters_of(reference)).facts["reference"]
    assert [point["batch_size"] for point in points] == sorted({size for size, _ in made})
    for point in points:
        assert (point["workload"], point["metric"], point["target"]) == (reference, METRIC, GOAL)
        steps = [
            step if value < GOAL else float("inf")
            for (size, _), (step, value, status) in made.items()
            if size == point["batch_size"] and status == "COMPLETE"
        ]
        median = statistics.median(steps) if steps else float("inf")
        assert point["n_trials"] == len(steps)
        assert point["n_reached"] == sum(step < float("inf") for step in steps)
        assert point["median_steps"] == (median if median < float("inf") else None)


def test_a_reference_changes_no_row_and_none_is_there_without() -> None:
    view = view_of([Row(8, 1, "COMPLETE", 5, 0.1)], goal=GOAL, of_other=[Row(8, 1, "COMPLETE", 7, 0.1)])
    plain, beside = (
        scaling.QUESTION.answer(view, parameters_of()),
        scaling.QUESTION.answer(view, parameters_of(str(WORKLOAD), str(WORKLOAD))),
    )
    assert plain.facts["reference"] == []
    assert len(beside.facts["reference"]) == 1
    assert plain.table() == beside.table()


@pytest.mark.parametrize(
    ("reference", "error", "message"),
    [
        (str(OTHER), BadParameter, "has no goal: give a reference that has one"),
        ("a/b", BadParameter, "'a/b' is not a workload"),
        ("no/such/work/load", UnknownName, "no workload 'no/such/work/load'"),
    ],
)
def test_a_reference_without_a_goal_or_a_workload_is_refused(
    reference: str, error: type[Exception], message: str
) -> None:
    view = view_of([Row(8, 1, "COMPLETE", 5, 0.1)], goal=GOAL, of_other=[Row(8, 1, "COMPLETE", 7, 0.1)])
    with pytest.raises(error, match=message):
        scaling.QUESTION.answer(view, parameters_of(reference))


def test_reference_runs_have_a_metric_of_their_own() -> None:
    view = view_of([Row(8, 1, "COMPLETE", 5, 0.1)])
    assert reference_of(view, Workload("elsewhere", "mnist", "cnn", "sgd")) is None


def test_a_reference_is_drawn_as_squares_beside_the_series() -> None:
    point = {"workload": "a/b/c/d", "batch_size": 8, "median_steps": 5.0, "n_trials": 3, "n_reached": 2}
    layers = [
        layer for layer in scaling_chart([], Panel(), references=[point]).layers if layer.mark.get("shape") == "square"
    ]
    assert [row["reached"] for layer in layers for row in layer.rows] == ["2 of 3 runs"]

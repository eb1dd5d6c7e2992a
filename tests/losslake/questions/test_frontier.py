"""The frontier equals one computed evaluation by evaluation, and SQL gives the same rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.questions import frontier
from losslake.questions.release.errors import BadParameter, UnknownName
from losslake.questions.release.view import ReleaseView
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, view_of
from tests.oracle import Row

Key = tuple[str, int, int, int]


def frontier_of(view: ReleaseView, **parameters: Any) -> list[dict[str, Any]]:
    given_ones = {"workload": [str(WORKLOAD)], "metric": METRIC, **parameters}
    rows: list[dict[str, Any]] = (
        frontier.QUESTION.answer(view, frontier.FrontierParameters.model_validate(given_ones)).table().to_pylist()
    )
    return rows


def flags_of(rows: Sequence[dict[str, Any]]) -> dict[Key, tuple[float, float, bool, bool]]:
    return {
        (row["workload"], row["batch_size"], row["trial_id"], row["step"]): (
            row["amount"], row["value"], row["is_best"], row["is_on_front"]
        )
        for row in rows
    }  # fmt: skip


def expected(rows: Sequence[tuple[str, Row]], measure: str) -> dict[Key, tuple[float, float, bool, bool]]:
    """By comparing each evaluation with every other one; only improvements of a trial can be on the front."""
    points = []
    for workload, row in rows:
        if row.status != "COMPLETE" or row.step is None or row.value is None or not math.isfinite(row.value):
            continue
        amounts = {"steps": row.step, "examples": row.step * row.batch_size, "seconds": row.elapsed_s}
        amount = amounts[measure]
        earlier = [
            other.value
            for name, other in rows
            if (name, other.batch_size, other.trial_id) == (workload, row.batch_size, row.trial_id)
            and other.step is not None
            and other.step < row.step
            and other.value is not None
            and math.isfinite(other.value)
        ]
        if all(row.value < value for value in earlier):
            points.append(((workload, row.batch_size, row.trial_id, row.step), amount, row.value))
    found = {}
    for key, amount, value in points:
        is_best = not any(k[:3] == key[:3] and v < value for k, _, v in points)
        if amount is None or not math.isfinite(amount):
            continue
        is_on_front = not any(
            a is not None and a <= amount and v <= value and (a < amount or v < value) for _, a, v in points
        )
        if is_best or is_on_front:
            found[key] = (float(amount), value, is_best, is_on_front)
    return found


VALUES = st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.9, math.nan, math.inf])
CURVES = st.dictionaries(
    st.tuples(st.sampled_from([1, 2, 8]), st.integers(1, 3)),
    st.tuples(
        st.sampled_from(["COMPLETE", "COMPLETE", "INFEASIBLE"]),
        st.dictionaries(st.sampled_from([0, 1, 2, 4, 8]), st.tuples(VALUES, st.sampled_from([None, 0.5])), min_size=1),
    ),
    min_size=1,
    max_size=6,
)


def rows_of(curves: Any) -> list[Row]:
    return [
        Row(size, trial, status, step, value, None if rate is None else step * rate)
        for (size, trial), (status, points) in curves.items()
        for step, (value, rate) in sorted(points.items())
    ]


@given(curves=CURVES, others=CURVES, measure=st.sampled_from(["steps", "examples", "seconds"]))
def test_frontier_is_that_of_every_pair_of_evaluations(curves: Any, others: Any, measure: str) -> None:
    ours, theirs = rows_of(curves), rows_of(others)
    view = view_of(ours, of_other=theirs)
    decoys = [Row(b, t, "COMPLETE", 0, 0.0) for b in (1, 7) for t in (1, 2, 3)]
    workloads = {str(WORKLOAD): ours, str(OTHER): theirs, "tests/rows/mnist/cnn/zeta": decoys}
    wanted = expected([(name, row) for name, rows in workloads.items() for row in rows], measure)
    try:
        found = flags_of(frontier_of(view, workload=["tests/rows/mnist/cnn/*"], measure=measure))
    except BadParameter:
        found = {}
    assert found == wanted


def test_budget_ends_curves() -> None:
    rows = [Row(8, 1, "COMPLETE", step, value) for step, value in ((1, 0.5), (2, 0.4), (3, 0.1))]
    assert [(row["step"], row["is_best"]) for row in frontier_of(view_of(rows), step_budget=2)] == [
        (1, False),
        (2, True),
    ]


def test_pattern_stands_for_its_workloads_and_says_which_are_left_out() -> None:
    rows = [Row(8, 1, "COMPLETE", step, 0.5 / step, 0.1 * step) for step in (1, 2)]
    view = view_of(rows, of_other=[Row(8, 1, "COMPLETE", 1, 0.4)])
    parameters = {"workload": ["*/mnist/cnn/*"], "metric": METRIC, "measure": "seconds"}
    answer = frontier.QUESTION.answer(view, frontier.FrontierParameters.model_validate(parameters))
    assert {row["workload"] for row in answer.table().to_pylist()} == {str(WORKLOAD)}
    assert any(f"{OTHER} have no times" in text for text in answer.facts["left_out"])


def test_a_measure_that_no_workload_has_is_refused_for_all_of_them() -> None:
    rows = [Row(8, 1, "COMPLETE", 1, 0.4)]
    with pytest.raises(BadParameter, match="none of 3 workloads can be counted in seconds, as this one: the logs of"):
        frontier_of(view_of(rows, of_other=rows), workload=["*/mnist/cnn/*"], measure="seconds")


def test_times_that_run_backwards_are_said() -> None:
    rows = [Row(8, 1, "COMPLETE", 1, 0.5, 9.0), Row(8, 1, "COMPLETE", 2, 0.4, 3.0), Row(8, 2, "COMPLETE", 1, 0.6, 1.0)]
    for measure, n_said in (("seconds", 1), ("steps", 0)):
        parameters = {"workload": [str(WORKLOAD)], "metric": METRIC, "measure": measure}
        answer = frontier.QUESTION.answer(view_of(rows), frontier.FrontierParameters.model_validate(parameters))
        said = [text for text in answer.facts["warnings"] if "in 1 of the trials, an evaluation has an earlier" in text]
        assert len(said) == n_said


def test_losses_of_several_models_do_not_compare() -> None:
    parameters = frontier.FrontierParameters(workload=[str(WORKLOAD)], metric="val/loss")
    for models, is_said in ((["cnn"], False), (["cnn", "vae"], True)):
        said = [text for text in frontier._warnings(parameters, models) if "own training objective" in text]
        assert bool(said) == is_said


def test_unlike_batch_sizes_are_not_counted_together_in_examples() -> None:
    rows = [Row(8, 1, "COMPLETE", 1, 0.5)]
    view = view_of(rows, of_other=rows, batch_units={WORKLOAD: "tokens", OTHER: "examples"})
    both = [str(WORKLOAD), str(OTHER)]
    assert len(frontier_of(view, workload=both)) == 2
    with pytest.raises(BadParameter, match="batch sizes count examples and tokens, which can't be compared"):
        frontier_of(view, workload=both, measure="examples")


def test_metric_that_no_workload_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no metric 'val/nothing'"):
        frontier_of(view_of([Row(8, 1, "COMPLETE", 1, 0.5)]), metric="val/nothing")

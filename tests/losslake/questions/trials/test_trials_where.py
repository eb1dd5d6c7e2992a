"""A question about trials with a metaparameter or fact is one about a release that has no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.questions import (
    best,
    compare,
    critical_batch_size,
    metaparameters,
    quality,
    regimes,
    scaling,
    steps_to_target,
    target_sweep,
    tuning_budget,
)
from losslake.questions.declaration.question import Question
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from losslake.questions.trials.trials_where import facts_of_trials, trials_where
from tests.losslake.questions.test_time_cost import timed_rows
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Row

ROWS = [
    row
    for size, trial, steps in ((8, 1, 80), (8, 2, 60), (16, 1, 40), (16, 2, 20), (16, 3, 30))
    for row in (Row(size, trial, "COMPLETE", 0, 0.9), Row(size, trial, "COMPLETE", steps, 0.1 * trial))
]
GOAL = Goal(0.5)


def rates(batch_size: int, trial_id: int) -> Mapping[str, float]:
    return {"rate": 0.1 * (trial_id % 2), "size": float(batch_size)}


def selected(*where: str, **others: Any) -> Selection:
    return Selection((WORKLOAD,), METRIC, where=where, **others)


def rows_of(question: Question, rows: Sequence[Row], where: Sequence[str], **others: Any) -> list[dict[str, Any]]:
    return rows_from(view_of(rows, parameters=rates), question, where, **others)


def rows_from(view: ReleaseView, question: Question, where: Sequence[str], **others: Any) -> list[dict[str, Any]]:
    parameters = {"workload": [str(WORKLOAD)], "metric": METRIC, "where": list(where), **others}
    answered: list[dict[str, Any]] = (
        question.answer(view, question.parameters.model_validate(parameters)).table().to_pylist()
    )
    return answered


@given(timed_rows(), st.sampled_from([{}, {"trials": 2}, {"step_budget": 5}, {"status": ["COMPLETE", "INCOMPLETE"]}]))
def test_answers_are_those_of_a_release_without_the_other_trials(rows: list[Row], others: Mapping[str, Any]) -> None:
    chosen = [row for row in rows if row.trial_id % 2]
    if not chosen:
        return
    sizes = {row.batch_size for row in chosen}
    whole, part = view_of(rows, parameters=rates), view_of(chosen, parameters=rates)
    for question, goal in (
        (scaling.QUESTION, {"target": 0.5}),
        (best.QUESTION, {}),
        (steps_to_target.QUESTION, {"target": 0.5}),
    ):
        filtered = rows_from(whole, question, ["rate=0.1"], **others, **goal)
        alone = rows_from(part, question, [], **others, **goal)
        assert [row for row in filtered if row["batch_size"] in sizes] == alone


def test_a_batch_size_without_such_trials_is_not_in_the_answer() -> None:
    rows = rows_of(scaling.QUESTION, ROWS, ["size=8"], target=0.5)
    assert [(row["batch_size"], row["steps"], row["n_trials"]) for row in rows] == [(8, 60, 2)]


@pytest.mark.parametrize("spelling", ["0.1", "0.10", "1e-1", "+.1"])
def test_a_number_equals_any_spelling_of_it(spelling: str) -> None:
    view = view_of(ROWS, parameters=rates)
    assert trials_where(view, view.workload(WORKLOAD), (f"rate={spelling}",)).tolist() == [
        True,
        False,
        True,
        False,
        True,
    ]


def test_a_text_is_compared_as_it_is() -> None:
    attributes = {"round": '"1.0"', "layers": "[1, 2]", "org": '"a=b & <c>"'}
    view = view_of(ROWS, attributes=attributes)
    facts = view.workload(WORKLOAD)
    for condition in ("round=1.0", "layers=[1, 2]", "org=a=b & <c>"):
        assert trials_where(view, facts, (condition,)).all()
    with pytest.raises(BadParameter, match=r"values of round are: 1\.0"):
        trials_where(view, facts, ("round=1",))
    assert facts_of_trials(view, facts, "org") == {"a=b & <c>": 5}


def test_all_conditions_have_to_hold() -> None:
    (row,) = rows_of(scaling.QUESTION, ROWS, ["rate=0.1", "size=8"], target=0.5)
    assert (row["batch_size"], row["trial_id"], row["n_trials"]) == (8, 1, 1)


@pytest.mark.parametrize(
    "where",
    [(), ("rate=0",), ("rate=0", "rate=0.1"), ("size=8", "size=16", "rate=0.1"), ("size=16", "rate=0", "rate=0")],
)
def test_one_value_of_each_name_has_to_hold(where: tuple[str, ...]) -> None:
    names = {condition.partition("=")[0] for condition in where}
    trials = sorted({(row.batch_size, row.trial_id) for row in ROWS})
    expected = [
        all(any(f"{name}={rates(*trial)[name]:g}" == each for each in where) for name in names) for trial in trials
    ]
    view = view_of(ROWS, parameters=rates)
    assert trials_where(view, view.workload(WORKLOAD), where).tolist() == expected


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("rate", "give NAME=VALUE"),
        ("=1", "give NAME=VALUE"),
        ("rate=", "give NAME=VALUE"),
        ("rat=0.1", "say nothing about 'rat'; similar names are: rate"),
        ("rate=0.3", "values of rate are: 0, 0.1"),
        ("rate=nan", "no trial of .* has that value"),
    ],
)
def test_what_no_trial_has_is_refused_with_what_there_is(where: str, why: str) -> None:
    with pytest.raises(BadParameter, match=why):
        rows_of(scaling.QUESTION, ROWS, [where], target=0.5)


def test_answer_says_what_it_leaves_out() -> None:
    answer = answer_to(scaling.QUESTION, view_of(ROWS, parameters=rates), selected(), GOAL, where=["rate=0.1"])
    assert answer.facts["where"] == ["rate=0.1"]
    assert answer.facts["left_out"] == [f"{WORKLOAD}: 2 trials other than rate=0.1"]


@pytest.mark.parametrize(
    "question", [target_sweep.QUESTION, regimes.QUESTION, critical_batch_size.QUESTION, tuning_budget.QUESTION]
)
def test_analyses_count_only_such_trials(question: Question) -> None:
    goal = {} if question is target_sweep.QUESTION else {"target": 0.5}
    chosen = [row for row in ROWS if row.trial_id % 2]
    assert rows_of(question, ROWS, ["rate=0.1"], **goal) == rows_of(question, chosen, [], **goal)


@pytest.mark.parametrize("question", [quality.QUESTION, compare.QUESTION, metaparameters.QUESTION])
def test_analyses_of_whole_searches_refuse_a_part_of_one(question: Question) -> None:
    goal = {} if question is quality.QUESTION else {"target": 0.5}
    with pytest.raises(BadParameter, match="about all trials of a workload: leave out where="):
        rows_of(question, ROWS, ["rate=0.1"], **goal)


def test_a_pool_chooses_among_the_trials_of_its_members() -> None:
    view = view_of(ROWS, of_other=ROWS, parameters=rates)
    pattern = [f"{WORKLOAD.collection}/{WORKLOAD.dataset}/{WORKLOAD.model}/*"]
    parameters = {"workload": pattern, "metric": METRIC, "target": 0.5, "where": ["rate=0"]}
    rows = scaling.QUESTION.answer(view, scaling.ScalingParameters.model_validate(parameters)).table().to_pylist()
    found = {row["batch_size"]: (row["steps"], row["n_trials"]) for row in rows if row["n_trials"]}
    assert {found[8], found[16]} == {(60, 2), (20, 2)}
    assert OTHER.optimizer != WORKLOAD.optimizer


def test_a_name_that_no_log_has_runs_no_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    view = view_of(ROWS, parameters=rates)
    assert set(view.metaparameters()) == {"rate", "size"}
    monkeypatch.setattr(view, "table", None)
    assert facts_of_trials(view, view.workloads[WORKLOAD], "org") == {}
    with pytest.raises(BadParameter, match="say nothing about 'org'"):
        trials_where(view, view.workloads[WORKLOAD], ("org=NVIDIA",))

"""Questions count the examples of trials whose batch size changes, or leave them out and say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import losslake
from losslake.questions.declaration.parameters import PageParameters
from losslake.questions.declaration.question import Question
from losslake.questions.lists.lists import ListRequest
from losslake.questions.questions import QUESTIONS
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from tests.scheduled_lake import (
    EPOCH,
    METRIC,
    SCHEDULED,
    SECONDS,
    THREE,
    WORKLOAD,
    examples,
    losses,
    scheduled_lake,
    steps_to,
)  # fmt: skip

GOAL = {"workload": [WORKLOAD], "metric": METRIC, "target": 1.0}
STUDY = f"{WORKLOAD}/scheduled"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schedules")
    scheduled_lake(folder)
    return folder / "lake"


@pytest.fixture(scope="module")
def view(folder: Path) -> ReleaseView:
    from losslake.lake.lake import Lake

    lake = Lake.open(folder)
    return ReleaseView.open(lake, lake.release())


def question(path: str) -> Question:
    return next(each for each in QUESTIONS if each.path == path)


def answer(view: ReleaseView, path: str, **parameters: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    asked = question(path)
    given = asked.answer(view, asked.parameters.model_validate(parameters))
    return dict(given.facts), given.table().to_pylist()


def amounts(measure: str) -> dict[str, float]:
    """Return by run the amount to 1.0, step by step."""
    reached = {name: steps_to(name, 1.0) for name in SCHEDULED}
    counts: dict[str, Callable[[str, int], float]] = {
        "steps": lambda _, n: n,
        "examples": lambda name, n: examples(SCHEDULED[name], n),
        "epochs": lambda name, n: examples(SCHEDULED[name], n) / EPOCH,
        "tokens": lambda name, n: examples(SCHEDULED[name], n) * 3.0,
        "flops": lambda name, n: examples(SCHEDULED[name], n) * (3.0 * 60),
        "seconds": lambda _, n: n * SECONDS,
    }
    return {name: counts[measure](name, n) for name, n in reached.items() if n is not None}


# What no log of theirs states.
REQUESTED = {"tokens": {"tokens_per_example": 3}, "flops": {"tokens_per_example": 3, "n_parameters": 10}}


@pytest.mark.parametrize("measure", ["steps", "examples", "epochs", "tokens", "flops", "seconds"])
@pytest.mark.parametrize("result", ["best_trial", "best_setting"])
def test_scaling_has_them_as_its_last_row(view: ReleaseView, measure: str, result: str) -> None:
    _, rows = answer(view, "/v1/scaling", **GOAL, measure=measure, result=result, **REQUESTED.get(measure, {}))
    assert [row["batch_size"] for row in rows] == [8, 16, 32, 64, None]
    row, expected = rows[-1], amounts(measure)
    if result == "best_trial":
        assert row["amount"] == min(expected.values())
        assert row["steps"] == min(amounts("steps").values())
    else:  # the setting of three trials, by the median
        assert row["amount"] == sorted(expected[name] for name in ("s0", "s1", "s2"))[1]
        assert row["n_seeds"] == 3
    assert row["perfect_scaling_steps"] is None
    assert row["normalized_steps"] is None


@pytest.mark.parametrize("measure", ["examples", "epochs", "tokens", "flops", "seconds"])
def test_sql_gives_the_same_amounts(view: ReleaseView, folder: Path, measure: str) -> None:
    requested = REQUESTED.get(measure, {})
    options = "".join(f", {name} := {value}" for name, value in requested.items())
    call = f"amount_at('{METRIC}', 1.0, measure := '{measure}'{options})"
    query = f"FROM {call} SELECT batch_size, amount ORDER BY ALL NULLS LAST"
    _, rows = answer(view, "/v1/scaling", **GOAL, measure=measure, result="best_trial", **requested)
    assert view.cursor().sql(query).fetchall() == [(row["batch_size"], row["amount"]) for row in rows]
    for macro, result in (("result_at", "best_trial"), ("best_setting_at", "best_setting")):
        of_sql = view.cursor().sql(f"SELECT batch_size, examples FROM {macro}('{METRIC}', 1.0) ORDER BY ALL NULLS LAST")
        _, rows = answer(view, "/v1/scaling", **GOAL, result=result)
        assert of_sql.fetchall() == [(row["batch_size"], row["examples"]) for row in rows]


def test_every_way_to_results_in_sql_gives_the_same_examples(view: ReleaseView) -> None:
    expected = examples(THREE, steps_to("s0", 1.0) or 0)
    for query in (
        f"SELECT examples FROM result_at('{METRIC}', 1.0) WHERE batch_size IS NULL",
        f"SELECT examples FROM result_at('{METRIC}', 1.0, NULL, flagged := 'include') WHERE batch_size IS NULL",
        "SELECT examples FROM steps_to_result WHERE batch_size IS NULL",
        f"SELECT examples FROM pooled_result_at('{METRIC}', 1.0) WHERE batch_size IS NULL",
    ):
        assert view.cursor().sql(query).fetchall() == [(expected,)], query


def test_examples_to_target_of_each_trial(view: ReleaseView) -> None:
    _, rows = answer(view, "/v1/steps-to-target", **GOAL, measure="examples")
    found = sorted(row["amount"] for row in rows if row["batch_size"] is None)
    assert found == sorted(amounts("examples").values())
    of_sql = view.cursor().sql(
        f"SELECT examples, steps FROM steps_to('{METRIC}', 1.0) WHERE batch_size IS NULL ORDER BY examples"
    )
    assert [examples for examples, _ in of_sql.fetchall()] == found
    assert rows[-1]["batch_size"] is None


def test_curves_have_the_examples_of_each_evaluation(view: ReleaseView) -> None:
    _, rows = answer(view, "/v1/curves", study=[STUDY], metric=[METRIC], measure="examples")
    assert {row["batch_size"] for row in rows} == {None}
    curves = {(row["value"], row["step"]): row["amount"] for row in rows}
    expected = {
        (loss, step): examples(pieces, step)
        for name, pieces in SCHEDULED.items()
        for step, loss in enumerate(losses(name), start=1)
    }
    assert curves == expected


def test_the_frontier_counts_examples_to_the_best_of_each_trial(view: ReleaseView) -> None:
    facts, rows = answer(view, "/v1/analysis/frontier", workload=[WORKLOAD], metric=METRIC, measure="examples")
    assert not any("batch size changes" in text for text in facts["left_out"])
    found = sorted(row["amount"] for row in rows if row["batch_size"] is None and row["is_best"])
    best = {name: losses(name).index(min(losses(name))) + 1 for name in SCHEDULED}
    assert found == sorted(examples(pieces, best[name]) for name, pieces in SCHEDULED.items())


@pytest.mark.parametrize("budget", [1, 7, 8, 160, 176, 300, 480, 1000, 5000])
def test_a_budget_of_examples_ends_at_the_last_step_within_it(view: ReleaseView, budget: int) -> None:
    _, rows = answer(view, "/v1/best", workload=[WORKLOAD], metric=METRIC, example_budget=budget)
    within = [
        loss
        for name, pieces in SCHEDULED.items()
        for step, loss in enumerate(losses(name), start=1)
        if examples(pieces, step) <= budget
    ]
    assert rows[-1]["batch_size"] is None
    assert rows[-1]["best_value"] == min(within, default=None)


INCLUDED = {"scaling", "targets", "steps-to-target", "best", "survival", "metaparameters", "frontier", "curves"}
OF_RELEASE = {"atlas", "league", "records", "cite", "results", "recommend"}


def test_questions_about_batch_sizes_leave_them_out_and_say_so(view: ReleaseView) -> None:
    special: dict[str, dict[str, Any]] = {
        "/v1/analysis/forecast": {"batch_size": 8, "curve": [f"{step}={5 / step**0.5}" for step in range(1, 9)]},
        "/v1/analysis/compare": {"workload": [WORKLOAD, WORKLOAD]},
        "/v1/analysis/advice": {"step_time": ["8=0.1", "64=0.4"]},
    }
    asked = set()
    for each in QUESTIONS:
        name = each.path.rpartition("/")[2]
        fields = each.parameters.model_fields
        if name in INCLUDED | OF_RELEASE or each.listing or not each.is_of_release or "workload" not in fields:
            continue
        known = {key: value for key, value in GOAL.items() if key in fields} | special.get(each.path, {})
        try:
            facts, rows = answer(view, each.path, **known)
        except BadParameter as error:
            asked.add((name, str(error)))
            continue
        asked.add((name, ""))
        assert any("4 trials whose batch size changes" in text for text in facts["left_out"]), (name, facts["left_out"])
        assert all(row.get("batch_size", 8) not in (0, None) for row in rows), name
    assert {name for name, _ in asked} >= {"critical-batch-size", "regimes", "doublings", "target-sweep", "advice"}
    refused = {name: why for name, why in asked if why}
    assert refused.pop("forecast").startswith("only 3 comparable settings")  # of batch size 8
    assert refused == {}


def test_lists_show_null_and_the_name_of_the_schedule(view: ReleaseView) -> None:
    def listed(path: str, **parameters: Any) -> list[dict[str, Any]]:
        asked = question(path)
        given = asked.parameters.model_validate(parameters)
        assert isinstance(given, PageParameters)
        request = ListRequest(given, {}, is_json=True)
        rows: list[dict[str, Any]] = asked.answer(view, request).table().to_pylist()
        return rows

    (row,) = [each for each in listed("/v1/studies") if each["batch_size"] is None]
    assert (row["study"], row["schedule"]) == (STUDY, None)
    trials = listed("/v1/trials", study=[STUDY])
    assert [each["trial"] for each in trials] == [f"{STUDY}/{number}" for number in (1, 2, 3, 4)]
    assert {each["batch_size"] for each in trials} == {None}
    (workload,) = listed("/v1/workloads")
    assert workload["batch_sizes"] == [8, 16, 32, 64]


def test_a_workload_of_schedules_alone_is_refused_by_questions_about_batch_sizes(tmp_path: Path) -> None:
    lake = scheduled_lake(tmp_path, {"s0": THREE, "s3": SCHEDULED["s3"]})
    alone = ReleaseView.open(lake, lake.release())
    with pytest.raises(BadParameter, match="the batch size of all trials of demo/d/m/sgd changes"):
        answer(alone, "/v1/analysis/critical-batch-size", **GOAL)
    _, rows = answer(alone, "/v1/scaling", **GOAL, measure="examples")
    assert [row["batch_size"] for row in rows] == [None]


def test_the_library_gives_null(folder: Path) -> None:
    table = losslake.open(folder).scaling(WORKLOAD, metric=METRIC, target=1.0).to_dicts()
    assert [row["batch_size"] for row in table] == [8, 16, 32, 64, None]


def test_where_chooses_a_schedule_by_name(view: ReleaseView) -> None:
    _, rows = answer(view, "/v1/scaling", **GOAL, where=["batch_schedule_name=8-64"], measure="examples")
    assert [(row["batch_size"], row["amount"]) for row in rows] == [(None, amounts("examples")["s3"])]

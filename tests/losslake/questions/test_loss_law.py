"""The points of a loss law equal those found trial by trial, and what can't be fitted is said."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.analysis.loss_law import LossLaw, fit_loss_law
from losslake.output.answer import Answer
from losslake.questions import loss_law
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from tests.losslake.questions.views import OTHER, WORKLOAD, view_of
from tests.oracle import Row

METRIC = "val/cross_entropy_error"
BATCH_SIZE, PER_EXAMPLE = 64, 128
LAW = LossLaw(1.8, 480.0, 2000.0, 0.35, 0.37)
SIZES = [10.0 ** (7.5 + 0.25 * i) for i in range(6)]
STEPS = [100_000 * 3**i for i in range(4)]
Parameters = Callable[[int, int], Mapping[str, float]]
Answered = tuple[list[dict[str, Any]], Mapping[str, Any]]


def facts_of(batch_size: int, trial_id: int) -> dict[str, float]:
    """The facts of a trial by its number, from 1: four trials have one size; each has a learning rate of its own."""
    size = SIZES[(trial_id - 1) // 4 % len(SIZES)]
    return {
        "n_parameters": size,
        "n_parameters_non_embedding": 0.8 * size,
        "tokens_per_example": PER_EXAMPLE,
        "flops_per_token": 7.5 * size,
        "learning_rate": 1e-3 * trial_id,
    }


def runs(noise: float = 0.004, n: int = 24, every: int = 4) -> list[Row]:
    """A run for each size and number of steps, evaluated `every` times."""
    rng = np.random.default_rng(11)
    rows = []
    for trial_id in range(1, n + 1):
        last, off = STEPS[(trial_id - 1) % 4], float(np.exp(rng.normal(0, noise)))
        size = facts_of(BATCH_SIZE, trial_id)["n_parameters"]
        for part in range(1, every + 1):
            step = last * part // every
            loss = float(LAW.losses(size, step * BATCH_SIZE * PER_EXAMPLE)) * off
            rows.append(Row(BATCH_SIZE, trial_id, "COMPLETE", step, loss))
    return rows


def view(folder: Path, rows: Sequence[Row], parameters: Parameters = facts_of, **others: Any) -> ReleaseView:
    return view_of(rows, folder=folder, parameters=parameters, metric=METRIC, **others)


def ask(of: ReleaseView, **parameters: Any) -> Answered:
    given_ones = {"workload": [str(WORKLOAD)], "metric": METRIC, **parameters}
    answer: Answer = loss_law.QUESTION.answer(of, loss_law.LossLawParameters.model_validate(given_ones))
    rows: list[dict[str, Any]] = answer.table().to_pylist()
    return rows, answer.facts


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """The answer about all runs, without other parameters."""
    return ask(view(tmp_path_factory.mktemp("plain"), runs()))


def test_final_evaluations_give_the_fit_of_their_arrays(plain: Answered) -> None:
    rows = runs()
    answered, summary = plain
    ends = [row for row in rows if row.step == STEPS[(row.trial_id - 1) % 4]]
    expected = fit_loss_law(
        [facts_of(BATCH_SIZE, row.trial_id)["n_parameters"] for row in ends],
        [(row.step or 0) * BATCH_SIZE * PER_EXAMPLE for row in ends],
        [row.value or 0 for row in ends],
    )
    assert [(row["trial_id"], row["step"], row["loss"]) for row in answered] == [
        (row.trial_id, row.step, row.value) for row in ends
    ]
    assert [row["fitted"] for row in answered] == pytest.approx(expected.fitted.tolist())
    for row in answered:
        assert row["residual"] == pytest.approx(math.log(row["loss"] / row["fitted"]))
        assert row["n"] == facts_of(BATCH_SIZE, row["trial_id"])["n_parameters"]
        assert row["d"] == row["step"] * BATCH_SIZE * PER_EXAMPLE
    estimates = {each["name"]: each for each in summary["estimates"]}
    assert estimates["alpha"]["value"] == pytest.approx(expected.law.alpha)
    assert estimates["alpha"]["lower"] < LAW.alpha < estimates["alpha"]["upper"]
    assert (summary["refusal"], summary["n_used"], summary["n_sizes"]) == ("", 24, 6)
    assert summary["law"].startswith(f"{expected.law.e:.5g} + ")


def test_a_budget_of_examples_ends_runs_of_larger_batches_at_fewer_steps(tmp_path: Path) -> None:
    rows = [replace(row, batch_size=size) for size in (BATCH_SIZE, 2 * BATCH_SIZE) for row in runs()]
    budget = BATCH_SIZE * STEPS[-1] // 2
    answered, _ = ask(view(tmp_path, rows), example_budget=budget, points="all", after=0)
    furthest = max(row["d"] for row in answered)
    assert furthest == budget * PER_EXAMPLE


def test_optimum_says_what_lies_beyond_the_points(tmp_path: Path, plain: Answered) -> None:
    answered, summary = ask(view(tmp_path, runs()), flops=["1e19", "1e23"])
    within, beyond = summary["optimum"]
    most = max(6 * row["n"] * row["d"] for row in answered)
    assert (within["extrapolates"], beyond["extrapolates"]) == ("", "compute, n, d")
    assert 6 * within["n"] * within["d"] == pytest.approx(1e19)
    assert within["n_lower"] < LAW.optimum(1e19)[0] < within["n_upper"]
    (largest,) = plain[1]["optimum"]
    assert largest["flops"] == pytest.approx(most)


def test_stated_flops_move_the_optimum(tmp_path: Path, plain: Answered) -> None:
    _, summary = ask(view(tmp_path, runs()), compute="stated", flops=["1e19"])
    assert summary["flops_per_parameter"] == pytest.approx(7.5)
    (optimum,) = summary["optimum"]
    assert 7.5 * optimum["n"] * optimum["d"] == pytest.approx(1e19)
    assert any("differ from 6 N by +25% to +25%" in text for text in plain[1]["warnings"])


def test_stated_flops_that_are_none_are_refused(tmp_path: Path) -> None:
    of = view(tmp_path, runs(), lambda b, t: {k: v for k, v in facts_of(b, t).items() if k != "flops_per_token"})
    with pytest.raises(BadParameter, match="state no flops_per_token: give compute=6ND"):
        ask(of, compute="stated")


def test_sizes_without_embeddings_are_those_of_their_fact(tmp_path: Path) -> None:
    rows, summary = ask(view(tmp_path, runs()), size="without")
    assert rows[0]["n"] == pytest.approx(0.8 * SIZES[0])
    published = {each["name"]: each for each in summary["published"]}
    kaplan = published["kaplan2020"]
    assert kaplan["n_points"] == 24
    law = (6.4e13 / (0.8 * SIZES[0])) ** (0.076 / 0.103) + 1.8e13 / rows[0]["d"]
    residuals = sorted(
        math.log(row["loss"]) - 0.103 * math.log((6.4e13 / row["n"]) ** (0.076 / 0.103) + 1.8e13 / row["d"])
        for row in rows
    )
    assert law > 0
    assert kaplan["median_residual"] == pytest.approx(median(residuals))


def test_published_laws_take_the_size_that_they_count(tmp_path: Path, plain: Answered) -> None:
    without = ask(view(tmp_path, runs()), size="without")[1]
    asked_with, asked_without = (
        {each["name"]: each for each in summary["published"]} for summary in (plain[1], without)
    )
    assert asked_with == asked_without


def test_all_evaluations_are_drawn_by_trial_and_begin_after_the_share(tmp_path: Path) -> None:
    rows, summary = ask(view(tmp_path, runs()), points="all", after=0.3)
    assert summary["n_used"] == 24 * 3
    assert summary["n_settings"] == 24
    assert {row["left_out_because"] is None for row in rows if row["step"] * 4 > STEPS[(row["trial_id"] - 1) % 4]} == {
        True
    }
    assert any("24 evaluations before the share of training" in text for text in summary["left_out"])
    assert any("before the end of training" in text for text in summary["warnings"])


def test_only_the_best_setting_of_a_size_and_its_tokens_is_fitted(tmp_path: Path) -> None:
    good = runs(every=1)
    bad = [Row(row.batch_size, row.trial_id + 24, row.status, row.step, (row.value or 0) * 1.2) for row in good]
    of = view(tmp_path, [*good, *bad])
    rows, summary = ask(of)
    assert {row["trial_id"] for row in rows if row["left_out_because"] is None} == set(range(1, 25))
    assert any("24 evaluations of another setting" in text for text in summary["left_out"])
    assert ask(of, runs="all")[1]["n_used"] == 48


def test_models_are_drawn_whole_if_asked_for(tmp_path: Path) -> None:
    of = view(tmp_path, runs())
    with_all = ask(of, draw="models")[1]
    assert with_all["refusal"] == "6 settings: a fit needs 10"
    assert with_all["estimates"] == []
    assert any("no law is fitted" in text for text in with_all["warnings"])


def test_trials_without_size_or_tokens_are_left_out_and_counted(tmp_path: Path) -> None:
    def some(batch_size: int, trial_id: int) -> dict[str, float]:
        lacks = {1: "n_parameters", 2: "tokens_per_example"}.get(trial_id)
        return {name: value for name, value in facts_of(batch_size, trial_id).items() if name != lacks}

    rows, summary = ask(view(tmp_path, runs(), some))
    assert summary["n_used"] == 22
    assert [text.partition(":")[0] for text in summary["left_out"]] == [
        "1 evaluation whose size isn't known",
        "1 evaluation whose tokens aren't known",
    ]
    lacking = {row["trial_id"]: row for row in rows}
    assert lacking[1]["n"] is None
    assert lacking[2]["d"] is None
    assert lacking[1]["fitted"] is lacking[2]["residual"] is None


def test_batch_sizes_in_tokens_need_no_tokens_per_example(tmp_path: Path) -> None:
    def some(batch_size: int, trial_id: int) -> dict[str, float]:
        return {name: value for name, value in facts_of(batch_size, trial_id).items() if name != "tokens_per_example"}

    rows, _ = ask(view(tmp_path, runs(), some, batch_units={WORKLOAD: "tokens"}))
    assert [row["d"] for row in rows] == [row["step"] * BATCH_SIZE for row in rows]


def test_sizes_that_no_log_states_are_said_to_be_unknown(tmp_path: Path) -> None:
    of = view(tmp_path, runs(), lambda b, t: {k: v for k, v in facts_of(b, t).items() if k != "n_parameters"})
    rows, summary = ask(of)
    assert summary["refusal"] == "no log of these trials states n_parameters: size=without has points"
    assert (summary["law"], summary["estimates"], summary["optimum"]) == ("", [], [])
    assert {row["fitted"] for row in rows} == {None}
    none = ask(view(tmp_path / "none", runs(), lambda *_: {"tokens_per_example": 1.0}))[1]
    assert none["refusal"] == "no log of these trials states n_parameters: a mapping can state it"


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_losses_that_are_no_numbers_above_0_are_never_fitted(tmp_path: Path, value: float) -> None:
    rows = runs(every=1)
    rows[3] = Row(BATCH_SIZE, rows[3].trial_id, "COMPLETE", rows[3].step, value)
    answered, summary = ask(view(tmp_path, rows))
    assert summary["n_used"] == 23
    assert answered[3]["fitted"] is answered[3]["residual"] is None
    assert "1 evaluation whose loss isn't a number above 0" in summary["left_out"]


def test_maximized_metrics_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="is maximized: give a loss"):
        ask(view(tmp_path, runs(), direction="maximize"))


def test_patterns_pool_workloads_with_units_of_their_own(tmp_path: Path) -> None:
    rows = runs(every=1)
    halves = [row for row in rows if row.trial_id <= 12], [row for row in rows if row.trial_id > 12]
    of = view(tmp_path, halves[0], of_other=halves[1], batch_units={WORKLOAD: "sequences", OTHER: "examples"})
    answered, summary = ask(of, workload=[str(WORKLOAD), str(OTHER)])
    assert summary["n_used"] == 24
    assert {row["workload"] for row in answered} == {str(WORKLOAD), str(OTHER)}
    whole = ask(view(tmp_path / "one", rows))[1]
    assert summary["huber"] == pytest.approx(whole["huber"])


def test_where_chooses_the_trials_of_a_pattern(tmp_path: Path) -> None:
    of = view(tmp_path, runs(every=1), attributes=lambda _, trial_id: {"tuned": json.dumps(trial_id > 4)})
    pattern = f"{WORKLOAD.collection}/*/*/{WORKLOAD.optimizer}"
    rows, summary = ask(of, workload=[pattern], where=["tuned=true"])
    assert {row["trial_id"] for row in rows} == set(range(5, 25))
    assert summary["n_used"] == 20
    assert summary["workloads"] == [str(WORKLOAD)]


def test_many_evaluations_are_thinned_evenly(tmp_path: Path) -> None:
    of = view(tmp_path, runs(every=40))
    rows, summary = ask(of, points="all")
    used = [row for row in rows if row["left_out_because"] is None]
    assert summary["n_used"] == len(used) == 24 * (loss_law.MOST_POINTS // 24)
    assert {row["trial_id"] for row in used if row["step"] == STEPS[(row["trial_id"] - 1) % 4]} == set(range(1, 25))
    assert any("left out evenly" in text for text in summary["left_out"])


VALUES = st.sampled_from([2.0, 2.5, 3.0, math.nan, math.inf, 0.0])
ROWS = st.lists(
    st.builds(
        Row,
        batch_size=st.sampled_from([8, 64]),
        trial_id=st.integers(1, 6),
        status=st.just("COMPLETE"),
        step=st.integers(0, 4),
        value=VALUES,
    ),
    min_size=1,
    max_size=20,
    unique_by=lambda row: (row.batch_size, row.trial_id, row.step),
)


@settings(max_examples=10, deadline=None)
@given(rows=ROWS, points=st.sampled_from(["final", "all"]))
def test_used_points_equal_those_found_trial_by_trial(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], points: str
) -> None:
    answered, _ = ask(view(tmp_path_factory.mktemp("rows"), rows), points=points, runs="all")
    curves: dict[tuple[int, int], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.step or 0):
        curves.setdefault((row.batch_size, row.trial_id), []).append(row)
    expected = set()
    for key, curve in curves.items():
        for row in curve[-1:] if points == "final" else curve:
            value = math.nan if row.value is None else row.value
            if row.step and math.isfinite(value) and value > 0:
                size = facts_of(*key)["n_parameters"]
                expected.add((*key, row.step, size, row.step * row.batch_size * PER_EXAMPLE, value))
    used = {
        (row["batch_size"], row["trial_id"], row["step"], row["n"], row["d"], row["loss"])
        for row in answered
        if row["left_out_because"] is None
    }
    assert used == expected


def test_the_only_metric_needs_no_name(tmp_path: Path, plain: Answered) -> None:
    _, unnamed = ask(view(tmp_path, runs()), metric="")
    assert unnamed["metric"] == METRIC
    assert unnamed["estimates"] == plain[1]["estimates"]


def test_ends_at_one_number_of_tokens_are_refused_with_what_to_do(tmp_path: Path) -> None:
    longest = [row for row in runs() if row.trial_id % 4 == 0]
    twice = [replace(row, trial_id=row.trial_id + 24 * part) for part in (0, 1) for row in longest]
    (why,) = (text for text in ask(view(tmp_path, twice), runs="all")[1]["warnings"] if "no law" in text)
    assert why == "no law is fitted: 1 number of tokens: a fit needs 4; points=all adds those before the end"

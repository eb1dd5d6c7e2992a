"""The best metaparameters of made-up releases are what plain Python finds, and what is doubtful is said in words."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from losslake.output.answer import Answer
from losslake.questions import metaparameter_optima, metaparameters
from losslake.questions.release.errors import BadParameter
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.statuses import STATUSES
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Goal as PlainGoal
from tests.oracle import Row, near_optimal_trials, steps_to_target_rows

Parameters = dict[tuple[int, int], dict[str, float]]
TARGET = Goal(0.5)
CONFIGS = {
    "learning_rate": {"type": "DOUBLE", "min_value": 1e-3, "max_value": 1e3, "scale": "LOG_SCALE"},
    "momentum": {"type": "DOUBLE", "min_value": 0, "max_value": 0.99, "scale": "REVERSE_LOG_SCALE"},
}


def reaching(
    steps: Mapping[tuple[int, int], int | None], statuses: dict[tuple[int, int], str] | None = None
) -> list[Row]:
    """Trials by batch size and trial_id that reach the target at that step; None: never."""
    of = statuses or {}
    return [
        Row(b, t, of.get((b, t), "COMPLETE"), at if at is not None else 1, 0.9 if at is None else 0.1)
        for (b, t), at in steps.items()
    ]


def answered(
    steps: Mapping[tuple[int, int], int | None],
    parameters: Parameters,
    statuses: dict[tuple[int, int], str] | None = None,
    configs: dict[str, Any] | None = None,
    trials: int | None = None,
    **more: Any,
) -> Answer:
    view = view_of(
        reaching(steps, statuses),
        parameters=lambda b, t: parameters.get((b, t), {}),
        parameter_configs=json.dumps(configs or {}),
    )
    return answer_to(metaparameter_optima.QUESTION, view, Selection((WORKLOAD,), METRIC, trials=trials), TARGET, **more)


def rows_of(answer: Answer) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = answer.table().to_pylist()
    return rows


@st.composite
def studies(draw: st.DrawFn) -> tuple[list[Row], Parameters]:
    rows: list[Row] = []
    parameters: Parameters = {}
    rates = st.sampled_from([1e-3, 0.1, 0.2, 1.0, 0.0, math.nan, math.inf, -1.0])
    momenta = st.sampled_from([0.0, 0.5, 0.9, 1.0, math.nan])
    for batch_size in draw(st.sets(st.sampled_from([1, 2, 8, 64, 2**33]), min_size=1, max_size=6)):
        for trial_id in draw(st.sets(st.integers(0, 5), min_size=1, max_size=5)):
            status = draw(st.sampled_from([*STATUSES, "COMPLETE"]))
            steps = draw(st.none() | st.sampled_from([0, 10, 11, 12, 20, 2**63 - 1]))
            value = draw(st.sampled_from([0.1, 0.1, 0.9]))
            rows.append(Row(batch_size, trial_id, status, steps, None if steps is None else value))
            own = {"learning_rate": draw(st.none() | rates), "momentum": draw(st.none() | momenta)}
            parameters[batch_size, trial_id] = {name: value for name, value in own.items() if value is not None}
    return rows, parameters


@given(studies(), st.sampled_from([0, 0.1, 1]), st.none() | st.integers(1, 3))
@settings(max_examples=settings().max_examples // 2)
def test_optima_and_near_optimal_ranges_are_those_of_brute_force(
    drawn: tuple[list[Row], Parameters], within: float, trials: int | None
) -> None:
    rows, parameters = drawn
    view = view_of(rows, parameters=lambda b, t: parameters.get((b, t), {}), parameter_configs=json.dumps(CONFIGS))
    answer = answer_to(
        metaparameter_optima.QUESTION, view, Selection((WORKLOAD,), METRIC, trials=trials), TARGET, within=within
    )
    near = near_optimal_trials(rows, PlainGoal(0.5, trials=trials), within)
    for row in rows_of(answer):
        own = [(trial_id, steps) for size, trial_id, steps in near if size == row["batch_size"]]
        assert (row["trial_id"], row["steps"]) == own[0]
        if own[0][0] is None:
            assert row["n_near_optimal"] == 0
            continue
        assert row["n_near_optimal"] == len(own)
        least = dict(row["near_optimal_lower"])
        for name in ("learning_rate", "momentum"):
            values = [parameters[row["batch_size"], trial_id].get(name, math.nan) for trial_id, _ in own]
            values = [value for value in values if not math.isnan(value)]
            assert least.get(name) == min(values, default=None)
        assert not any(isinstance(value, float) and math.isnan(value) for value in row.values())


@pytest.mark.parametrize(("power", "name"), [(1.0, "linear"), (0.5, "square-root")])
def test_exact_heuristic_has_no_regret(power: float, name: str) -> None:
    sizes = [1, 4, 16, 64, 256]
    # Around each optimum the steps grow with the distance: 5 trials in a row, the third the best.
    parameters: Parameters = {
        (b, t): {"learning_rate": 0.01 * b**power * 2.0 ** (t - 3), "momentum": 0.9} for b in sizes for t in range(1, 6)
    }
    answer = answered({(b, t): 100 + 10 * abs(t - 3) for b, t in parameters}, parameters, within=0)
    (exponent,) = answer.facts["exponents"]
    assert [exponent["exponent"], exponent["lower"], exponent["upper"]] == pytest.approx([power] * 3)
    assert exponent["consistent_with"] == [name]
    assert answer.facts["learning_rate_forms"][0]["name"] == name
    by_name = {each["name"]: each for each in answer.facts["heuristics"]}
    # The five nearest are all trials: their median is 10% above the best.
    assert by_name[name]["median_regret"] == pytest.approx(1.1)
    assert by_name[name]["n_regrets"] == by_name[name]["n_batch_sizes"] == 4
    column = name.replace("-", "_")
    for row in rows_of(answer):
        assert row[f"{column}_learning_rate"] == pytest.approx(row["parameters"][0][1])
        assert row[f"{column}_regret"] == row["optimum_regret"] == pytest.approx(1.1)
        assert row["effective_learning_rate"] == pytest.approx(10 * row["parameters"][0][1])


def test_the_regret_is_the_median_over_the_best_of_the_five_nearest() -> None:
    parameters: Parameters = {(1, 1): {"learning_rate": 0.1, "momentum": 0.0}}
    near = {t: 0.4 * 1.05**t for t in range(5)}
    parameters |= {(4, t): {"learning_rate": rate, "momentum": 0.0} for t, rate in near.items()}
    parameters[4, 9] = {"learning_rate": 50.0, "momentum": 0.0}
    steps = {(1, 1): 1000, (4, 9): 100} | {(4, t): 150 + 50 * t for t in near}
    row = rows_of(answered(steps, parameters))[1]
    assert row["trial_id"] == 9
    assert row["linear_learning_rate"] == pytest.approx(0.4)
    assert row["linear_regret"] == statistics.median(150 + 50 * t for t in near) / 100
    assert (row["linear_n_reached"], row["linear_decades"]) == (5, pytest.approx(0))
    assert row["square_root_decades"] == pytest.approx(math.log10(2))
    assert row["square_root_regret"] is None


def test_heuristics_start_from_the_batch_size_asked_for() -> None:
    parameters: Parameters = {(b, 1): {"learning_rate": 0.1 * b, "momentum": 0.5} for b in (1, 4, 16)}
    answer = answered(dict.fromkeys(parameters, 10), parameters, origin=4)
    assert [row["square_root_learning_rate"] for row in rows_of(answer)] == pytest.approx([0.2, 0.4, 0.8])
    assert {each["origin"] for each in answer.facts["heuristics"]} == {4}
    with pytest.raises(BadParameter, match="give one of 1, 4, 16"):
        answered(dict.fromkeys(parameters, 10), parameters, origin=2)


def test_missing_origin_gives_a_warning_instead_of_heuristics() -> None:
    parameters: Parameters = {(b, 1): {"learning_rate": 0.1, "momentum": 0.5} for b in (1, 4)}
    answer = answered({(1, 1): None, (4, 1): 10}, parameters, origin=1)
    assert answer.facts["heuristics"] == []
    assert any("no heuristics" in text for text in answer.facts["warnings"])
    assert rows_of(answer)[1]["linear_regret"] is None


def test_a_best_trial_at_the_boundary_of_its_search_is_flagged() -> None:
    parameters: Parameters = {
        (8, t): {"learning_rate": rate, "momentum": momentum}
        for t, (rate, momentum) in enumerate(
            [(900.0, 0.5), (1.0, 0.9899), (1.0, 0.5), (1.0, 0.6), (1.0, 0.7), (1e-3, 0)]
        )
    }
    answer = answered({(8, t): 10 + t for t in range(6)}, parameters, configs=CONFIGS)
    (row,) = rows_of(answer)
    assert row["at_boundary"] == ["learning_rate high"]
    # The sixth is at two ends, but is none of the five best.
    assert (row["n_best"], row["n_best_at_boundary"]) == (5, 2)
    assert row["boundary_chance"] == pytest.approx(1 - 0.9**2)
    assert any("boundary of its search at 1 of 1 batch size (learning_rate high at 8)" in text and "19%" in text
               for text in answer.facts["warnings"])  # fmt: skip


def test_missing_search_ranges_give_a_warning_and_no_flags() -> None:
    answer = answered({(8, 1): 10}, {(8, 1): {"learning_rate": 1.0, "momentum": 0.5}})
    assert rows_of(answer)[0]["at_boundary"] is None
    assert any("don't state their search ranges" in text for text in answer.facts["warnings"])


def test_an_optimum_beside_trials_that_diverged_is_stability_limited() -> None:
    parameters: Parameters = {(8, t): {"learning_rate": 0.1 * t, "momentum": 0.5} for t in (1, 2, 3)}
    answer = answered({(8, 1): 20, (8, 2): 10, (8, 3): 5}, parameters, {(8, 3): "INFEASIBLE"})
    (row,) = rows_of(answer)
    # The trial that diverged had reached the target first, but counts as never.
    assert (row["trial_id"], row["is_stability_limited"], row["n_trials"]) == (2, True, 2)
    assert row["fraction_reaching"] == pytest.approx(2 / 3)
    assert any("diverged with larger effective learning rates" in text for text in answer.facts["warnings"])


def test_trials_limit_excludes_later_diverged_trials() -> None:
    parameters: Parameters = {(8, t): {"learning_rate": 0.1 * t, "momentum": 0.5} for t in (1, 2, 3)}
    answer = answered({(8, 1): 20, (8, 2): 10, (8, 3): 5}, parameters, {(8, 3): "INFEASIBLE"}, trials=2)
    assert rows_of(answer)[0]["is_stability_limited"] is False


def test_plain_sgd_has_momentum_0_with_a_warning() -> None:
    answer = answered({(8, 1): 10}, {(8, 1): {"learning_rate": 0.25}})
    (row,) = rows_of(answer)
    assert row["effective_learning_rate"] == 0.25
    assert row["parameters"] == [("learning_rate", 0.25)]
    assert any("taken as 0" in text for text in answer.facts["warnings"])


def test_momentum_that_only_some_trials_have_is_missing_in_the_others() -> None:
    parameters: Parameters = {(8, 1): {"learning_rate": 0.25}, (8, 2): {"learning_rate": 0.25, "momentum": 0.5}}
    answer = answered({(8, 1): 10, (8, 2): 20}, parameters)
    (row,) = rows_of(answer)
    assert (row["effective_learning_rate"], row["optimum_regret"]) == (None, None)
    assert any("has no effective learning rate" in text for text in answer.facts["left_out"])
    assert any("1 trial without momentum" in text for text in answer.facts["warnings"])


def test_too_few_batch_sizes_give_a_warning_and_no_exponent() -> None:
    parameters: Parameters = {(b, 1): {"learning_rate": 0.1, "momentum": 0.5} for b in (1, 4, 16)}
    answer = answered({(1, 1): 10, (4, 1): 10, (16, 1): None}, parameters)
    assert answer.facts["exponents"][0]["exponent"] is None
    assert answer.facts["learning_rate_forms"] == []
    texts = " ".join(answer.facts["warnings"])
    assert "no exponent: 2 batch sizes" in texts
    assert "no forms: 2 batch sizes" in texts
    assert answer.facts["n_used"] == 2
    assert answer.facts["left_out"] == [f"{WORKLOAD}: no trial of 1 reached the target at batch size 16"]


def test_regrets_at_different_batch_sizes_are_not_to_be_compared_as_medians() -> None:
    parameters: Parameters = {(b, 1): {"learning_rate": 0.1 * b, "momentum": 0.5} for b in (1, 4, 16)}
    answer = answered(dict.fromkeys(parameters, 10), parameters)
    assert any("compare the heuristics row by row" in text for text in answer.facts["warnings"])


@pytest.mark.parametrize("within", [-0.1, 1001, math.nan])
def test_within_has_to_be_a_ratio(within: float) -> None:
    with pytest.raises(ValidationError, match="within"):
        answered({(8, 1): 10}, {}, within=within)


def test_a_study_has_a_row_per_near_optimal_trial_or_one_of_nulls() -> None:
    rates: Parameters = {(8, t): {"learning_rate": 0.1 * t} for t in range(1, 5)}
    view = view_of(
        reaching({(8, 1): 21, (8, 2): 22, (8, 3): 20, (8, 4): 23, (16, 1): None}),
        parameters=lambda b, t: rates.get((b, t), {}),
    )
    rows = rows_of(answer_to(metaparameters.QUESTION, view, Selection((WORKLOAD,), METRIC), TARGET, within=0.1))
    found = [(row["batch_size"], row["rank"], row["trial_id"], row["steps"]) for row in rows]
    assert found == [(8, 1, 3, 20), (8, 2, 1, 21), (8, 3, 2, 22), (16, None, None, None)]
    assert [row["steps_ratio"] for row in rows] == [1, 1.05, 1.1, None]
    assert rows[0]["effective_learning_rate"] == pytest.approx(0.3)


def test_steps_are_those_of_the_other_answers() -> None:
    rows = reaching({(8, 1): 2**63 - 1, (8, 2): None})
    expected = [row["steps"] for row in steps_to_target_rows(rows, PlainGoal(0.5))]
    (row,) = rows_of(answer_to(metaparameter_optima.QUESTION, view_of(rows), Selection((WORKLOAD,), METRIC), TARGET))
    assert row["steps"] == expected[0] == 2**63 - 1

"""What smaller searches would have found, over any rows, is what drawing every subset of trials finds."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from losslake.questions import tuning_budget
from losslake.questions.release.errors import BadParameter
from losslake.questions.trials.selection import Goal, Selection
from tests import oracle
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Row
from tests.service.routes.test_validity import GOAL as STANDARD_GOAL

GOAL = Goal(0.3)
SELECTION = Selection((WORKLOAD,), METRIC)
INF = math.inf


def trials(*steps: int | None, status: str = "COMPLETE", first: int = 1, batch_size: int = 8) -> list[Row]:
    """Trials that get to 0.1 at these steps, None for never."""
    return [
        Row(batch_size, first + place, status, 900 if step is None else step, 0.9 if step is None else 0.1)
        for place, step in enumerate(steps)
    ]


def answer(rows: list[Row], **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    found = answer_to(tuning_budget.QUESTION, view_of(rows), SELECTION, GOAL, **options)
    return found.table().to_pylist(), dict(found.facts)


@st.composite
def any_rows(draw: st.DrawFn) -> list[Row]:
    rows = []
    for trial_id in draw(st.sets(st.integers(0, 9), min_size=1, max_size=6)):
        status = draw(st.sampled_from(["COMPLETE", "COMPLETE", "INFEASIBLE", "INCOMPLETE"]))
        values = st.sampled_from([0.1, 0.2, 0.3, 0.9, math.nan, -INF])
        curve = draw(st.dictionaries(st.integers(0, 4), values, min_size=1, max_size=3))
        rows += [Row(8, trial_id, status, step, curve[step]) for step in sorted(curve)]
    return rows


@settings(max_examples=settings().max_examples // 2)
@given(any_rows())
def test_a_population_s_rows_are_those_of_all_draws(rows: list[Row]) -> None:
    found, facts = answer(rows)
    for name, statuses in (("non-divergent", ("COMPLETE",)), ("launched", ("COMPLETE", "INFEASIBLE"))):
        own = oracle.steps_to_target_rows(rows, oracle.Goal(0.3, statuses=statuses))
        diverged = [row["status"] == "INFEASIBLE" for row in own]
        steps = [INF if row["steps"] is None or bad else row["steps"] for row, bad in zip(own, diverged, strict=True)]
        for row in (row for row in found if row["population"] == name):
            best = sorted(min(drawn) for drawn in combinations(steps, row["budget"]))
            assert row["chance"] == pytest.approx(sum(each < INF for each in best) / len(best))
            for column, p in (("steps_q05", 0.05), ("steps_q50", 0.5), ("steps_q95", 0.95)):
                within = [s for s in best if s < INF and sum(o <= s for o in best) >= p * len(best) - 1e-9]
                assert row[column] == (within[0] if within else None)
            assert (row["n_trials"], row["n_reached"]) == (len(steps), sum(each < INF for each in steps))
        (search,) = (each for each in facts["searches"] if each["population"] == name)
        assert (search["n_trials"], search["n_diverged"]) == (len(own), sum(diverged))
    assert facts["n_used"] == len({row.trial_id for row in rows if row.status != "INCOMPLETE"})


def test_a_trial_that_diverged_never_reaches_even_if_it_did_before() -> None:
    found, facts = answer(trials(200, 100) + trials(50, 60, status="INFEASIBLE", first=10), budget=[2])
    calm, launched = found
    assert (calm["population"], calm["n_trials"], calm["chance"], calm["steps_q50"]) == ("non-divergent", 2, 1, 100)
    assert (launched["n_trials"], launched["n_reached"], launched["steps_q50"]) == (4, 2, 100)
    assert launched["chance"] == pytest.approx(5 / 6)
    assert [each["n_diverged"] for each in facts["searches"]] == [0, 2]


def test_expected_best_values_are_in_the_metric_s_own_direction() -> None:
    rows = [Row(8, place, "COMPLETE", 10, value) for place, value in enumerate((1.0, 2.0, 3.0, 4.0))]
    for direction, expected in (("minimize", (5 / 3, 15 / 8)), ("maximize", (10 / 3, 25 / 8))):
        (row,) = (
            answer_to(
                tuning_budget.QUESTION,
                view_of(rows, direction),
                SELECTION,
                GOAL,
                budget=[2],
                population=["non-divergent"],
            )
            .table()
            .to_pylist()
        )
        assert row["expected_best_value"] == pytest.approx(expected[0])
        assert row["expected_best_value_with_replacement"] == pytest.approx(expected[1])


def test_a_search_says_what_half_of_it_would_have_found_and_how_sure_its_chance_is() -> None:
    (search, _) = answer(trials(*range(10, 90, 10), *[None] * 12))[1]["searches"]
    assert (search["n_reached"], search["chance"], search["steps"]) == (8, 0.4, 10)
    assert (search["half_budget"], search["half_lower"], search["half_upper"]) == (10, 10, 40)
    assert (search["quarter_budget"], search["quarter_upper"]) == (5, None)
    assert (search["chance_lower"], search["chance_upper"]) == (
        pytest.approx(0.2188, abs=1e-4),
        pytest.approx(0.6134, abs=1e-4),
    )
    assert (search["runner_up_ratio"], search["fifth_ratio"], search["trials_needed"]) == (2, 5, 6)


def test_few_trials_give_a_warning_of_chance() -> None:
    facts = answer(trials(100, 200, *[None] * 6) + trials(10, 10, 10, 10, batch_size=16))[1]
    assert [text for text in facts["warnings"] if "4 to 8 trials" in text]
    assert [text for text in facts["warnings"] if "stands alone at batch size 8:" in text]
    assert [text for text in facts["warnings"] if text.endswith("at batch size 8: steps there are partly luck")]


def test_a_budget_beyond_the_trials_is_left_out_in_words() -> None:
    found, facts = answer(trials(10, 20), budget=[1, 2, 64])
    assert {row["budget"] for row in found} == {1, 2}
    assert [text for text in facts["left_out"] if "a budget of" in text] == [
        f"{WORKLOAD}: a budget of 64 trials: there are fewer at batch size 8"
    ]


def test_study_without_counted_trials_has_no_rows() -> None:
    found, facts = answer(trials(10, status="INCOMPLETE"))
    assert found == []
    assert [each["chance"] for each in facts["searches"]] == [None, None]
    assert [text for text in facts["left_out"] if "no trials count at batch size 8" in text]


def test_bad_budgets_and_statuses_are_refused() -> None:
    for budgets in ([0], [*range(1, tuning_budget.MOST_BUDGETS + 2)]):
        with pytest.raises(ValidationError) as caught:
            answer(trials(10), budget=budgets)
        assert caught.value.errors()[0]["loc"][0] == "budget"
    with pytest.raises(BadParameter, match="COMPLETE or INCOMPLETE"):
        answer_to(
            tuning_budget.QUESTION, view_of(trials(10)), Selection((WORKLOAD,), METRIC, statuses=("INFEASIBLE",)), GOAL
        )


@pytest.mark.parametrize(
    ("hostile", "parameter"),
    [
        ("budget=0", "budget"),
        ("budget=-1", "budget"),
        ("budget=1e3", "budget"),
        ("budget=99999999999999999999", "budget"),
        ("&".join("budget=1" for _ in range(101)), "budget"),
        ("population=all", "population"),
        ("status=INFEASIBLE", "status"),
        ("comparator=%3C", "comparator"),
    ],
)
def test_hostile_values_are_problems_that_name_their_parameter(
    client: TestClient, hostile: str, parameter: str
) -> None:
    response = client.get(f"/v1/analysis/tuning-budget?{STANDARD_GOAL}&{hostile}")
    assert (response.status_code, response.json()["parameter"].partition(".")[0]) == (422, parameter)


def test_huge_budget_is_answered_quickly(client: TestClient) -> None:
    response = client.get(f"/v1/analysis/tuning-budget?{STANDARD_GOAL}&budget=9223372036854775807")
    assert (response.status_code, response.json()["rows"]) == (200, [])

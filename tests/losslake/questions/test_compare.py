"""Comparing workloads at equal tuning budget, over any rows, is what drawing every subset of trials finds."""

from __future__ import annotations

import json
import math
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.questions import compare
from losslake.questions.release.errors import BadParameter
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import Workload
from tests import oracle
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Row

GOAL = Goal(0.3)
BOTH = Selection((WORKLOAD, OTHER), METRIC)
OURS, THEIRS = str(WORKLOAD), str(OTHER)


def reaching(batch_size: int, *steps: int | None) -> list[Row]:
    """Trials that reach the target at these steps, None for never; each is evaluated one step before, too."""
    found = []
    for trial_id, step in enumerate(steps):
        last = 50 if step is None else step
        values = (0.9, 0.9 if step is None else 0.1)
        found += [
            Row(batch_size, trial_id, "COMPLETE", at, value) for at, value in zip((last - 1, last), values, strict=True)
        ]
    return found


def answer(ours: list[Row], theirs: list[Row], **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    found = answer_to(compare.QUESTION, view_of(ours, of_other=theirs), BOTH, GOAL, **options)
    return found.table().to_pylist(), dict(found.facts)


def draws(steps: list[float], budget: int) -> list[float]:
    return [min(drawn) for drawn in combinations(steps, budget)]


@st.composite
def any_rows(draw: st.DrawFn) -> list[Row]:
    rows = []
    for batch_size in draw(st.sets(st.sampled_from([1, 8, 64]), min_size=1)):
        for trial_id in draw(st.sets(st.integers(0, 5), min_size=1, max_size=4)):
            status = draw(st.sampled_from(["COMPLETE", "COMPLETE", "INFEASIBLE"]))
            values = st.sampled_from([0.1, 0.3, 0.9, math.nan])
            curve = draw(st.dictionaries(st.integers(0, 4), values, min_size=1, max_size=3))
            rows += [Row(batch_size, trial_id, status, step, curve[step]) for step in sorted(curve)]
    return rows


@settings(max_examples=settings().max_examples // 2)
@given(any_rows(), any_rows(), st.sampled_from([None, 1, 2]))
def test_medians_ratios_and_chances_are_those_of_all_draws(
    ours: list[Row], theirs: list[Row], asked: int | None
) -> None:
    rows, facts = answer(ours, theirs, budget=asked)
    steps: list[dict[int, list[float]]] = []
    for rows_of_one in (ours, theirs):
        by_size: dict[int, list[float]] = {}
        for row in oracle.steps_to_target_rows(rows_of_one, oracle.Goal(0.3)):
            by_size.setdefault(row["batch_size"], []).append(math.inf if row["steps"] is None else row["steps"])
        steps.append(by_size)
    expected: list[tuple[int, str]] = []
    for size in sorted(steps[0].keys() & steps[1].keys()):
        shared = min(len(own[size]) for own in steps)
        if asked is None or asked <= shared:
            expected += [(size, OURS), (size, THEIRS)]
    assert [(row["batch_size"], row["workload"]) for row in rows] == expected
    assert facts["n_used"] == len(rows)
    for base, row in zip(rows[::2], rows[1::2], strict=True):
        size, budget = row["batch_size"], row["budget"]
        baseline, own = (draws(each[size], budget) for each in steps)
        pairs = [(a, b) for a in own for b in baseline]
        assert row["beats_baseline"] == pytest.approx(
            sum((a < b) + (a == b < math.inf) / 2 for a, b in pairs) / len(pairs)
        )
        assert row["neither_reaches"] == pytest.approx(sum(a == b == math.inf for a, b in pairs) / len(pairs))
        medians = [sorted(each)[(len(each) - 1) // 2] for each in (baseline, own)]
        assert [row_["median_amount"] for row_ in (base, row)] == [None if m == math.inf else m for m in medians]
        has_ratio = all(math.isfinite(m) for m in medians) and medians[0] > 0
        assert row["ratio"] == (pytest.approx(medians[1] / medians[0]) if has_ratio else None)
        assert base["beats_baseline"] is base["neither_reaches"] is None


def test_a_search_with_more_trials_has_no_better_chances_for_it() -> None:
    """Of eight trials the best takes 10 steps; of any two of them most often not."""
    rows, facts = answer(reaching(8, 40, 20), reaching(8, 10, 30, 31, 32, 33, 34, 35, 36))
    ours, theirs = rows
    assert (theirs["n_trials"], theirs["budget"], theirs["amount"], theirs["median_amount"]) == (8, 2, 10, 31)
    assert (ours["rank"], theirs["rank"]) == (1, 2)
    assert theirs["ratio"] == 31 / 20
    assert theirs["beats_baseline"] == pytest.approx(7 / 28)
    assert facts["warnings"] == []


def test_the_baseline_is_the_first_workload_unless_another_is_named() -> None:
    given = reaching(8, 10, 20), reaching(8, 20, 40)
    rows, facts = answer(*given)
    assert (facts["baseline"], [row["ratio"] for row in rows]) == (OURS, [1.0, 2.0])
    rows, facts = answer(*given, baseline=OTHER)
    assert (facts["baseline"], [row["ratio"] for row in rows]) == (THEIRS, [0.5, 1.0])


def test_a_geometric_mean_says_of_how_many_batch_sizes_it_is_and_which_are_left_out() -> None:
    ours = [row for size in (1, 8, 64) for row in reaching(size, *[10] * 4)] + reaching(512, 10)
    theirs = reaching(1, *[20] * 4) + reaching(8, *[80] * 4) + reaching(64, *[None] * 4) + reaching(512, 1000)
    _, facts = answer(ours, theirs)
    (mean,) = facts["geometric_means"]
    assert mean.pop("ratio") == pytest.approx(4.0)
    assert mean == {"workload": THEIRS, "n_batch_sizes": 2, "left_out_batch_sizes": [64, 512]}


def test_an_order_that_flips_with_the_batch_size_is_named() -> None:
    ours = reaching(1, *[10] * 6) + reaching(64, *[40] * 6)
    theirs = reaching(1, *[20] * 6) + reaching(64, *[30] * 6)
    _, facts = answer(ours, theirs)
    assert facts["flips"] == [
        {"first": OURS, "second": THEIRS, "first_leads_at": [1], "second_leads_at": [64], "is_clear": True}
    ]
    assert answer(ours, reaching(1, 20))[1]["flips"] == []


def test_batch_sizes_that_only_one_has_or_with_too_few_trials_are_left_out_in_words() -> None:
    ours = reaching(1, 10) + reaching(8, 10, 11) + [Row(64, 1, "INFEASIBLE", 1, 0.1)]
    theirs = reaching(8, 10, 12) + reaching(64, 10)
    rows, facts = answer(ours, theirs)
    assert {row["batch_size"] for row in rows} == {8}
    assert facts["left_out"] == [
        f"{OURS}: 1 trial of status INFEASIBLE: status=COMPLETE&status=MISSED&status=INFEASIBLE includes them",
        f"{OURS} at batch size 64: it has no admitted trials",
        f"batch size 1: only {OURS} has trials there",
        f"batch size 64: only {THEIRS} has trials there",
    ]
    rows, facts = answer(reaching(8, 10, 11), reaching(8, 10, 12), budget=3)
    assert rows == []
    assert facts["left_out"] == ["batch size 8: a budget of 3 trials is more than the 2 that all have there"]


def test_budget_of_all_trials_gives_a_warning() -> None:
    _, facts = answer(reaching(8, 10, 20), reaching(8, 30, 40))
    assert [text for text in facts["warnings"] if "the budget is all trials" in text]


def test_difference_within_evaluation_spacing_is_unresolved() -> None:
    _, facts = answer(reaching(8, 10, 10, 10), reaching(8, 11))
    (warning,) = facts["warnings"]
    assert warning.endswith("at batch size 8: their order there is not resolved")


def test_a_workload_that_was_stopped_sooner_is_not_said_to_be_slower() -> None:
    stopped = [Row(8, 1, "COMPLETE", 5, 0.9)]
    _, facts = answer(reaching(8, 30, 31, 32), stopped)
    (warning,) = facts["warnings"]
    assert warning == (
        f"{THEIRS} did not reach the target at batch size 8, but its trials end after 5 steps and another's needed 31: "
        "it may only have been stopped sooner"
    )


def test_one_workload_alone_is_not_compared_and_a_warning_says_so() -> None:
    found = answer_to(compare.QUESTION, view_of(reaching(8, 10, 20)), Selection((WORKLOAD,), METRIC), GOAL)
    assert [row["median_amount"] for row in found.table().to_pylist()] == [10]
    assert f"there is nothing to compare {OURS} with: name two workloads or more" in found.facts["warnings"]


def test_too_many_workloads_and_a_baseline_that_is_none_of_them_are_refused() -> None:
    view = view_of(reaching(8, 10))
    many = tuple(Workload("a", "b", "c", str(number)) for number in range(compare.MOST_COMPARED + 1))
    for workloads, baseline, why in (
        (many, None, f"give at most {compare.MOST_COMPARED} workloads"),
        ((WORKLOAD, OTHER), Workload("a", "b", "c", "d"), "baseline a/b/c/d is not one of"),
    ):
        with pytest.raises(BadParameter, match=why):
            answer_to(compare.QUESTION, view, Selection(workloads, METRIC), GOAL, baseline=baseline)


def conclusion(ours: list[Row], theirs: list[Row], **options: Any) -> tuple[list[str | None], dict[str, Any]]:
    """What is told of the other workload by batch size, and what is concluded."""
    rows, facts = answer(ours, theirs, **options)
    (found,) = facts["conclusions"]
    return [row["difference"] for row in rows if row["workload"] == THEIRS], found


def test_difference_is_concluded_when_the_ratio_interval_excludes_1() -> None:
    ours = reaching(1, *range(40, 50)) + reaching(8, *range(40, 50)) + reaching(64, *range(40, 50))
    theirs = reaching(1, *range(20, 30)) + reaching(8, *range(38, 58, 2)) + reaching(64, *range(90, 100))
    verdicts, found = conclusion(ours, theirs)
    assert verdicts == ["fewer", "not told", "more"]
    assert (found["fewer_at"], found["not_told_at"], found["more_at"], found["largest_at"]) == ([1], [8], [64], 64)
    assert found["in_words"].startswith(f"Adam takes fewer steps to {METRIC} < 0.3 than SGD at batch size 1 (0.5 times")
    rows, _ = answer(ours, theirs)
    assert [(row["ratio_lower"] or 0) > 1 for row in rows if row["workload"] == THEIRS] == [False, False, True]
    assert all(row["difference"] is row["ratio_lower"] is None for row in rows if row["workload"] == OURS)


def test_three_trials_of_each_workload_are_too_few_and_four_tell_one_batch_size_but_not_eight() -> None:
    assert conclusion(reaching(8, 10, 11, 12), reaching(8, 40, 50, 60))[0] == ["too few trials"]
    verdicts, found = conclusion(reaching(8, 10, 11, 12, 13), reaching(8, 40, 50, 60, 70))
    assert (verdicts, found["is_clear"]) == (["more"], True)
    sizes = [2**power for power in range(8)]
    ours = [row for size in sizes for row in reaching(size, 10, 11, 12, 13)]
    theirs = [row for size in sizes for row in reaching(size, *((40, 50, 60, 70) if size == 1 else (20, 11, 9, 14)))]
    verdicts, found = conclusion(ours, theirs)
    assert (verdicts, found["is_clear"]) == (["more", *["not told"] * 7], False)
    assert found["in_words"].endswith("With 8 batch sizes, this may be chance: each has a 5% chance of error.")


def test_trials_that_differ_only_in_seeds_are_one_setting() -> None:
    def seeds(_: int, trial_id: int) -> dict[str, float]:
        return {"learning_rate": trial_id // 4, "rng_seed": trial_id}

    view = view_of(reaching(8, *range(10, 22)), of_other=reaching(8, *range(40, 52)), parameters=seeds)
    rows = answer_to(compare.QUESTION, view, BOTH, GOAL).table().to_pylist()
    assert [(row["n_trials"], row["n_settings"], row["difference"]) for row in rows] == [
        (12, 3, None),
        (12, 3, "too few trials"),
    ]


def test_trials_without_metaparameters_are_settings_of_their_own_and_a_warning_says_so() -> None:
    view = view_of(reaching(8, 10, 11, 12, 13), of_other=reaching(8, 40, 50, 60, 70), parameters=lambda *_: {})
    found = answer_to(compare.QUESTION, view, BOTH, GOAL)
    assert [row["n_settings"] for row in found.table().to_pylist()] == [4, 4]
    assert [text for text in found.facts["warnings"] if "the metaparameters of 4 of its trials are unknown" in text]


@pytest.mark.parametrize("is_repeated", [True, False])
def test_trials_of_one_submitter_alone_give_no_verdict_unless_each_is_of_a_setting_of_its_own(
    is_repeated: bool,
) -> None:
    """Ten runs of one submitter on two systems beside ten of five submitters; or a search that one submitter made."""

    def logged(workload: Workload, trial_id: int) -> dict[str, str]:
        submitter = "a" if workload == WORKLOAD else f"b{trial_id // 2}"
        return {"org": json.dumps(submitter)} | ({"system": json.dumps(trial_id % 2)} if is_repeated else {})

    rows = (reaching(8, *range(400, 500, 10)), reaching(8, *range(100, 200, 10)))
    view = view_of(rows[0], of_other=rows[1], attributes=logged)
    found = answer_to(compare.QUESTION, view, BOTH, GOAL, baseline=OTHER)
    row = next(row for row in found.table().to_pylist() if row["workload"] == OURS)
    (said,) = found.facts["conclusions"]
    if not is_repeated:
        assert (row["difference"], said["one_submitter_at"], said["is_clear"]) == ("more", [], True)
        return
    assert (row["n_settings"], row["difference"], row["p_value"]) == (2, "one submitter", None)
    assert row["ratio"] is not None
    assert (said["more_at"], said["one_submitter_at"], said["is_clear"]) == ([], [8], False)
    words = "At batch size 8 all trials of SGD or Adam are of one submitter, so no difference is judged."
    assert said["in_words"] == f"{words} Both reach the target."


def test_difference_within_evaluation_spacing_is_not_concluded() -> None:
    assert conclusion(reaching(8, *[10] * 9), reaching(8, *[11] * 9))[0] == ["not told"]


def test_only_workload_to_reach_the_target_needs_fewer_steps_unless_the_other_stopped_sooner() -> None:
    never = [Row(8, trial_id, "COMPLETE", 400, 0.9) for trial_id in range(5)]
    verdicts, found = conclusion(reaching(8, *range(30, 35)), never)
    assert (verdicts, found["only_baseline_reaches_at"]) == (["more"], [8])
    stopped = [Row(8, trial_id, "COMPLETE", 5, 0.9) for trial_id in range(5)]
    verdicts, found = conclusion(reaching(8, *range(30, 35)), stopped)
    assert (verdicts, found["only_baseline_reaches_at"]) == (["not told"], [8])
    assert "Adam may only have been stopped sooner at 8" in found["in_words"]


def test_two_trials_give_no_conclusion_and_unreached_targets_are_named() -> None:
    assert conclusion(reaching(8, 10, 11), reaching(8, 40, 50, 60))[0] == ["too few trials"]
    assert conclusion(reaching(8, 10, 11, 12), reaching(8, 40, 50, 60), budget=1)[0] == ["too few trials"]
    verdicts, found = conclusion(reaching(8, None, None), reaching(8, None))
    assert (verdicts, found["neither_reaches_at"]) == (["neither reaches"], [8])


def test_no_common_batch_size_is_the_only_conclusion() -> None:
    _, found = conclusion(reaching(1, 10), reaching(8, 10))
    assert found["in_words"] == "There is no batch size at which both Adam and SGD have trials to compare."


def test_a_goal_that_is_higher_has_the_other_sign_in_words() -> None:
    assert Goal(0.9, "inclusive").in_words("val/accuracy", "maximize") == "val/accuracy \u2265 0.9"
    assert Goal(0.9).in_words("val/accuracy", "maximize") == "val/accuracy > 0.9"

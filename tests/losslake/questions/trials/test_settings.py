"""Where a search repeats settings with other seeds, answers count its settings, as brute force over them does."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from losslake.analysis.survival import wilson
from losslake.questions import advice, compare, critical_batch_size, survival, tuning_budget
from losslake.questions.declaration.question import Question
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import Workload
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Row

GOAL, SEEDS = Goal(0.3), 4
SELECTION = Selection((WORKLOAD,), METRIC)
# The steps of settings, and of their seeds beyond them; the last setting never reaches the target.
SETTINGS, BEYOND = (100, 140, 180, 220, 260, None), (0, 5, 10, 15)


def repeated(batch_size: int = 8, times: float = 1.0) -> list[Row]:
    """Trials of the settings above, four seeds each, in which setting 6 is trials 21 to 24."""
    steps = [None if each is None else int(times * (each + more)) for each in SETTINGS for more in BEYOND]
    ends = [(900, 0.9) if step is None else (step, 0.1) for step in steps]
    return [
        Row(batch_size, trial_id, "COMPLETE", *each)
        for trial_id, end in enumerate(ends, 1)
        for each in ((end[0] - 1, 0.9), end)
    ]


def seeded(_: int, trial_id: int) -> dict[str, float]:
    return {"learning_rate": 0.1 * ((trial_id - 1) // SEEDS), "init_seed": trial_id}


def asked(question: Question, view: ReleaseView, **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    found = answer_to(question, view, SELECTION, GOAL, **options)
    return found.table().to_pylist(), dict(found.facts)


def test_the_share_that_reaches_has_the_interval_of_as_many_settings() -> None:
    (study,) = asked(survival.QUESTION, view_of(repeated(), parameters=seeded))[1]["summaries"]
    assert (study["n_trials"], study["n_settings"], study["n_reached"]) == (24, 6, 20)
    expected = wilson(5, 6)
    assert (study["chance_lower"], study["chance_upper"]) == pytest.approx((expected.lower, expected.upper))
    alone = asked(survival.QUESTION, view_of(repeated()))
    assert alone[1]["summaries"][0]["chance_lower"] == pytest.approx(wilson(20, 24).lower)
    rows = asked(survival.QUESTION, view_of(repeated(), parameters=seeded))[0]
    assert all(
        row["reached_lower"] <= other["reached_lower"] and row["reached_upper"] >= other["reached_upper"]
        for row, other in zip(rows, alone[0], strict=True)
    )


def test_seeds_of_a_single_setting_are_evidence_each() -> None:
    view = view_of(repeated(), parameters=lambda _, trial_id: {"learning_rate": 0.1, "seed": trial_id})
    (study,) = asked(survival.QUESTION, view)[1]["summaries"]
    assert (study["n_settings"], study["chance_lower"]) == (1, pytest.approx(wilson(20, 24).lower))


@pytest.mark.parametrize(("stated", "n_settings"), [({"recipe": '"r"'}, 2), ({}, 1)])
def test_variants_of_a_recipe_are_settings_of_their_own(stated: dict[str, str], n_settings: int) -> None:
    """Without a recipe there is no variant of one: equal metaparameters are a setting."""
    rows = [Row(8, trial_id, "COMPLETE", step, 0.1) for trial_id in (1, 2, 3, 4) for step in (5, 10)]
    view = view_of(
        rows,
        parameters=lambda _, trial_id: {"learning_rate": 0.1, "seed": trial_id},
        attributes=lambda _, trial_id: {**stated, "variant": f'"{trial_id % 2}"'},
    )
    (study,) = asked(survival.QUESTION, view)[1]["summaries"]
    assert (study["n_trials"], study["n_settings"]) == (4, n_settings)


def test_smaller_searches_draw_settings_with_all_their_seeds() -> None:
    (search, _) = asked(tuning_budget.QUESTION, view_of(repeated(), parameters=seeded))[1]["searches"]
    fewest = [math.inf if each is None else each for each in SETTINGS]
    best = sorted(min(drawn) for drawn in combinations(fewest, 3))
    assert (search["n_settings"], search["half_budget"], search["quarter_budget"]) == (6, 3, 1)
    lower, upper = (min(one for one in best if sum(each <= one for each in best) >= p * 20) for p in (0.05, 0.95))
    assert (search["half_lower"], search["half_upper"]) == (lower, upper)
    assert search["chance_lower"] == pytest.approx(wilson(5, 6).lower)
    # Of trials: the second best is another seed of the best setting.
    assert search["runner_up_ratio"] == pytest.approx(105 / 100)
    facts = asked(tuning_budget.QUESTION, view_of(repeated(), parameters=seeded))[1]
    assert [text for text in facts["warnings"] if "trials at batch size 8 repeat settings" in text]
    assert not [text for text in asked(tuning_budget.QUESTION, view_of(repeated()))[1]["warnings"] if "repeat" in text]


def test_advice_counts_each_setting_as_one_trial_of_any_of_its_seeds() -> None:
    options = {"step_time": ["8=0.5"], "price": 2.0, "budget": 1}
    (row,), facts = asked(advice.QUESTION, view_of(repeated(), parameters=seeded), **options)
    # Of six settings, one new trial is at most the fourth largest share of a setting with 4/7: that of setting 4.
    assert (row["n_trials"], row["n_settings"], row["n_reached"]) == (24, 6, 20)
    assert (row["steps"], row["seconds"]) == (235, 117.5)
    assert row["chance"] == pytest.approx(5 / 7)
    assert [text for text in facts["warnings"] if "trials at batch size 8 repeat settings" in text]
    assert asked(advice.QUESTION, view_of(repeated(), parameters=seeded), step_time=["8=1"])[1]["budget"] == 3


def test_half_of_a_search_is_half_of_its_settings_in_the_range_of_a_ratio() -> None:
    view = view_of(repeated(times=2.0), of_other=repeated(), parameters=seeded)
    both = Selection((OTHER, WORKLOAD), METRIC)
    rows = answer_to(compare.QUESTION, view, both, GOAL, result="best_trial").table().to_pylist()
    fewest = [math.inf if each is None else each for each in SETTINGS]
    best = [min(drawn) for drawn in combinations(fewest, 3)]
    ratios = sorted(2 * ours / theirs for ours in best for theirs in best)
    (row,) = (row for row in rows if row["workload"] == str(WORKLOAD))
    assert (row["n_settings"], row["budget"]) == (6, 24)
    assert row["ratio_lower"] == pytest.approx(max(r for r in ratios if sum(o >= r for o in ratios) >= 0.95 * 400))
    assert row["ratio_upper"] == pytest.approx(min(r for r in ratios if sum(o <= r for o in ratios) >= 0.95 * 400))
    worse = sum(2 * ours > theirs for ours in best for theirs in best)
    ties = sum(2 * ours == theirs for ours in best for theirs in best)
    assert row["beats_baseline_at_half"] == pytest.approx(1 - (worse + ties / 2) / 400)


def test_a_half_search_of_the_critical_batch_size_draws_settings() -> None:
    sizes = [8 * 2**power for power in range(8)]
    rows = [row for size in sizes for row in repeated(size, times=20 * (1 + 64 / size))]
    fewest = [row for row in rows if row.trial_id % SEEDS == 1]
    (repeat, _), _ = asked(critical_batch_size.QUESTION, view_of(rows, parameters=seeded), result="best_trial")
    (single, _), _ = asked(critical_batch_size.QUESTION, view_of(fewest))
    ends = ("half_search_lower", "half_search_upper")
    assert [repeat[end] for end in ends] == [single[end] for end in ends]
    assert None not in [repeat[end] for end in ends]


@pytest.mark.parametrize(
    ("attributes", "parameters", "n_settings", "is_known"),
    [
        ({"org": "one", "system": "large"}, {"learning_rate": 0.1}, 1, True),
        ({"org": "one"}, {}, 1, True),
        ({"org": "one"}, {"learning_rate": 0.1, "seed": 1.0}, 2, True),
        ({"system": "large"}, {}, 24, False),
        ({"system": "large"}, {"n_parameters": 1000.0, "tokens_per_example": 64.0}, 24, False),
        ({"org": "one"}, {"flops_per_token": 1000.0}, 1, True),
        ({}, {"learning_rate": 0.1, "n_parameters": 1000.0}, 2, True),
    ],
)
def test_logs_of_a_submitter_that_state_nothing_else_are_one_setting(
    attributes: dict[str, str], parameters: dict[str, float], n_settings: int, is_known: bool
) -> None:
    def stated(_: int, trial_id: int) -> dict[str, float]:
        return {name: value * (trial_id if name == "seed" else 1 + trial_id % 2) for name, value in parameters.items()}

    view = view_of(repeated(), attributes=attributes, parameters=stated)
    settings = view.workloads[WORKLOAD].trials
    assert (len(np.unique(settings.setting)), bool(settings.has_setting.all())) == (n_settings, is_known)


def test_a_submitter_is_the_organisation_and_not_the_author_of_its_code() -> None:
    def stated(_: object, trial_id: int) -> dict[str, str]:
        org = {"org": "one" if trial_id % 2 else "other"} if trial_id > 4 else {}
        return {"submission_org": "author", "submission_platform": "large"} | org

    view = view_of(repeated(), attributes=stated, parameters=lambda *_: {})
    numbers = view.workloads[WORKLOAD].trials.setting
    by_submitter: dict[str, set[int]] = {}
    for trial_id, number in enumerate(numbers.tolist(), start=1):
        by_submitter.setdefault(stated(None, trial_id).get("org", "author"), set()).add(number)
    assert [len(found) for found in by_submitter.values()] == [1, 1, 1]
    assert len(set(numbers.tolist())) == 3


def test_a_pool_keeps_the_settings_of_its_workloads_apart() -> None:
    view = view_of(repeated(), of_other=repeated(16), parameters=seeded)
    pool = view.measuring(Workload("*/rows", "mnist", "c*n", "*d*"), METRIC)
    settings = pool.trials
    assert len(np.unique(settings.setting)) == 12
    assert settings.has_setting.all()
    assert (np.bincount(np.unique(settings.setting, return_inverse=True)[1]) == SEEDS).all()


def test_trials_of_unknown_metaparameters_are_settings_of_their_own_in_a_pool_too() -> None:
    view = view_of(repeated(), of_other=repeated(), parameters=lambda *_: {})
    pool = view.measuring(Workload("*/rows", "mnist", "c*n", "*d*"), METRIC)
    settings = pool.trials
    assert len(np.unique(settings.setting)) == 48
    assert not settings.has_setting.any()
